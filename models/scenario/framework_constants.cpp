#include "models/scenario/framework_constants.hpp"

namespace stepcast {

std::shared_ptr<const FrameworkProfile> with_framework_constants(std::shared_ptr<const FrameworkProfile> framework,
                                                                 const Catalog& catalog, Diagnostics& diagnostics) {
  if (framework == nullptr) return framework;
  const std::filesystem::path file = catalog.file_of(kFrameworkConstants, framework->id);
  if (file.empty()) return framework;
  const Json constants = catalog.show(kFrameworkConstants, framework->id);
  Diagnostics own(fmt::format("{}: {}/{}", file.string(), kFrameworkConstants, framework->id));
  auto changed = std::make_shared<FrameworkProfile>(*framework);
  if (!constants.is_object()) own.error("", "expected an object of keys and values");
  for (const auto& [key, value] : constants.items()) {
    bool known = false;
    for (const auto& entry : FrameworkProfile::fields().entries()) {
      if (entry.key != key) continue;
      known = true;
      entry.read(*changed, value, child_pointer("", key), own);
    }
    if (!known)
      own.error(child_pointer("", key), "is no key of a framework's profile",
                did_you_mean(key, FrameworkProfile::fields().keys()));
  }
  diagnostics.add(own.faults());
  return changed;
}

}  // namespace stepcast
