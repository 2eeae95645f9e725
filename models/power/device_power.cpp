#include "models/power/device_power.hpp"

#include <algorithm>

namespace stepcast {

namespace {

// Devices, as shares of the board limit.
// Matrix products: 0.96–0.99 of the limit in long compute-bound runs (docs/sources.md, operator timings).
constexpr double kComputeShare = 0.97;
// Streaming kernels: products that stream at 0.8 and more of the memory's rate and at less than 0.1 of the peak draw
// 0.59 (GB200), 0.73 (B200) and 0.79 (H200) of the limit, medians (operators-power.csv, 124 rows); the middle one.
constexpr double kMemoryShare = 0.73;
// Between two kernels of a step clocks stay up. Products too small to use 0.02 of either rate draw 0.20 (H200), 0.22
// (GB200) and 0.29 (B200), medians (operators-power.csv, 316 rows); the middle one. H100 with a context and memory at
// full clock: 0.16–0.19 (power idle-h100-sxm5-80, recalled).
constexpr double kReadyShare = 0.22;
// Waiting in a collective: at synchronisation POLCA saw power fall to 0.75 (RoBERTa), 0.5 (GPT-NeoX) and to idle
// (Flan-T5) of the limit (power.json, polca-a100-training; recalled). The large language model's figure.
constexpr double kCommunicationShare = 0.5;
// Idle, where the catalogue does not say: median of the boards whose idle power it knows (power.json, idle-*).
constexpr double kIdleShare = 0.12;
// The voltage falls by 0.6 of what the clock falls, down to the floor at 0.7 of it: between a board that was measured
// to lose 21 % of its rate at 0.6 of its limit (RTX PRO 6000 server) and one that loses 37 % (workstation edition);
// V100 in BERT lost 7 % at 0.8 of what it drew (power cap-curve-*, v100-cap-150). Floor: a100-voltage-floor, doubtful.
constexpr double kVoltageSlope = 0.6;
constexpr double kVoltageFloor = 0.7;
// Of what memory-bound kernels draw above idle, half is memory's own: it follows what is moved, not the core's clock.
// Estimated.
constexpr double kMemoryOwnPower = 0.5;
// Core clock below which too few requests are under way to fill the memory, and what is moved falls with it. Estimated.
constexpr double kBandwidthClock = 0.5;
/// Lowest clock of data-centre boards over the usual: 210 of 1410–1980 MHz (nvidia-smi, A100 and H100).
constexpr double kLowestClock = 0.12;
constexpr int kBisections = 60;

/// Rate of memory-bound kernels at a clock, over the usual one.
double bandwidth_at(double clock) { return std::min(1.0, clock / kBandwidthClock); }

/// Power of a kind of work at a clock.
struct Draw {
  Watts idle, usual;
  double own = 0;  ///< share above idle that is memory's own
  [[nodiscard]] Watts at(double clock) const {
    return idle + (usual - idle) * (own * bandwidth_at(clock) + (1 - own) * dynamic_power(clock));
  }
};

/// The highest clock up to `most` at which work stays below a cap.
double highest_clock(const Draw& draw, Watts cap, double most) {
  if (draw.at(most) <= cap) return most;
  double low = kLowestClock, high = most;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (draw.at(middle) <= cap ? low : high) = middle;
  }
  return low;
}

/// A scenario locks no lower than the lowest clock, and no higher than the usual one.
double locked_share(const Scenario& scenario) {
  const auto& clock = scenario.spec.cluster.clock_MHz;
  if (!clock || scenario.accelerator == nullptr) return 1;
  const double usual = usual_clock_MHz(*scenario.accelerator);
  return usual > 0 ? *clock / usual : 1;
}

DevicePower of_socket(const Scenario& scenario) {
  const Watts limit = scenario.cpu && scenario.cpu->tdp > Watts(0) ? scenario.cpu->tdp : kUnknownCpu;
  // In memory phases vector units wait, but every core and the memory controllers are awake.
  return {kCpuIdleShare * limit, limit, limit, kCommunicationShare * limit, kCpuIdleShare * limit};
}

}  // namespace

double usual_clock_MHz(const Accelerator& part) {
  return part.tensor_peak_clock_MHz > 0 ? part.tensor_peak_clock_MHz : part.boost_clock_MHz;
}

double dynamic_power(double clock) {
  const double voltage = std::max(1 - kVoltageSlope * (1 - clock), 1 - kVoltageSlope * (1 - kVoltageFloor));
  return clock * voltage * voltage;
}

DevicePower usual_device_power(const Scenario& scenario) {
  if (scenario.accelerator == nullptr || !scenario.node->has_accelerators()) return of_socket(scenario);
  const Watts limit = scenario.accelerator->tdp;
  const Watts idle = scenario.accelerator->idle_power.value_or(kIdleShare * limit);
  return {idle, kComputeShare * limit, kMemoryShare * limit, std::max(idle, kCommunicationShare * limit),
          std::max(idle, kReadyShare * limit)};
}

LeastDevicePower least_device_power(const Scenario& scenario) {
  const DevicePower usual = usual_device_power(scenario);
  const Draw products{usual.idle, usual.compute, 0}, memory{usual.idle, usual.memory, kMemoryOwnPower};
  return {scenario.accelerator == nullptr ? 0 : kLowestClock * usual_clock_MHz(*scenario.accelerator),
          std::max(products.at(kLowestClock), memory.at(kLowestClock))};
}

ClockState clock_state(const Scenario& scenario) {
  ClockState out;
  out.power = usual_device_power(scenario);
  const auto& cap = scenario.spec.cluster.power_cap;
  const double locked = locked_share(scenario);
  if (!cap && locked >= 1) return out;
  const Watts idle = out.power.idle;
  const Watts limit = std::max(idle, cap.value_or(out.power.compute));
  const Draw products{idle, out.power.compute, 0}, memory{idle, out.power.memory, kMemoryOwnPower},
      waiting{idle, out.power.communication, 0}, ready{idle, out.power.ready, 0};
  out.products = highest_clock(products, limit, locked);
  out.memory = highest_clock(memory, limit, locked);
  out.bandwidth = bandwidth_at(out.memory);
  out.limited = out.products < 1 || out.memory < 1;
  out.power = {idle, products.at(out.products), memory.at(out.memory),
               waiting.at(highest_clock(waiting, limit, locked)), ready.at(highest_clock(ready, limit, locked))};
  return out;
}

}  // namespace stepcast
