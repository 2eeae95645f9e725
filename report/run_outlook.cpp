#include "report/run_outlook.hpp"

#include <stdexcept>

namespace stepcast {

const FieldTable<GoodputOutlook>& GoodputOutlook::fields() {
  using G = GoodputOutlook;
  static const auto kTable = [] {
    FieldTable<G> t("goodput", "Useful training over all time");
    t.field("mean", &G::mean, "Mean over the trials")
        .field("p05", &G::p05, "Exceeded by 95 of 100 trials")
        .field("p95", &G::p95, "Exceeded by 5 of 100 trials")
        .field("formula", &G::formula, "By Daly's formula")
        .field("interruptions", &G::interruptions, "Of the run, mean")
        .field("between_interruptions_h", &G::between_interruptions, "Mean time between two")
        .field("lost_to", &G::lost_to, "Shares of the time, mean")
        .field("horizon_h", &G::horizon, "Training that was simulated")
        .field("basis", &G::basis, "Where the rates come from");
    return t;
  }();
  return kTable;
}

const FieldTable<CheckpointOutlook>& CheckpointOutlook::fields() {
  using C = CheckpointOutlook;
  static const auto kTable = [] {
    FieldTable<C> t("checkpoint", "One checkpoint and how often it is made");
    t.field("kind", &C::kind, "")
        .field("target", &C::target, "")
        .field("size_GB", &C::size, "")
        .field("stall_s", &C::stall, "For which training stands")
        .field("write_s", &C::write, "Until it is safe")
        .field("read_s", &C::read, "On restart")
        .field("interval_s", &C::interval, "Between two")
        .field("interval_stated", &C::interval_stated, "By the scenario; else the best")
        .field("young_s", &C::young, "Young's interval")
        .field("daly_s", &C::daly, "Daly's interval")
        .field("step_while_writing_s", &C::step_while_writing, "A step while it drains over the NICs that train")
        .field("basis", &C::basis, "At which rate it is written");
    return t;
  }();
  return kTable;
}

const FieldTable<InputLimitOutlook>& InputLimitOutlook::fields() {
  using L = InputLimitOutlook;
  static const auto kTable = [] {
    FieldTable<L> t("limit", "What a stage sustains");
    t.field("stage", &L::stage, "").field("samples_per_s", &L::samples_per_s, "").field("words", &L::words, "");
    return t;
  }();
  return kTable;
}

const FieldTable<InputOutlook>& InputOutlook::fields() {
  using I = InputOutlook;
  static const auto kTable = [] {
    FieldTable<I> t("input pipeline", "What brings samples to the devices");
    t.field("bound", &I::bound, "The stage that training waits for, or none")
        .field("slowest", &I::slowest, "The slowest stage")
        .field("samples_per_s", &I::samples_per_s, "That the pipeline sustains")
        .field("training_samples_per_s", &I::training_samples_per_s, "That training takes")
        .field("decode_budget_ms", &I::decode_budget, "Core time of a sample that keeps up with training")
        .field("decode_stated", &I::decode_stated, "The scenario says how long decoding takes")
        .field("cached", &I::cached, "Share of reads answered from memory")
        .field("limits", &I::limits, "Of each stage")
        .field("advice", &I::advice, "What would lift the limit");
    return t;
  }();
  return kTable;
}

const FieldTable<CarbonOutlook>& CarbonOutlook::fields() {
  using C = CarbonOutlook;
  static const auto kTable = [] {
    FieldTable<C> t("carbon", "CO2 equivalent of the electricity");
    t.field("per_step_g", &C::per_step_g, "")
        .field("run_kg", &C::run_kg, "")
        .field("grid_g_per_kWh", &C::grid_g_per_kWh, "")
        .field("basis", &C::basis, "");
    return t;
  }();
  return kTable;
}

const FieldTable<PhaseOutlook>& PhaseOutlook::fields() {
  using P = PhaseOutlook;
  static const auto kTable = [] {
    FieldTable<P> t("phase", "A phase of the run");
    t.field("name", &P::name, "")
        .field("kind", &P::kind, "")
        .field("times", &P::times, "")
        .field("steps", &P::steps, "")
        .field("samples", &P::samples, "")
        .field("tokens", &P::tokens, "")
        .field("time_s", &P::time, "Without what goodput costs")
        .field("energy_kWh", &P::energy, "At the meter, network and helpers included, without what goodput costs");
    return t;
  }();
  return kTable;
}

const FieldTable<RunTotals>& RunTotals::fields() {
  using R = RunTotals;
  static const auto kTable = [] {
    FieldTable<R> t("run", "The whole run, with what goes wrong");
    t.field("time_s", &R::time, "")
        .field("time_low_s", &R::time_low, "")
        .field("time_high_s", &R::time_high, "")
        .field("device_hours", &R::device_hours, "")
        .field("energy_kWh", &R::energy, "")
        .field("cost_usd", &R::cost, "")
        .field("cost_low_usd", &R::cost_low, "")
        .field("cost_high_usd", &R::cost_high, "")
        .field("work_factor", &R::work_factor, "Samples over those stated");
    return t;
  }();
  return kTable;
}

const FieldTable<FacilityOutlook>& FacilityOutlook::fields() {
  using F = FacilityOutlook;
  static const auto kTable = [] {
    FieldTable<F> t("facility", "Racks, network and power of the site");
    t.field("fabric_W", &F::fabric, "Switches and transceivers at the meter")
        .field("pue", &F::pue, "")
        .field("model_flops_per_J", &F::flops_per_W, "Useful model FLOPs of a joule at the meter")
        .field("clock_share", &F::clock_share, "Clock of matrix products over the usual one")
        .field("nodes_per_rack", &F::nodes_per_rack, "")
        .field("racks", &F::racks, "")
        .field("rack_W", &F::rack, "At the plugs of a full rack, at peak")
        .field("spare_supplies", &F::spare_supplies,
               "Power supplies of a node that may fail before those left give less than its peak")
        .field("swing_kW_per_s", &F::swing_kW_per_s, "Fastest change of the site's power")
        .field("phase_peak_W", &F::phase_peak, "Of the phase that peaks above the step")
        .field("peak_phase", &F::peak_phase, "Which one that is")
        .field("exceeded", &F::exceeded, "Limits that are not kept");
    return t;
  }();
  return kTable;
}

const FieldTable<RunOutlook>& RunOutlook::fields() {
  using R = RunOutlook;
  static const auto kTable = [] {
    FieldTable<R> t("outlook", "What surrounds the step");
    t.field("goodput", &R::goodput, "")
        .field("checkpoint", &R::checkpoint, "")
        .field("input_pipeline", &R::input, "")
        .field("carbon", &R::carbon, "")
        .field("phases", &R::phases, "")
        .field("run", &R::run, "")
        .field("facility", &R::facility, "");
    return t;
  }();
  return kTable;
}

namespace {

/// What is not known is null for scripts and absent for the field tables.
Json without_nulls(const Json& document) {
  if (!document.is_object()) return document;
  Json out = Json::object();
  for (const auto& [key, value] : document.items())
    if (!value.is_null()) out[key] = without_nulls(value);
  return out;
}

}  // namespace

RunOutlook run_outlook_from_json(const Json& document) {
  RunOutlook out;
  Diagnostics diagnostics("prediction");
  for (const auto& entry : RunOutlook::fields().entries())
    if (document.contains(entry.key) && !document.at(entry.key).is_null())
      entry.read(out, without_nulls(document.at(entry.key)), "/" + entry.key, diagnostics);
  if (!diagnostics.faults().empty())
    throw std::runtime_error("not a prediction: " + diagnostics.faults().front().message);
  return out;
}

}  // namespace stepcast
