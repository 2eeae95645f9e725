#include "report/outlook_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/storage/decimal_bytes.hpp"
#include "report/humane.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

/// Shares of time below this are not worth a word.
constexpr double kWorthAWord = 0.0005;

std::string from_to(double low, double high) { return fmt::format("{} to {}", percent(low), percent(high)); }

std::string lost_words(const GoodputOutlook& goodput) {
  std::string out;
  for (const auto& [cause, share] : losses(goodput))
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", cause, percent(share));
  return out;
}

std::string run_lines(const RunOutlook& o, Seconds step) {
  const GoodputOutlook& goodput = o.goodput;
  std::string out = heading("The run", goodput.basis);
  if (o.run) {
    out += pair_line("Time", humane(o.run->time), "80 % of like",
                     fmt::format("{} to {}", humane(o.run->time_low), humane(o.run->time_high)));
    if (o.run->cost)
      out += pair_line("Cost", humane(*o.run->cost), "80 % of like",
                       fmt::format("{} to {}", humane(*o.run->cost_low), humane(*o.run->cost_high)));
    out += pair_line(
        "Device-hours", humane_count(o.run->device_hours), o.run->work_factor != 1 ? "Work" : "",
        o.run->work_factor != 1 ? fmt::format("× {} by the batch", significant(o.run->work_factor)) : std::string());
  }
  out += pair_line("Goodput", goodput_words(goodput), "Interrupted", interruption_words(goodput));
  out += fmt::format("  Checkpoint    {}\n", checkpoint_words(o));
  if (const std::string draining = draining_words(o.checkpoint, step); !draining.empty())
    out += fmt::format("                while it drains, {}\n", draining);
  if (const std::string lost = lost_words(goodput); !lost.empty())
    out += wrapped(lost, "  Lost to       ", "                ");
  const std::string energy = o.run ? humane(o.run->energy) : std::string();
  const std::string carbon = carbon_words(o.carbon);
  out += o.run ? pair_line("Energy", energy, "Carbon", carbon) : pair_line("Carbon", carbon, "", "");
  return out;
}

std::string phase_lines(const RunOutlook& o) {
  if (o.phases.size() < 2) return {};
  Seconds whole;
  for (const PhaseOutlook& phase : o.phases) whole += phase.time;
  std::string out = heading("Phases", "without what goodput costs");
  for (const PhaseOutlook& phase : o.phases) out += part_line(phase.name, phase.time, whole);
  return out;
}

std::string input_lines(const InputOutlook& input) {
  if (!input.samples_per_s) return {};
  std::string out = heading("Input", input_verdict(input));
  out += pair_line("Pipeline", fmt::format("{} samples/s ({})", humane_count(*input.samples_per_s), input.slowest),
                   "Training", fmt::format("{} samples/s", humane_count(input.training_samples_per_s)));
  if (const std::string decode = decode_words(input); !decode.empty()) out += fmt::format("  {}\n", decode);
  if (const std::string limit = input_limit_words(input); !limit.empty())
    out += wrapped(limit, "  Limit         ", "                ");
  for (const std::string& advice : input.advice) out += wrapped(advice, "  - ", "    ");
  return out;
}

std::string facility_lines(const FacilityOutlook& facility) {
  if (!facility.clock_share && facility.exceeded.empty()) return {};
  std::string out = heading("Facility");
  if (facility.clock_share)
    out += pair_line("Clock", fmt::format("{} of the usual", percent(*facility.clock_share)), "", "");
  for (const std::string& limit : facility.exceeded) out += wrapped("EXCEEDED: " + limit, "  - ", "    ");
  return out;
}

}  // namespace

std::string key_in_words(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string checkpoint_words(const RunOutlook& outlook) {
  const CheckpointOutlook& checkpoint = outlook.checkpoint;
  if (checkpoint.kind == "none") return "none";
  if (!checkpoint.interval) return "none needed";
  if (*checkpoint.interval >= outlook.goodput.horizon)
    return fmt::format("none on the way: every {} is longer than the run", humane(*checkpoint.interval));
  return fmt::format("{} every {}, training stalls for {}", decimal_text(checkpoint.size), humane(*checkpoint.interval),
                     humane(checkpoint.stall));
}

std::string draining_words(const CheckpointOutlook& checkpoint, Seconds step) {
  if (!checkpoint.interval || !checkpoint.step_while_writing) return {};
  const double slower = *checkpoint.step_while_writing / step - 1;
  return fmt::format("for {}, a step takes {} (+{:.1f} %)", humane(checkpoint.write - checkpoint.stall),
                     humane(*checkpoint.step_while_writing), 100 * slower);
}

std::string goodput_words(const GoodputOutlook& goodput) {
  return fmt::format("{} ({})", percent(goodput.mean), from_to(goodput.p05, goodput.p95));
}

std::string interruption_words(const GoodputOutlook& goodput) {
  return goodput.between_interruptions ? fmt::format("every {}", humane(*goodput.between_interruptions)) : "never";
}

std::vector<std::pair<std::string, double>> losses(const GoodputOutlook& goodput) {
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [cause, share] : goodput.lost_to)
    if (share >= kWorthAWord) out.emplace_back(key_in_words(cause), share);
  return out;
}

std::string carbon_words(const CarbonOutlook& carbon) {
  return carbon.run_kg ? humane_mass(*carbon.run_kg) : fmt::format("{} g per step", significant(carbon.per_step_g));
}

std::string input_verdict(const InputOutlook& input) {
  return input.bound == "none" ? "keeps up" : "TRAINING WAITS for " + input.bound;
}

std::string decode_words(const InputOutlook& input) {
  if (input.decode_stated || !input.decode_budget) return {};
  return fmt::format("Decoding is not stated; it may take {} of a core per sample", humane(*input.decode_budget));
}

std::string input_limit_words(const InputOutlook& input) {
  for (const InputLimitOutlook& limit : input.limits)
    if (limit.stage == input.bound) return limit.words;
  return {};
}

std::string outlook_text(const Prediction& p) {
  if (!p.outlook) return {};
  const RunOutlook& o = *p.outlook;
  return run_lines(o, p.step_time) + phase_lines(o) + input_lines(o.input) + facility_lines(o.facility);
}

}  // namespace stepcast
