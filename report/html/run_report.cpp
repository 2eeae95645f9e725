#include "report/html/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/scenario/at_size.hpp"
#include "report/html/charts.hpp"
#include "report/html/page.hpp"
#include "report/html/run_section.hpp"
#include "report/humane.hpp"
#include "report/json.hpp"
#include "report/markup.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"

namespace stepcast {

namespace {

std::string card(const std::string& label, const std::string& value, const std::string& below, bool bad = false) {
  return fmt::format("<div class=\"card\"><span>{}</span><b{}>{}</b><span>{}</span></div>\n", escaped_markup(label),
                     bad ? " class=\"bad\"" : "", escaped_markup(value), escaped_markup(below));
}

std::string headline(const Prediction& p) {
  const bool tokens = p.tokens_per_s > 0;
  std::string out = "<div class=\"cards\">\n";
  out += card("Step time", humane(p.step_time),
              fmt::format("{} to {} in 80 % of like runs", humane(p.step_time_low()), humane(p.step_time_high())));
  out +=
      card(tokens ? "Tokens per second" : "Samples per second", humane_count(tokens ? p.tokens_per_s : p.samples_per_s),
           humane_count(tokens ? p.tokens_per_s_per_gpu : p.samples_per_s_per_gpu) + " per device");
  out += card("Model FLOP utilisation", percent(p.mfu),
              fmt::format("{} TFLOP/s per device", significant(p.model_tflops_per_gpu)));
  if (!p.memory.stages.empty()) {
    const Bytes peak = p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total();
    out += card("Memory per device", humane(peak),
                p.memory.fits                       ? "of " + humane(p.memory.capacity)
                : p.memory.over_device() > Bytes(0) ? "does not fit " + humane(p.memory.capacity)
                                                    : humane(p.memory.over_host()) + " too much in host memory",
                !p.memory.fits);
  }
  out += card("Power", humane(p.average_power), humane(p.peak_power) + " at peak");
  if (p.cost_rate)
    out += card("Cost per hour", humane(*p.cost_rate * 1_h),
                p.run_cost ? humane(*p.run_cost) + " for the run" : "of the whole cluster");
  if (p.time_to_train)
    out += card("Time to train", humane(*p.time_to_train),
                p.outlook ? "at a goodput of " + percent(p.outlook->goodput.mean) : "for the stated work");
  return out + "</div>\n";
}

std::vector<ShareOfBar> step_parts(const Prediction& p) {
  std::vector<ShareOfBar> out;
  const auto add = [&](std::string name, Seconds time, const char* kind) {
    out.push_back({std::move(name), humane(time), kind, time.value()});
  };
  add("compute", p.compute, "compute");
  for (const auto& [kind, share] : p.communication.by_kind)
    add(kind == "storage" ? "loading of input" : "exposed " + kind, share.exposed,
        kind == "storage" ? "loading" : "communication");
  add("pipeline bubble", p.bubble, "bubble");
  add("synchronisation wait", p.synchronization_wait, "wait");
  add("optimizer", p.optimizer, "optimizer");
  add("waiting for the host", p.host, "host");
  add("fixed time", p.overhead - p.host, "overhead");
  std::erase_if(out, [&](const ShareOfBar& part) { return part.value < 1e-9 * p.step_time.value(); });
  return out;
}

HtmlTable shares_table(const std::vector<ShareOfBar>& parts, const char* what) {
  double sum = 0;
  for (const ShareOfBar& part : parts) sum += part.value;
  HtmlTable table{{"", what, "share"}, {}};
  for (const ShareOfBar& part : parts) table.rows.push_back({part.name, part.text, percent(part.value / sum)});
  return table;
}

std::string breakdown_section(const Prediction& p) {
  const std::vector<ShareOfBar> parts = step_parts(p);
  return html_section("Where the step goes", "<p class=\"note\">Mean over all devices.</p>" +
                                                 html_figure(share_bar_svg("Where the step goes", parts),
                                                             shares_table(parts, "time"), "the same as a table"));
}

std::string timeline_section(const RunPage& page) {
  // What a worker computes by itself is no step of the cluster: --trace refuses it, too (timeline_fault.hpp).
  if (page.prediction.updates)
    return html_section(
        "Timeline of one step",
        "<p class=\"note\">None: workers take up updates each in their time, so that their steps are no "
        "one timeline of operations. Steps that all devices end together have one.</p>");
  const StepDetail& detail = page.detail;
  HtmlTable path{{"on the critical path", "time", "of the step"}, {}};
  for (const PathPart& part : detail.critical_path)
    path.rows.push_back({part.what, humane(part.time), percent(part.time / page.prediction.step_time)});
  if (detail.streams.empty())
    return html_section(
        "Critical path",
        "<p class=\"note\">The closed form has no timeline; its parts stand for the path.</p>" + html_table(path));
  HtmlTable table{{"device and stream", "stands for", "busy", "of the step"}, {}};
  for (const DrawnStream& stream : detail.streams) {
    Seconds busy;
    for (const DrawnSpan& span : stream.spans) busy += span.end - span.start;
    table.rows.push_back({stream.device + " · " + stream.stream, fmt::format("{:g} devices", stream.devices),
                          humane(busy), percent(busy / page.prediction.step_time)});
  }
  return html_section(
      "Timeline of one step",
      "<p class=\"note\">Representative devices, one lane a stream; numbers are micro-batches. Rest the pointer on a "
      "mark "
      "to see what it is.</p>" +
          html_figure(timeline_svg(detail.streams, page.prediction.step_time), table, "busy time of each stream") +
          "<h2 style=\"margin-top:1.2em\">Critical path</h2>" + html_table(path));
}

std::string scaling_section(const RunPage& page) {
  Curve curve{"Throughput by number of nodes", "nodes", "samples/s", {}, {}, -1};
  CurveSeries strong{"same global batch", "s-compute", {}}, weak{"same batch per node", "s-communication", {}},
      ideal{"in proportion", "ideal", {}};
  HtmlTable table{{"nodes", "same global batch", "same batch per node"}, {}};
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double per_node = page.prediction.samples_per_s / page.prediction.nodes;
  int legal = 0;
  for (const SizedThroughput& size : page.sizes) {
    if (size.nodes == page.prediction.nodes) curve.here = static_cast<int>(curve.positions.size());
    curve.positions.push_back(whole(size.nodes));
    strong.values.push_back(size.strong.value_or(none));
    weak.values.push_back(size.weak.value_or(none));
    ideal.values.push_back(per_node * size.nodes);
    legal += size.strong || size.weak ? 1 : 0;
    table.rows.push_back({whole(size.nodes), size.strong ? humane_count(*size.strong) + " samples/s" : "not legal",
                          size.weak ? humane_count(*size.weak) + " samples/s" : "not legal"});
  }
  if (legal < 2) return {};
  curve.series = {ideal, strong, weak};
  return html_section("Scaling",
                      "<p class=\"note\">By the closed form; the ring marks this scenario. Sizes that the "
                      "strategy does not allow are left out.</p>" +
                          html_figure(curve_svg(curve), table, "the same as a table"));
}

std::string memory_section(const MemoryReport& memory) {
  if (memory.stages.empty()) return {};
  using Part = Bytes MemoryFootprint::*;
  const std::vector<std::tuple<const char*, const char*, Part>> kinds{
      {"parameters", "compute", &MemoryFootprint::parameters},
      {"gradients", "overhead", &MemoryFootprint::gradients},
      {"optimizer states", "optimizer", &MemoryFootprint::optimizer},
      {"activations", "communication", &MemoryFootprint::activations},
      {"buffers", "loading", &MemoryFootprint::buffers},
      {"workspace", "host", &MemoryFootprint::workspace},
      {"libraries", "wait", &MemoryFootprint::libraries},
      {"allocator slack", "bubble", &MemoryFootprint::slack}};
  StackedColumns chart{"Memory of a device by pipeline stage", "GiB", {}, {}, memory.capacity.in(1_GiB), "capacity"};
  HtmlTable table{{"stage"}, {}};
  for (const auto& [name, kind, part] : kinds) {
    chart.parts.emplace_back(name, kind);
    table.head.emplace_back(name);
  }
  table.head.emplace_back("together");
  for (std::size_t i = 0; i < memory.stages.size(); ++i) {
    const std::string label = memory.stages.size() == 1 ? std::string("every device") : fmt::format("{}", i);
    StackedColumn column{label, {}};
    std::vector<std::string> row{label};
    for (const auto& [name, kind, part] : kinds) {
      column.values.push_back((memory.stages[i].*part).in(1_GiB));
      row.push_back(humane(memory.stages[i].*part));
    }
    row.push_back(humane(memory.stages[i].total()));
    chart.columns.push_back(std::move(column));
    table.rows.push_back(std::move(row));
  }
  std::string advice;
  if (memory.stages.at(memory.worst_stage).before_gradients())
    advice = "<p class=\"note\">Fullest while the loss is computed, when no gradients exist yet.</p>";
  if (!memory.phase.empty())
    advice += "<p class=\"note\">In the phase that leaves least: " + escaped_markup(memory.phase) + ".</p>";
  if (!memory.fits && !memory.advice.empty()) {
    advice += "<p>What would make it fit:</p><ul>";
    for (const std::string& line : memory.advice) advice += "<li>" + escaped_markup(line) + "</li>";
    advice += "</ul>";
  }
  return html_section(memory.stages.size() == 1 ? "Memory of a device" : "Memory of a device, by pipeline stage",
                      html_figure(stacked_columns_svg(chart), table, "the same as a table") + advice);
}

/// What an hour's cost is made of; nodes that help are a part each, with what they are, draw and need.
std::vector<ShareOfBar> cost_parts(const ClusterCost& cost) {
  std::vector<ShareOfBar> out;
  const auto add = [&](const std::string& name, DollarsPerSecond rate, const char* kind) {
    if (rate > DollarsPerSecond(0)) out.push_back({name, humane(rate * 1_h) + " per hour", kind, rate.value()});
  };
  const CostRate& own = cost.own;
  add(own.electricity > DollarsPerSecond(0) ? "servers" : "servers and electricity", own.servers, "compute");
  add("network", own.network, "communication");
  add("electricity", own.electricity, "loading");
  add("upkeep", own.upkeep, "host");
  for (const ClusterCost::Helper& helper : cost.helpers)
    add(std::string(name_of(helper.role)), helper.rate.total(), "overhead");
  return out;
}

std::string cost_section(const RunPage& page) {
  const Prediction& p = page.prediction;
  std::string body;
  if (page.cost) {
    const std::vector<ShareOfBar> rates = cost_parts(*page.cost);
    std::vector<ShareOfBar> uses = step_parts(p);
    for (ShareOfBar& use : uses) use.text = humane(page.cost->total() * Seconds(use.value)) + " a step";
    body += html_figure(share_bar_svg("What an hour costs", rates), shares_table(rates, "cost"), "the same as a table");
    body += "<p style=\"margin-top:1.2em\">What the money of a step pays for:</p>" +
            html_figure(share_bar_svg("What the money of a step pays for", uses), shares_table(uses, "cost"),
                        "the same as a table");
    body += "<p class=\"note\">" + escaped_markup(page.cost->basis()) + "</p>";
  } else {
    body += "<p class=\"note\">The catalogue lacks a price: see what is assumed below.</p>";
  }
  return html_section("Cost", body);
}

std::string power_section(const RunPage& page) {
  const Prediction& p = page.prediction;
  HtmlTable table{{"", "power or energy"}, {}};
  table.rows = {{"cluster, mean", humane(p.average_power)},
                {"cluster, peak", humane(p.peak_power)},
                {"one device, mean", humane(p.device_average_power)},
                {"energy of a step", humane(p.energy_per_step)},
                {"energy of a sample", humane(p.energy_per_sample)}};
  if (p.outlook && p.outlook->facility.fabric)
    table.rows.insert(table.rows.begin() + 2, {"of it switches and transceivers", humane(*p.outlook->facility.fabric)});
  std::string drawing;
  if (!page.detail.device_power.empty() && !p.updates) {
    StepLine line{"Power of the mean device over the step", "W", {}, {}, {}};
    for (const Watts watts : page.detail.device_power) line.values.push_back(watts.value());
    drawing =
        step_line_svg(line, p.step_time) +
        "<p class=\"note\">Mean over all devices; the cluster's figures below include hosts, cooling and losses.</p>";
  }
  return html_section("Power and energy", drawing + html_table(table));
}

std::string scenario_section(const RunPage& page) {
  std::string out = "<pre>" + escaped_markup(page.command) + "</pre>" +
                    html_folded_text("the scenario, every default spelt out", page.scenario);
  if (!page.prediction.assumptions.empty()) {
    out += "<p style=\"margin-top:1em\">Assumed:</p><ul>";
    for (const std::string& assumption : page.prediction.assumptions)
      out += "<li>" + escaped_markup(assumption) + "</li>";
    out += "</ul>";
  }
  return html_section("How to get this page", out);
}

/// The scenario on so many nodes; nothing when that is not legal.
std::optional<double> throughput_on(const Scenario& scenario, int nodes, bool weak, const Catalog& catalog) {
  const std::optional<long> batch = weak ? batch_at_size(scenario.spec, nodes) : scenario.spec.workload.global_batch;
  if (!batch) return std::nullopt;
  try {
    const Scenario sized = resolve(at_size(to_json(scenario), nodes, *batch), "size", {}, catalog);
    return predict_analytic(sized, catalog, MemoryAdvice::none).samples_per_s;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<SizedThroughput> throughput_by_size(const Scenario& scenario, const Catalog& catalog) {
  constexpr int kDoublings = 3;
  std::vector<int> sizes{scenario.spec.cluster.nodes};
  for (int i = 0; i < kDoublings && sizes.front() % 2 == 0; ++i) sizes.insert(sizes.begin(), sizes.front() / 2);
  for (int i = 0; i < kDoublings; ++i) sizes.push_back(sizes.back() * 2);
  std::vector<SizedThroughput> out;
  out.reserve(sizes.size());
  for (const int nodes : sizes)
    out.push_back(
        {nodes, throughput_on(scenario, nodes, false, catalog), throughput_on(scenario, nodes, true, catalog)});
  return out;
}

std::string html_report(const RunPage& page) {
  const Prediction& p = page.prediction;
  check_figures(p);
  const std::string name = p.scenario_name.empty() ? "scenario" : p.scenario_name;
  std::string body = "<header><h1>" + escaped_markup(name) + "</h1><p class=\"sub\">" + escaped_markup(page.cluster) +
                     "</p></header>\n" + headline(p);
  body +=
      fmt::format("<p class=\"note\">Evidence: {} ({}).</p>\n",
                  escaped_markup(std::string(name_of(p.expected_error.grade))), escaped_markup(p.expected_error.why));
  body += breakdown_section(p) + timeline_section(page) + scaling_section(page) + memory_section(p.memory) +
          run_section(p) + cost_section(page) + power_section(page) + scenario_section(page);
  body += fmt::format("<footer>stepcast {} · {} · catalogue {}</footer>\n", p.version, p.fidelity, p.catalog_hash);
  return html_document({"Stepcast: " + name, body});
}

}  // namespace stepcast
