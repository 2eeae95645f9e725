#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Useful training over all time, as a share, over the trials of a Monte Carlo.
struct GoodputOutlook {
  double mean = 1, p05 = 1, p95 = 1;             ///< p05: exceeded by 95 of 100 trials; p95: by 5
  double formula = 1;                            ///< Daly's, for the same rates
  double interruptions = 0;                      ///< of the run, mean
  std::optional<Seconds> between_interruptions;  ///< mean; null where nothing fails
  std::map<std::string, double> lost_to;         ///< shares of the time, mean
  Seconds horizon;                               ///< training that was simulated
  std::string basis;                             ///< where the rates of failures come from, in words
  static const FieldTable<GoodputOutlook>& fields();
};

struct CheckpointOutlook {
  std::string kind, target;
  Bytes size;                          ///< of all ranks together
  Seconds stall, write, read;          ///< training stands; until it is safe; on restart
  std::optional<Seconds> interval;     ///< null: nothing fails, so nothing is saved
  bool interval_stated = false;        ///< by the scenario; else it is the best
  std::optional<Seconds> young, daly;  ///< intervals by these formulas; null where nothing fails
  /// Of a step while an asynchronous one drains over the NICs that train; null where none does, or in closed form.
  std::optional<Seconds> step_while_writing;
  std::string basis;  ///< at which rates it is written and read, in words
  static const FieldTable<CheckpointOutlook>& fields();
};

struct InputLimitOutlook {
  std::string stage;
  double samples_per_s = 0;  ///< that the stage sustains over the whole cluster
  std::string words;         ///< what the limit is made of
  static const FieldTable<InputLimitOutlook>& fields();
};

struct InputOutlook {
  std::string bound = "none";             ///< the stage that training waits for, or none
  std::string slowest;                    ///< stage; empty: nothing is known that limits
  std::optional<double> samples_per_s;    ///< that the pipeline sustains
  double training_samples_per_s = 0;      ///< that training takes
  std::optional<Seconds> decode_budget;   ///< core time of a sample that keeps up with training
  bool decode_stated = false;             ///< the scenario says how long decoding takes
  double cached = 0;                      ///< share of reads answered from memory
  std::vector<InputLimitOutlook> limits;  ///< of each stage
  std::vector<std::string> advice;        ///< what would lift the slowest stage, in words
  static const FieldTable<InputOutlook>& fields();
};

struct CarbonOutlook {
  double per_step_g = 0;         ///< CO2 equivalent
  std::optional<double> run_kg;  ///< null where the scenario states no work
  double grid_g_per_kWh = 0;     ///< of the site's electricity
  std::string basis;             ///< where the grid's figure comes from, in words
  static const FieldTable<CarbonOutlook>& fields();
};

struct PhaseOutlook {
  std::string name, kind;
  double times = 1, steps = 0, samples = 0, tokens = 0;  ///< times: how often it occurs; the others: of all of them
  Seconds time;                                          ///< without what goodput costs
  Joules energy;  ///< at the meter, network and helpers included, without what goodput costs
  static const FieldTable<PhaseOutlook>& fields();
};

/// The whole run, with what goes wrong; low and high: the step time's 80 % interval with goodput's 90 %.
struct RunTotals {
  Seconds time, time_low, time_high;
  double device_hours = 0;  ///< of devices that train and of helpers', but for processors beside accelerators
  Joules energy;            ///< at the meter
  std::optional<Dollars> cost, cost_low, cost_high;
  double work_factor = 1;  ///< samples over those stated, by the batch's efficiency
  static const FieldTable<RunTotals>& fields();
};

struct FacilityOutlook {
  std::optional<Watts> fabric;  ///< switches and transceivers, at the meter (fabric_W)
  double pue = 1;
  double flops_per_W = 0;             ///< useful model FLOPs of a joule at the meter
  std::optional<double> clock_share;  ///< of matrix products, under a cap or a locked clock
  std::optional<int> nodes_per_rack, racks;
  std::optional<Watts> rack;          ///< of a full one at its peak, at the plugs
  std::optional<int> spare_supplies;  ///< of a node, that may fail at its peak (models/power/facility.hpp)
  double swing_kW_per_s = 0;          ///< fastest change of the site's power that a barrier or a checkpoint makes
  std::optional<Watts> phase_peak;    ///< of the phase that peaks highest at the meter, where that is above the step's
  std::optional<std::string> peak_phase;
  std::vector<std::string> exceeded;  ///< limits, in words; those of phases name them
  static const FieldTable<FacilityOutlook>& fields();
};

/// What surrounds the predicted step. In JSON its fields stand beside the step's.
struct RunOutlook {
  GoodputOutlook goodput;
  CheckpointOutlook checkpoint;
  InputOutlook input;
  CarbonOutlook carbon;
  std::vector<PhaseOutlook> phases;
  std::optional<RunTotals> run;  ///< null where the scenario states no work
  FacilityOutlook facility;
  static const FieldTable<RunOutlook>& fields();
};

/// The part of a prediction's document that holds the outlook. Throws std::runtime_error when it holds something else.
RunOutlook run_outlook_from_json(const Json& document);

}  // namespace stepcast
