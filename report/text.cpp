#include "report/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/humane.hpp"
#include "report/json.hpp"
#include "report/outlook_text.hpp"
#include "report/text_layout.hpp"
#include "report/updates_text.hpp"

namespace stepcast {

namespace {

std::string degrees_text(const Degrees& d) {
  std::string out;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " · ", name, degree);
  };
  add("tensor", d.tp);
  add("context", d.cp);
  add("pipeline", d.pp);
  add("virtual", d.vpp);
  add("data", d.dp);
  add("expert", d.ep);
  if (d.ep > 1 && d.etp < d.tp) out += " of whole experts";
  if (out.empty()) out = "no parallelism";
  return fmt::format("{} · micro-batch {} × {}", out, d.micro_batch, d.micro_batches);
}

std::string title(const Prediction& p) {
  const std::string size = fmt::format("{} {} · {} {}", whole(p.nodes), p.nodes == 1 ? "node" : "nodes",
                                       whole(p.devices), p.devices == 1 ? "device" : "devices");
  return opening(p.scenario_name.empty() ? "scenario" : p.scenario_name, size) + degrees_text(p.degrees) + "\n" +
         rule();
}

/// "4 GiB too much on the device, 12 GiB in host memory": whichever of the two is.
std::string excess(const MemoryReport& memory) {
  const bool device = memory.over_device() > Bytes(0);
  const bool host = memory.over_host() > Bytes(0);
  std::string out;
  if (device) out = fmt::format("{} too much", humane(memory.over_device()));
  if (host && device) out += fmt::format(" on the device, {} in host memory", humane(memory.over_host()));
  if (host && !device) out = fmt::format("{} too much in host memory", humane(memory.over_host()));
  return out;
}

std::string memory_verdict(const MemoryReport& memory) {
  if (memory.stages.empty()) return "unknown";
  const Bytes peak = memory.stages.at(memory.worst_stage).total();
  if (memory.fits) return fmt::format("fits: {} of {}", humane(peak), humane(memory.capacity));
  if (memory.over_host() > Bytes(0)) return fmt::format("DOES NOT FIT: {}", excess(memory));
  return fmt::format("DOES NOT FIT: {} over", humane(memory.over_device()));
}

std::string headline(const Prediction& p) {
  const std::string convention =
      fmt::format("({}, {})", p.flop_convention.causal_halved ? "causal halved" : "causal in full",
                  p.flop_convention.output_layer ? "output counted" : "output not counted");
  const bool tokens = p.tokens_per_s > 0;
  const std::string rate = tokens ? fmt::format("{} tokens/s", humane_count(p.tokens_per_s))
                                  : fmt::format("{} samples/s", humane_count(p.samples_per_s));
  const std::string per_device = tokens ? fmt::format("{} tokens/s", humane_count(p.tokens_per_s_per_gpu))
                                        : fmt::format("{} samples/s", humane_count(p.samples_per_s_per_gpu));
  std::string out;
  out += pair_line("Throughput", rate, "Step time", humane(p.step_time));
  out += fmt::format("  80 % of like runs took {} to {} · evidence {}\n  ({})\n", humane(p.step_time_low()),
                     humane(p.step_time_high()), name_of(p.expected_error.grade), p.expected_error.why);
  out += pair_line("Per device", per_device, "Samples", fmt::format("{}/s", humane_count(p.samples_per_s)));
  out += pair_line("Model", fmt::format("{} TFLOP/s · MFU {}", significant(p.model_tflops_per_gpu), percent(p.mfu)),
                   "Memory", memory_verdict(p.memory));
  out +=
      pair_line("Hardware", fmt::format("{} TFLOP/s · HFU {}", significant(p.hardware_tflops_per_gpu), percent(p.hfu)),
                "Train", p.time_to_train ? humane(*p.time_to_train) : std::string("no amount of work stated"));
  out += fmt::format("  FLOPs per device {}\n", convention);
  return out;
}

std::string where_time_goes(const Prediction& p) {
  std::string out = heading("Where the step goes", fmt::format("computing {} of the time", percent(p.gpu_utilization)));
  out += part_line("compute", p.compute, p.step_time);
  out += part_line("exposed communication", p.communication.exposed, p.step_time);
  out += part_line("pipeline bubble", p.bubble, p.step_time);
  out += part_line("synchronisation wait", p.synchronization_wait, p.step_time);
  out += part_line("optimizer", p.optimizer, p.step_time);
  out += part_line("overhead", p.overhead, p.step_time);
  if (p.host > Seconds(0)) out += part_line("  of it waiting for host", p.host, p.step_time);
  return out;
}

/// What takes less of a step tells a reader nothing; JSON has it.
constexpr double kLeastShare = 1e-5;

std::string share_lines(const std::map<std::string, CommunicationMetrics::Share>& shares, Seconds step) {
  std::string out;
  for (const auto& [name, share] : shares) {
    if (share.total < kLeastShare * step) continue;
    const double exposed = share.total > Seconds(0) ? std::min(1.0, share.exposed / share.total) : 0;
    out += fmt::format("  {}{}{}{}  {}\n", pad_right(name, kLabel), pad_left(humane(share.total), 10),
                       pad_left(humane(share.exposed), 10), pad_left(percent(exposed), 10), gauge(exposed, 20));
  }
  return out;
}

std::string communication(const Prediction& p) {
  const std::string dimensions = share_lines(p.communication.by_dimension, p.step_time);
  if (dimensions.empty()) return {};
  std::string out = heading("Communication per device, by dimension");
  out += fmt::format("  {}{}{}{}\n", pad_right("", kLabel), pad_left("busy", 10), pad_left("exposed", 10),
                     pad_left("of it", 10));
  out += dimensions;
  out += heading("Communication per device, by kind");
  out += share_lines(p.communication.by_kind, p.step_time);
  return out;
}

std::string memory(const MemoryReport& report) {
  if (report.stages.empty()) return {};
  const MemoryFootprint& worst = report.stages.at(report.worst_stage);
  const Bytes total = worst.total();
  const std::string where = report.stages.size() > 1 ? fmt::format("Memory per device, fullest stage {} of {}",
                                                                   report.worst_stage, report.stages.size())
                                                     : std::string("Memory per device");
  std::string out = heading(
      where, fmt::format("{} of {}, {}", humane(total), humane(report.capacity), percent(total / report.capacity)));
  const std::pair<const char*, Bytes> categories[] = {
      {"parameters", worst.parameters},   {"gradients", worst.gradients},  {"optimizer states", worst.optimizer},
      {"activations", worst.activations}, {"buffers", worst.buffers},      {"workspace", worst.workspace},
      {"libraries", worst.libraries},     {"allocator slack", worst.slack}};
  for (const auto& [name, size] : categories) {
    const double share = size / report.capacity;
    std::string line = fmt::format("  {}{}{}  {}", pad_right(name, kLabel), pad_left(humane(size), 10),
                                   pad_left(percent(share), 10), bar(share, kBar));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (!report.phase.empty()) out += fmt::format("  in the phase that leaves least: {}\n", report.phase);
  if (worst.before_gradients()) out += "  fullest while the loss is computed, when no gradients exist yet\n";
  if (report.host() > Bytes(0))
    out +=
        fmt::format("  {} of each device in host memory, of {}\n", humane(report.host()), humane(report.host_capacity));
  if (report.fits) return out;
  out += fmt::format("  DOES NOT FIT: {}.", excess(report));
  out += report.advice.empty() ? " No single change that was tried makes it fit.\n" : " What would make it fit:\n";
  for (const std::string& advice : report.advice) out += fmt::format("    - {}\n", advice);
  return out;
}

std::string power_and_cost(const Prediction& p) {
  std::string out = heading("Power, energy, cost");
  out += pair_line("Power", fmt::format("{} mean, {} peak", humane(p.average_power), humane(p.peak_power)),
                   "Per device", fmt::format("{} mean", humane(p.device_average_power)));
  out += pair_line("Per step", humane(p.energy_per_step), "Per sample", humane(p.energy_per_sample));
  if (!p.cost_rate) return out + "  Cost          no price of this node in the catalogue\n";
  const std::string rate = fmt::format("{} per hour", humane(*p.cost_rate * 1_h));
  out += pair_line("Cost", rate, p.run_cost ? "Run" : "", p.run_cost ? humane(*p.run_cost) : std::string());
  return p.cost_basis.empty() ? out : out + wrapped(p.cost_basis, "  Basis         ", "                ");
}

std::string footer(const Prediction& p) {
  std::string out;
  if (!p.assumptions.empty()) {
    out += heading("Assumptions");
    for (const std::string& assumption : p.assumptions) out += wrapped(assumption, "  - ", "    ");
  }
  return out + rule() + fmt::format("stepcast {} · {} · catalogue {}\n", p.version, p.fidelity, p.catalog_hash);
}

}  // namespace

std::string text_report(const Prediction& prediction) {
  check_figures(prediction);
  return title(prediction) + headline(prediction) + where_time_goes(prediction) + communication(prediction) +
         (prediction.updates ? updates_text(*prediction.updates) : std::string()) + memory(prediction.memory) +
         power_and_cost(prediction) + outlook_text(prediction) + footer(prediction);
}

}  // namespace stepcast
