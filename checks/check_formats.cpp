#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checks/check_report.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"

namespace stepcast {

namespace {

std::string_view expected_word(const CheckReport& report) {
  return report.kind == CheckKind::measured ? "forecast" : "baseline";
}
std::string_view actual_word(const CheckReport& report) {
  return report.kind == CheckKind::measured ? "measured" : "now";
}

std::string_view subject_word(const CheckReport& report) {
  switch (report.kind) {
    case CheckKind::baseline:
      return "forecasts";
    case CheckKind::measured:
      return "measured results";
    case CheckKind::timings:
      break;
  }
  return "timings";
}

std::string change_text(const MetricCheck& check) {
  // Less than what is shown is nothing, of neither sign.
  const double percent = 100 * check.change();
  return fmt::format("{:+.2f} %", std::abs(percent) < 0.005 ? 0.0 : percent);
}

std::string tolerance_text(const MetricCheck& check) {
  return check.gates ? fmt::format("{:.3g} %", check.tolerance_percent) : std::string("shown only");
}

std::string failure_text(const CheckReport& report, const MetricCheck& check) {
  return fmt::format("{} is {} ({}), {} {}: worse by more than the {:.3g} % tolerated", check.name,
                     significant(check.actual), change_text(check), expected_word(report), significant(check.expected),
                     check.tolerance_percent);
}

std::vector<std::string> cells(const MetricCheck& check) {
  return {check.name,         significant(check.expected), significant(check.actual),
          change_text(check), tolerance_text(check),       std::string(name_of(check.verdict))};
}

std::vector<std::string> header(const CheckReport& report) {
  return {"metric", std::string(expected_word(report)), std::string(actual_word(report)), "change", "tolerated",
          "verdict"};
}

std::string text_table(const CheckReport& report, const ScenarioCheck& scenario) {
  std::vector<std::vector<std::string>> rows{header(report)};
  for (const MetricCheck& check : scenario.metrics) rows.push_back(cells(check));
  std::vector<int> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string out;
  for (const auto& row : rows) {
    out += "  " + pad_right(row[0], widths[0]);
    for (std::size_t i = 1; i + 1 < row.size(); ++i) out += "  " + pad_left(row[i], widths[i]);
    out += "  " + row.back() + "\n";
  }
  return out;
}

/// Table cells of Markdown end at a bar.
std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_row(const std::vector<std::string>& row) {
  std::string out = "|";
  for (const std::string& cell : row) out += " " + in_markdown(cell) + " |";
  return out + "\n";
}

std::string junit_suite(const CheckReport& report, const ScenarioCheck& scenario) {
  std::size_t failures = scenario.errors.size();
  std::string cases;
  for (const MetricCheck& check : scenario.metrics) {
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped_markup(scenario.scenario),
                         escaped_markup(check.name));
    if (check.verdict != Verdict::regression) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    const std::string text = escaped_markup(failure_text(report, check));
    cases += fmt::format(">\n      <failure type=\"regression\" message=\"{}\"/>\n    </testcase>\n", text);
  }
  // Names within a class tell cases apart.
  for (std::size_t i = 0; i < scenario.errors.size(); ++i)
    cases += fmt::format(
        "    <testcase classname=\"{}\" name=\"comparison{}\">\n      <failure type=\"error\" message=\"{}\"/>\n"
        "    </testcase>\n",
        escaped_markup(scenario.scenario), scenario.errors.size() > 1 ? fmt::format(" {}", i + 1) : std::string(),
        escaped_markup(scenario.errors[i]));
  return fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n{}  </testsuite>\n",
                     escaped_markup(scenario.scenario), scenario.metrics.size() + scenario.errors.size(), failures,
                     cases);
}

std::string summary_line(const CheckReport& report) {
  const auto failed =
      std::count_if(report.scenarios.begin(), report.scenarios.end(), [](const auto& s) { return !s.passed(); });
  if (failed == 0)
    return fmt::format("{} against {}: {} passed", subject_word(report), report.against, report.scenarios.size());
  return fmt::format("{} against {}: {} of {} FAILED", subject_word(report), report.against, failed,
                     report.scenarios.size());
}

}  // namespace

std::string check_text(const CheckReport& report) {
  std::string out;
  for (const ScenarioCheck& scenario : report.scenarios) {
    out += fmt::format("{}: {}\n", scenario.scenario, scenario.passed() ? "passed" : "FAILED");
    for (const std::string& error : scenario.errors) out += fmt::format("  error: {}\n", error);
    if (!scenario.metrics.empty()) out += text_table(report, scenario);
    for (const std::string& note : scenario.notes) out += fmt::format("  note: {}\n", note);
    out += "\n";
  }
  return out + summary_line(report) + "\n";
}

std::string check_markdown(const CheckReport& report) {
  std::string out = fmt::format("### Stepcast: {}\n\n", in_markdown(summary_line(report)));
  for (const ScenarioCheck& scenario : report.scenarios) {
    out += fmt::format("**{}**: {}\n\n", in_markdown(scenario.scenario), scenario.passed() ? "passed" : "failed");
    for (const std::string& error : scenario.errors) out += fmt::format("- error: {}\n", in_markdown(error));
    for (const std::string& note : scenario.notes) out += fmt::format("- {}\n", in_markdown(note));
    if (!scenario.errors.empty() || !scenario.notes.empty()) out += "\n";
    if (scenario.metrics.empty()) continue;
    out += markdown_row(header(report)) + "|---|--:|--:|--:|--:|---|\n";
    for (const MetricCheck& check : scenario.metrics) out += markdown_row(cells(check));
    out += "\n";
  }
  return out;
}

std::string check_junit(const CheckReport& report) {
  std::string suites;
  for (const ScenarioCheck& scenario : report.scenarios) suites += junit_suite(report, scenario);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"stepcast check\">\n" + suites +
         "</testsuites>\n";
}

Json check_json(const CheckReport& report) {
  Json scenarios = Json::array();
  for (const ScenarioCheck& scenario : report.scenarios) {
    Json metrics = Json::array();
    for (const MetricCheck& check : scenario.metrics)
      metrics.push_back({{"name", check.name},
                         {"expected", check.expected},
                         {"actual", check.actual},
                         {"change_percent", 100 * check.change()},
                         {"tolerance_percent", check.tolerance_percent},
                         {"gates", check.gates},
                         {"verdict", name_of(check.verdict)}});
    scenarios.push_back({{"scenario", scenario.scenario},
                         {"passed", scenario.passed()},
                         {"metrics", std::move(metrics)},
                         {"errors", scenario.errors},
                         {"notes", scenario.notes}});
  }
  return {{"kind", name_of(report.kind)},
          {"against", report.against},
          {"passed", report.passed()},
          {"scenarios", std::move(scenarios)}};
}

}  // namespace stepcast
