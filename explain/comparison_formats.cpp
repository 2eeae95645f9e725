#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/bottleneck_words.hpp"
#include "explain/comparison.hpp"
#include "explain/text_layout.hpp"
#include "report/html/charts.hpp"
#include "report/html/page.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

std::string value_text(const std::optional<double>& value, const std::string& unit) {
  if (!value) return "–";
  if (unit == "s") return humane(Seconds(*value));
  if (unit == "W") return humane(Watts(*value));
  if (unit == "J") return humane(Joules(*value));
  if (unit == "USD") return fmt::format("${:.3g}", *value);
  return significant(*value) + (unit.empty() || unit == "1/s" ? "" : " " + unit);
}

std::string change_text(const FigureDifference& figure) {
  if (!figure.before || !figure.after || *figure.before == 0) return "–";
  return signed_percent(*figure.after / *figure.before - 1);
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

std::string parts_table(const char* title, const std::vector<PartDifference>& parts, Seconds change) {
  if (parts.empty()) return {};
  std::string out = fmt::format("\n{}\n  {}{}{}{}{}\n", title, pad_right("", 36), pad_left("A", 12), pad_left("B", 12),
                                pad_left("change", 13), pad_left("of all", 12));
  Seconds sum;
  for (const PartDifference& part : parts) {
    sum += part.change();
    const bool all = std::abs(change.value()) > 0;
    out += fmt::format("  {}{}{}{}{}\n", pad_right(part.part, 36), pad_left(humane(part.before), 12),
                       pad_left(humane(part.after), 12), pad_left(signed_time(part.change()), 13),
                       pad_left(all ? signed_percent(part.change() / change) : "–", 12));
  }
  return out + fmt::format("  {}{}\n", pad_right("together", 60), pad_left(signed_time(sum), 13));
}

std::string key_effect(const ChangedKey& key) {
  if (key.alone) return signed_time(*key.alone);
  return key.refusal.empty() ? "" : "not by itself";
}

Json parts_json(const std::vector<PartDifference>& parts) {
  Json out = Json::array();
  for (const PartDifference& part : parts)
    out.push_back({{"part", part.part},
                   {"before_s", part.before.value()},
                   {"after_s", part.after.value()},
                   {"change_s", part.change().value()}});
  return out;
}

std::string parts_section(const std::string& title, const std::string& lead, const std::vector<PartDifference>& parts) {
  if (parts.empty()) return {};
  std::vector<ChangeBar> bars;
  HtmlTable table{{"", "A", "B", "change"}, {}};
  for (const PartDifference& part : parts) {
    bars.push_back({part.part, part.change().value(), signed_time(part.change())});
    table.rows.push_back({part.part, humane(part.before), humane(part.after), signed_time(part.change())});
  }
  return html_section(title, "<p>" + escaped_markup(lead) + "</p>" +
                                 html_figure(change_bars_svg(title, bars), table, "the same as a table"));
}

}  // namespace

std::string text_report(const Comparison& c) {
  std::string out = fmt::format("A  {}\nB  {}\n", c.before, c.after);
  out += rule();
  for (const std::string& sentence : c.words) out += wrapped_sentence(sentence);
  out += fmt::format("\nFigures\n  {}{}{}{}\n", pad_right("", 36), pad_left("A", 14), pad_left("B", 14),
                     pad_left("change", 13));
  for (const FigureDifference& figure : c.figures)
    out += fmt::format("  {}{}{}{}\n", pad_right(figure.name, 36), pad_left(value_text(figure.before, figure.unit), 14),
                       pad_left(value_text(figure.after, figure.unit), 14), pad_left(change_text(figure), 13));
  const Seconds change = c.step_after - c.step_before;
  out += parts_table("Where the difference lies, mean device", c.parts, change);
  out += parts_table("Along the critical paths", c.path, change);
  if (c.keys.empty()) return out + (c.without_settings.empty() ? "\nNo setting differs.\n" : "");
  out += fmt::format("\nWhat was changed{}{}\n", pad_right("", 60), pad_left("alone", 16));
  for (const ChangedKey& key : c.keys)
    out += fmt::format("  {} {}{}\n", pad_right(key.key, 34),
                       pad_right(fmt::format("{} → {}", key.before.empty() ? "unset" : shortened(key.before, 18),
                                             key.after.empty() ? "unset" : shortened(key.after, 18)),
                                 39),
                       pad_left(key_effect(key), 16));
  return out;
}

Json to_json(const Comparison& c) {
  Json keys = Json::array(), figures = Json::array();
  for (const ChangedKey& key : c.keys) {
    Json row{{"key", key.key},
             {"before", key.before.empty() ? Json(nullptr) : Json::parse(key.before)},
             {"after", key.after.empty() ? Json(nullptr) : Json::parse(key.after)},
             {"alone_s", key.alone ? Json(key.alone->value()) : Json(nullptr)}};
    if (!key.refusal.empty()) row["refusal"] = key.refusal;
    keys.push_back(std::move(row));
  }
  for (const FigureDifference& figure : c.figures)
    figures.push_back({{"name", figure.name},
                       {"unit", figure.unit},
                       {"before", figure.before ? Json(*figure.before) : Json(nullptr)},
                       {"after", figure.after ? Json(*figure.after) : Json(nullptr)}});
  return {{"before", c.before},
          {"after", c.after},
          {"step_time_before_s", c.step_before.value()},
          {"step_time_after_s", c.step_after.value()},
          {"change_s", (c.step_after - c.step_before).value()},
          {"words", c.words},
          {"figures", std::move(figures)},
          {"parts", parts_json(c.parts)},
          {"critical_path", parts_json(c.path)},
          {"changed", std::move(keys)}};
}

std::string html_report(const Comparison& c, const std::string& command) {
  HtmlPage page{"Stepcast: " + c.before + " against " + c.after, {}};
  std::string lead = "<h1>What changed, and why</h1><p class=\"sides\"><b>A</b> " + escaped_markup(c.before) +
                     "<br><b>B</b> " + escaped_markup(c.after) + "</p>";
  for (const std::string& sentence : c.words) lead += "<p class=\"lead\">" + escaped_markup(sentence) + "</p>";
  HtmlTable figures{{"", "A", "B", "change"}, {}};
  for (const FigureDifference& figure : c.figures)
    figures.rows.push_back({figure.name, value_text(figure.before, figure.unit), value_text(figure.after, figure.unit),
                            change_text(figure)});
  page.body = lead + html_section("Figures", html_table(figures));
  page.body += parts_section("Where the difference lies", "Time of the mean device; the bars add up to the difference.",
                             c.parts);
  page.body += parts_section("Along the critical paths",
                             "Time on the longest chain of operations of each step; the bars add up as well.", c.path);
  if (!c.keys.empty()) {
    HtmlTable keys{{"setting", "A", "B", "alone"}, {}};
    for (const ChangedKey& key : c.keys)
      keys.rows.push_back({key.key, key.before.empty() ? "unset" : key.before, key.after.empty() ? "unset" : key.after,
                           key.alone ? signed_time(*key.alone) : key.refusal});
    page.body += html_section("What was changed",
                              "<p>“alone”: by how much A's step changes when it takes this value of B and nothing else "
                              "(closed form).</p>" +
                                  html_table(keys));
  }
  page.body += html_section("Command", "<pre>" + escaped_markup(command) + "</pre>");
  return html_document(page);
}

}  // namespace stepcast
