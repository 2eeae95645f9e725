#include <fmt/format.h>

#include <cmath>

#include "report/claim_study.hpp"
#include "report/humane.hpp"
#include "report/text_layout.hpp"
#include "units/quantity.hpp"

namespace stepcast {

namespace {

constexpr int kFigure = 18, kValue = 16, kGain = 12;

std::string shown(const std::string& figure, const std::optional<double>& value) {
  if (!value) return "-";
  if (figure == "time_to_target") return humane(Seconds(*value));
  if (figure == "cost_per_model") return humane(Dollars(*value));
  if (figure == "utilization") return percent(*value);
  return figure == "pue" ? fmt::format("{:.3g}", *value) : humane_count(*value);
}

/// "-0.0 %" would be a loss of nothing.
std::string gain_text(const std::optional<double>& percent) {
  if (!percent) return "-";
  const double rounded = std::round(10 * *percent) / 10;
  return rounded == 0 ? "0.0 %" : fmt::format("{:+.1f} %", rounded);
}

std::string claimed(const std::vector<ClaimSpec>& claims, const std::string& figure) {
  for (const ClaimSpec& claim : claims)
    if (claim.figure == figure) return fmt::format("{:g} to {:g} %", claim.low_percent, claim.high_percent);
  return "";
}

std::string title(std::string figure) {
  for (char& letter : figure)
    if (letter == '_') letter = ' ';
  return figure;
}

std::string variant_table(const StudyVariant& variant, const ClaimStudy& all) {
  std::string out = heading(variant.name);
  out += fmt::format("  {}{}{}{}{}  {}\n", pad_right("", kFigure), pad_left("baseline", kValue),
                     pad_left("here", kValue), pad_left("better by", kGain), pad_left("claimed", kValue), "verdict");
  for (std::size_t i = 0; i < variant.gains.size(); ++i) {
    const StudyGain& gain = variant.gains[i];
    std::string line = fmt::format(
        "  {}{}{}{}{}  {}", pad_right(title(gain.figure), kFigure),
        pad_left(shown(gain.figure, all.baseline.gains[i].value), kValue),
        pad_left(shown(gain.figure, gain.value), kValue), pad_left(gain_text(gain.gain_percent), kGain),
        pad_left(claimed(all.claims, gain.figure), kValue), gain.verdict ? name_of(*gain.verdict) : std::string_view());
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  for (const std::string& note : variant.notes) out += wrapped(note, "  - ", "    ");
  return out;
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json variant_json(const StudyVariant& variant) {
  Json figures = Json::object();
  for (const StudyGain& gain : variant.gains) {
    figures[gain.figure] = {{"value", number(gain.value)}, {"gain_percent", number(gain.gain_percent)}};
    if (gain.verdict) figures[gain.figure]["verdict"] = name_of(*gain.verdict);
  }
  return {{"name", variant.name}, {"figures", std::move(figures)}, {"notes", variant.notes}};
}

}  // namespace

std::string text_report(const ClaimStudy& comparison) {
  std::string out = (comparison.name.empty() ? std::string("Study") : comparison.name) + "\n" + rule();
  for (const StudyVariant& variant : comparison.variants) out += variant_table(variant, comparison);
  return out;
}

Json to_json(const ClaimStudy& comparison) {
  Json variants = Json::array();
  for (const StudyVariant& variant : comparison.variants) variants.push_back(variant_json(variant));
  Json claims = Json::object();
  for (const ClaimSpec& claim : comparison.claims) claims[claim.figure] = {claim.low_percent, claim.high_percent};
  return {{"name", comparison.name},
          {"baseline", variant_json(comparison.baseline)},
          {"variants", std::move(variants)},
          {"claims_percent", std::move(claims)}};
}

}  // namespace stepcast
