#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Of a processor's limit, idle: 0.2–0.35 (power.json, cpu-power-idle), the middle.
inline constexpr double kCpuIdleShare = 0.275;
/// Of a server processor that the catalogue does not name: EPYC 7742's limit, as in DGX A100.
inline constexpr Watts kUnknownCpu = 225_W;

/// What one training device draws, by what it does.
struct DevicePower {
  Watts idle;           ///< at its idle clocks
  Watts compute;        ///< running matrix products
  Watts memory;         ///< running memory-bound kernels
  Watts communication;  ///< waiting in a collective kernel with nothing else to do
  Watts ready;          ///< at full clock between two kernels
};

/// The clock that an accelerator's peaks are stated at; zero where it is not known.
double usual_clock_MHz(const Accelerator& part);

/// At its usual clocks, whatever the scenario says of caps.
DevicePower usual_device_power(const Scenario& scenario);

/// Clocks of a device over its usual ones, and what they make of its rates and its power. Under a cap each kind of work
/// runs as fast as the cap allows; a locked clock holds for all.
struct ClockState {
  double products = 1;   ///< clock, and rate, of matrix products
  double memory = 1;     ///< clock of memory-bound kernels
  double bandwidth = 1;  ///< rate of memory-bound kernels
  bool limited = false;
  DevicePower power;
};

/// The least that a device can be held to: its lowest clock, and the most that any kind of work draws at it.
struct LeastDevicePower {
  double clock_MHz = 0;  ///< zero where the usual clock is not known
  Watts power;           ///< below which no cap is kept
};
LeastDevicePower least_device_power(const Scenario& scenario);

/// By `cluster.power_cap_W` and `cluster.clock_MHz` (docs/models/power.md). A cap above every draw changes nothing.
ClockState clock_state(const Scenario& scenario);

/// Power over usual dynamic power at a share of the usual clock: f·v², with a voltage v that falls with the clock to a
/// floor (CMOS; power dvfs-law).
double dynamic_power(double clock);

}  // namespace stepcast
