#include "calibration/fit/operators/siblings.hpp"

#include <algorithm>
#include <set>

#include "calibration/fit/operators/profile_file.hpp"
#include "calibration/validation/operators/prediction.hpp"

namespace stepcast {

const std::vector<SiblingFamily>& sibling_families() {
  static const std::vector<SiblingFamily> kFamilies{
      {"nvidia-ampere", "", "", "nvidia-hopper"},
      {"nvidia-ampere-pcie", "nvidia-ampere", "", "nvidia-hopper"},
      {"nvidia-ampere-workstation", "nvidia-ampere", "", "nvidia-hopper"},
      {"nvidia-volta", "nvidia-ampere"},
      {"nvidia-turing", "nvidia-volta"},
      {"nvidia-pascal", "nvidia-volta"},
      {"nvidia-maxwell", "nvidia-pascal"},
      {"nvidia-kepler", "nvidia-pascal"},
      {"nvidia-hopper-h200", "", "", "nvidia-hopper"},
      {"nvidia-hopper", "nvidia-hopper-h200", "", "nvidia-volta"},
      {"nvidia-hopper-pcie", "nvidia-hopper", "", "nvidia-volta"},
      {"nvidia-ada", "", "", "nvidia-hopper"},
      {"nvidia-ada-low-power", "nvidia-ada", "", "nvidia-hopper"},
      {"nvidia-blackwell-workstation", "nvidia-ada", "", "nvidia-hopper"},
      {"nvidia-blackwell", "", "nvidia-blackwell-gb200", "nvidia-hopper"},
      {"nvidia-blackwell-gb200", "nvidia-blackwell", "", "nvidia-hopper"},
      {"nvidia-blackwell-b300", "nvidia-blackwell", "nvidia-blackwell-gb300", "nvidia-hopper"},
      {"nvidia-blackwell-gb300", "nvidia-blackwell-b300", "", "nvidia-hopper"},
      {"nvidia-rubin", "nvidia-blackwell-gb300", "", "nvidia-hopper"},
      {"amd-cdna3", ""},
      {"amd-cdna3-mi325x", "amd-cdna3"},
      {"amd-cdna4", "amd-cdna3"},
      {"amd-cdna", "amd-cdna3"},
      {"amd-vega", "amd-cdna"},
      {"intel-xe2", ""},
      {"intel-knights-landing", ""},
  };
  return kFamilies;
}

const SiblingFamily& sibling_family(std::string_view family) {
  const auto& families = sibling_families();
  return *std::find_if(families.begin(), families.end(), [&](const SiblingFamily& f) { return f.family == family; });
}

void take_missing(OperatorProfile& profile, const OperatorProfile& sibling, const Accelerator& own,
                  const Accelerator& siblings) {
  if (!profile.product) profile.product = sibling.product;
  for (const auto& [kernel, constants] : sibling.attention) profile.attention.emplace(kernel, constants);
  if (!profile.unfused_attention) profile.unfused_attention = sibling.unfused_attention;
  if (profile.streaming.empty()) profile.streaming = sibling.streaming;
  if (profile.convolution.empty()) profile.convolution = sibling.convolution;
  if (profile.power || !sibling.power) return;
  profile.power = sibling.power;
  for (auto& [format, share] : profile.power->sustained_share) {
    const Precision precision = parse_enum<Precision>(format).value_or(Precision::bf16);
    const FlopsPerSecond peak = own.peak(precision), other = siblings.peak(precision);
    if (peak.value() > 0 && other.value() > 0) share *= other / peak * (own.tdp / siblings.tdp);
  }
}

void take_narrow_attention(OperatorProfile& profile, const OperatorProfile& other) {
  const auto library = [](const std::string& kernel) { return kernel.substr(0, kernel.find('.')); };
  std::set<std::string> narrow;
  for (const auto& [kernel, constants] : other.attention)
    if (library(kernel) != kernel) narrow.insert(library(kernel));
  for (const auto& [kernel, constants] : other.attention)
    if (narrow.count(library(kernel)) != 0 && profile.attention.emplace(kernel, constants).second)
      profile.provenance.sources["attention." + kernel] = taken_from(other.id);
}

void take_convolutions(OperatorProfile& profile, const OperatorProfile& other) {
  for (const auto& [format, constants] : other.convolution) {
    const std::string key = "convolution." + format;
    const bool fitted = other.fit && other.fit->rows.count(key) != 0;
    if (!fitted || !convolution_format(profile, format).empty()) continue;
    profile.convolution[format] = constants;
    profile.provenance.sources[key] = taken_from(other.id);
  }
}

}  // namespace stepcast
