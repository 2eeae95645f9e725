#include "report/html/run_section.hpp"

#include <fmt/format.h>

#include "report/html/charts.hpp"
#include "report/html/page.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/outlook_text.hpp"

namespace stepcast {

namespace {

std::string note(const std::string& text) { return "<p class=\"note\">" + escaped_markup(text) + "</p>"; }

std::string goodput_figure(const GoodputOutlook& goodput) {
  std::vector<ShareOfBar> parts{{"useful training", percent(goodput.mean), "compute", goodput.mean}};
  for (const auto& [cause, share] : goodput.lost_to)
    if (share > 0) parts.push_back({key_in_words(cause), percent(share), "bubble", share});
  HtmlTable table{{"", "share of the time"}, {}};
  for (const ShareOfBar& part : parts) table.rows.push_back({part.name, part.text});
  return html_figure(share_bar_svg("Goodput and what is lost", parts), table, "the same as a table");
}

HtmlTable totals_table(const RunOutlook& o) {
  HtmlTable table{{"", "", "80 % of like runs"}, {}};
  if (o.run) {
    table.rows.push_back({"time", humane(o.run->time), humane(o.run->time_low) + " to " + humane(o.run->time_high)});
    if (o.run->cost)
      table.rows.push_back(
          {"cost", humane(*o.run->cost), humane(*o.run->cost_low) + " to " + humane(*o.run->cost_high)});
    table.rows.push_back({"device-hours", humane_count(o.run->device_hours), ""});
    table.rows.push_back({"energy", humane(o.run->energy), ""});
  }
  table.rows.push_back({"carbon",
                        o.carbon.run_kg ? humane_mass(*o.carbon.run_kg) + " of CO2"
                                        : significant(o.carbon.per_step_g) + " g of CO2 a step",
                        ""});
  table.rows.push_back({"goodput", percent(o.goodput.mean),
                        percent(o.goodput.p05) + " to " + percent(o.goodput.p95) + " in 90 % of runs"});
  table.rows.push_back({"interrupted", interruption_words(o.goodput), ""});
  table.rows.push_back({"checkpoint", checkpoint_words(o), ""});
  return table;
}

std::string phases_part(const RunOutlook& o) {
  if (o.phases.size() < 2) return {};
  HtmlTable table{{"phase", "steps", "time", "energy, kWh"}, {}};
  for (const PhaseOutlook& phase : o.phases)
    table.rows.push_back(
        {phase.name, humane_count(phase.steps), humane(phase.time), humane_count(phase.energy.in(1_kWh))});
  return "<p style=\"margin-top:1em\">Phases, without what goodput costs:</p>" + html_table(table);
}

std::string input_part(const InputOutlook& input) {
  if (!input.samples_per_s) return {};
  std::string out = fmt::format("<p style=\"margin-top:1em\">Input: {}</p>",
                                escaped_markup(input.bound == "none" ? "the pipeline keeps up with training."
                                                                     : "training waits for " + input.bound + "."));
  HtmlTable table{{"stage", "samples/s"}, {}};
  for (const InputLimitOutlook& limit : input.limits)
    table.rows.push_back({key_in_words(limit.stage), humane_count(limit.samples_per_s)});
  table.rows.push_back({"training", humane_count(input.training_samples_per_s)});
  out += html_table(table);
  if (input.advice.empty()) return out;
  out += "<ul>";
  for (const std::string& line : input.advice) out += "<li>" + escaped_markup(line) + "</li>";
  return out + "</ul>";
}

}  // namespace

std::string run_section(const Prediction& prediction) {
  if (!prediction.outlook) return {};
  const RunOutlook& o = *prediction.outlook;
  std::string body = goodput_figure(o.goodput) + html_table(totals_table(o)) +
                     note(fmt::format("Failures: {}. Carbon: {}.", o.goodput.basis, o.carbon.basis));
  for (const std::string& limit : o.facility.exceeded) body += note("Exceeded: " + limit);
  return html_section("The run", body + phases_part(o) + input_part(o.input));
}

}  // namespace stepcast
