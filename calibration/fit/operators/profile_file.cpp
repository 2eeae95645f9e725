#include "calibration/fit/operators/profile_file.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "fields/diagnostics.hpp"

namespace stepcast {
namespace {

constexpr const char* kSource = "fitted by calibration/fit/operators to the operator tables of calibration/data";

/// Four digits: more than any constant is known to, and the same on every machine.
void round_figures(Json& json) {
  if (json.is_structured()) {
    for (Json& part : json) round_figures(part);
  } else if (json.is_number_float()) {
    json = std::stod(fmt::format("{:.4g}", json.get<double>()));
  }
}

/// Maps without entries say nothing.
void drop_empty(Json& json) {
  for (auto item = json.begin(); item != json.end();)
    item = item->is_structured() && item->empty() ? json.erase(item) : std::next(item);
}

void state_provenance(Json& json, const OperatorProfile& profile) {
  Json& sources = json["sources"] = Json::object();
  Json& evidence = json["evidence"] = Json::object();
  const bool measured = profile.fit && !profile.fit->rows.empty();
  sources["all"] = measured ? kSource : fmt::format("as {}: nothing of this family was measured", profile.sibling);
  evidence["all"] = measured ? "measured" : "estimated";
  for (const auto& [key, source] : profile.provenance.sources) {
    sources[key] = source;
    evidence[key] = "estimated";
  }
  if (!measured || profile.sibling.empty()) return;
  const std::string taken = taken_from(profile.sibling);
  const auto from_sibling = [&](const char* key, const char* rows) {
    for (const auto& [name, count] : profile.fit->rows)
      if (name.compare(0, std::string(rows).size(), rows) == 0) return;
    if (!json.contains(key) || sources.contains(key)) return;
    sources[key] = taken;
    evidence[key] = "estimated";
  };
  from_sibling("product", "product");
  from_sibling("streaming", "streaming");
  from_sibling("convolution", "convolution");
  if (profile.fit->rows.count("power") == 0) from_sibling("power", "sustained");
  for (const auto& [kernel, constants] : profile.attention) {
    const std::string key = "attention." + kernel;
    if (profile.fit->rows.count(key) != 0 || sources.contains(key)) continue;
    sources[key] = taken;
    evidence[key] = "estimated";
  }
  from_sibling("unfused_attention", "attention.unfused");
}

}  // namespace

std::string taken_from(std::string_view family) { return fmt::format("as {}; {}", family, kSource); }

void write_profile(const OperatorProfile& profile, const std::filesystem::path& folder) {
  Json json = OperatorProfile::fields().write(profile);
  round_figures(json);
  for (const char* key : {"sibling", "note"})
    if (json[key] == Json("")) json.erase(key);
  drop_empty(json);
  state_provenance(json, profile);
  const std::filesystem::path file = folder / (profile.id + ".json");
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << json.dump(2) << '\n';
  if (!out.flush()) throw InputError({{file.string(), "", "cannot be written", ""}});
}

}  // namespace stepcast
