#include "models/scenario/framework_constants.hpp"

#include <algorithm>

#include "models/frameworks/check_framework.hpp"

namespace stepcast {

namespace {

void refuse(const std::string& key, Diagnostics& diagnostics) {
  const std::vector<std::string> of_profile = FrameworkProfile::fields().keys();
  const std::vector<std::string> fitted(kFittedFrameworkKeys.begin(), kFittedFrameworkKeys.end());
  const bool known = std::find(of_profile.begin(), of_profile.end(), key) != of_profile.end();
  diagnostics.error(child_pointer("", key),
                    known ? "is the profile's to say, and no constant of its software that a calibration moves"
                          : "is no key of a framework's profile",
                    known ? expected_one_of(fitted) : nearest_choice(key, fitted));
}

}  // namespace

FrameworkProfile with_constants(const FrameworkProfile& framework, const Json& constants, Diagnostics& diagnostics) {
  FrameworkProfile out = framework;
  if (!constants.is_object()) {
    diagnostics.error("", fmt::format("found {}, expected an object of keys and values", describe(constants)));
    return out;
  }
  for (const auto& [key, value] : constants.items()) {
    if (std::find(kFittedFrameworkKeys.begin(), kFittedFrameworkKeys.end(), key) == kFittedFrameworkKeys.end()) {
      refuse(key, diagnostics);
      continue;
    }
    for (const auto& entry : FrameworkProfile::fields().entries())
      if (entry.key == key) entry.read(out, value, child_pointer("", key), diagnostics);
  }
  check_framework(out, diagnostics);
  return out;
}

std::shared_ptr<const FrameworkProfile> with_framework_constants(std::shared_ptr<const FrameworkProfile> framework,
                                                                 const Catalog& catalog, Diagnostics& diagnostics) {
  if (framework == nullptr) return framework;
  const std::filesystem::path file = catalog.file_of(kFrameworkConstants, framework->id);
  if (file.empty()) return framework;
  Diagnostics own(fmt::format("{}: {}/{}", file.string(), kFrameworkConstants, framework->id));
  auto changed = std::make_shared<FrameworkProfile>(
      with_constants(*framework, catalog.show(kFrameworkConstants, framework->id), own));
  diagnostics.add(own.faults());
  return changed;
}

}  // namespace stepcast
