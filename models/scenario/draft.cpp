#include "models/scenario/draft.hpp"

#include <algorithm>

namespace stepcast {

Draft::Draft(ScenarioSpec written, const Catalog& parts, Diagnostics& faults)
    : catalog(behind_calibrations(written.cluster, parts, faults)), diagnostics(faults) {
  scenario.spec = std::move(written);
  for (const Fault& fault : diagnostics.faults())
    for (const std::string& pointer : {fault.pointer, fault.meant})
      if (!pointer.empty()) misread_.push_back(pointer);
}

bool Draft::sound(std::initializer_list<std::string_view> pointers) const {
  const auto inside = [](std::string_view inner, std::string_view outer) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
  };
  return std::all_of(pointers.begin(), pointers.end(), [&](std::string_view pointer) {
    return std::none_of(misread_.begin(), misread_.end(),
                        [&](const std::string& at) { return inside(at, pointer) || inside(pointer, at); });
  });
}

const TransformerShape* Draft::transformer() const {
  return scenario.model && scenario.model->transformer ? &*scenario.model->transformer : nullptr;
}

std::string_view Draft::device_word() const {
  if (scenario.accelerator == nullptr) return "processors";
  const std::string_view vendor = scenario.accelerator->vendor;
  return vendor == "NVIDIA" || vendor == "AMD" ? "GPUs" : "accelerators";
}

std::string nearest_valid(long wanted, long most, const std::function<bool(long)>& valid) {
  constexpr long kFarthest = 4096;  // beyond it "nearest" helps nobody
  wanted = std::min(wanted, most + 1);
  for (long distance = 1; distance <= kFarthest; ++distance) {
    const long below = wanted - distance;
    const long above = wanted + distance;
    const bool lower = below >= 1 && valid(below);
    const bool upper = above <= most && valid(above);
    if (lower && upper) return fmt::format("nearest valid: {} or {}", below, above);
    if (lower || upper) return fmt::format("nearest valid: {}", lower ? below : above);
    if (below < 1 && above > most) break;
  }
  return {};
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

std::vector<std::string> frameworks_that(const std::function<bool(const FrameworkProfile&)>& offers) {
  std::vector<std::string> out;
  Diagnostics ignored("");
  for (const std::string& id : framework_ids())
    if (const auto profile = find_framework(id, "", ignored); profile && offers(*profile)) out.push_back(id);
  return out;
}

std::string offered_by(const std::function<bool(const FrameworkProfile&)>& offers) {
  const std::vector<std::string> names = frameworks_that(offers);
  return names.empty() ? std::string{} : fmt::format("offered by {}", listed(names));
}

}  // namespace stepcast
