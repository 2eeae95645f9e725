#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "models/frameworks/prediction_errors.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/updates/update_outcome.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

struct CommunicationMetrics {
  Seconds total;    ///< busy time of communication on a device, mean over devices (weighted by multiplicity)
  Seconds exposed;  ///< of it, time in which the device computes nothing because of it
  struct Share {
    Seconds total, exposed;  ///< as of all communication
  };
  std::map<std::string, Share> by_kind;       ///< all_reduce, all_gather, …
  std::map<std::string, Share> by_dimension;  ///< tensor, data, …
};

struct RunOutlook;

/// What is predicted for one step and for the run. Means over devices unless said otherwise.
struct Prediction {
  std::string scenario_name;
  Seconds step_time;
  ExpectedError expected_error;  ///< of the step time
  /// Ends of the interval that holds the measured step time in 80 of 100 like runs.
  [[nodiscard]] Seconds step_time_low() const { return step_time * std::exp(-expected_error.share_80); }
  [[nodiscard]] Seconds step_time_high() const { return step_time * std::exp(expected_error.share_80); }
  /// Of the whole cluster and of one device; tokens: of models that have them, else 0.
  double samples_per_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0, samples_per_s_per_gpu = 0;
  /// Per device: TFLOP/s and their share of the dense peak, by the model's FLOPs (`flop_convention`) and by those
  /// executed, recomputation included.
  double model_tflops_per_gpu = 0, hardware_tflops_per_gpu = 0, mfu = 0, hfu = 0;
  CommunicationMetrics communication;
  /// Parts of the step, as in StepBreakdown.
  Seconds compute, bubble, synchronization_wait, optimizer, overhead, host;
  MemoryReport memory;
  double gpu_utilization = 0;                   ///< share of the step in which a device computes or updates
  Watts average_power, peak_power;              ///< of the whole cluster at the meter (PUE included)
  Watts device_average_power;                   ///< over the step
  Joules energy_per_step, energy_per_sample;    ///< of the whole cluster at the meter
  std::optional<DollarsPerSecond> cost_rate;    ///< of the whole cluster; null where its nodes have no price
  std::string cost_basis;                       ///< what the cost rests on, in words; empty without a cost
  std::optional<Dollars> run_cost;              ///< null without a price or a stated amount of work
  std::optional<Seconds> time_to_train;         ///< null where the scenario states no amount of work
  std::optional<UpdateOutcome> updates;         ///< null where every step ends with collectives alone
  std::string fidelity, version, catalog_hash;  ///< `run.fidelity`; of Stepcast; of the catalogue's entries
  FlopConvention flop_convention;
  std::vector<std::string> assumptions;  ///< what the scenario leaves open and was assumed, in words
  int devices = 0, nodes = 0;
  Degrees degrees;
  /// What surrounds the step (run_outlook.hpp): input, checkpoints, goodput, phases, facility, carbon. Shared, for it
  /// never changes; null in predictions made without it.
  std::shared_ptr<const RunOutlook> outlook;
};

}  // namespace stepcast
