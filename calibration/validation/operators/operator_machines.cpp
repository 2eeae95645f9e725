#include "calibration/validation/operators/operator_machines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/operators/nearest_families.hpp"

namespace stepcast {
namespace {

/// In 16 bit, of a multiprocessor; 0 where the catalogue has not all of it.
double flops_per_cycle(const Accelerator& part, double clock_MHz) {
  const FlopsPerSecond peak = std::max(part.peak(Precision::fp16), part.peak(Precision::bf16));
  return part.sm_count > 0 && clock_MHz > 0 ? peak.value() / (part.sm_count * clock_MHz * 1e6) : 0;
}

/// Of the nearest family that has it: where no clock is published, a generation's multiprocessors are alike.
double known_flops_per_cycle(const std::vector<OperatorFamily>& nearest) {
  for (const OperatorFamily& family : nearest)
    if (family.flops_per_cycle > 0) return family.flops_per_cycle;
  return 0;
}

OperatorPrediction refused(std::string reason) {
  OperatorPrediction out;
  out.reason = std::move(reason);
  return out;
}

}  // namespace

CompletedMachine::CompletedMachine(const OperatorFamily& own, const std::vector<OperatorFamily>& nearest)
    : accelerator_(own.part), profile_(completed_profile(own, nearest)), compute_(own.compute) {
  for (const OperatorFamily& family : nearest)
    if (family.profile != nullptr) siblings_.push_back(family.profile);
}

OperatorMachine CompletedMachine::machine() const { return {accelerator_, &profile_, siblings_, compute_}; }

OperatorMachines::OperatorMachines(const Catalog& catalog) : catalog_(catalog) {
  for (const std::string& id : catalog.ids("accelerators")) {
    const auto* part = catalog.find<Accelerator>(id);
    const auto [known, added] = typical_.emplace(part->family, part);
    if (!added &&
        flops_per_cycle(*part, part->boost_clock_MHz) > flops_per_cycle(*known->second, known->second->boost_clock_MHz))
      known->second = part;
  }
}

OperatorFamily OperatorMachines::family(const std::string& id) const {
  OperatorFamily out;
  if (const auto found = typical_.find(id); found != typical_.end()) {
    out.part = found->second;
    out.flops_per_cycle = flops_per_cycle(*out.part, out.part->boost_clock_MHz);
  }
  out.profile = catalog_.find<OperatorProfile>(id);
  out.compute = catalog_.find<ComputeProfile>(id);
  return out;
}

OperatorFamily OperatorMachines::family_of(const Accelerator& part) const {
  OperatorFamily out = family(part.family);
  const double clock =
      part.boost_clock_MHz > 0 || out.part == nullptr ? part.boost_clock_MHz : out.part->boost_clock_MHz;
  out.part = &part;
  out.flops_per_cycle = flops_per_cycle(part, clock);
  return out;
}

std::vector<OperatorFamily> OperatorMachines::nearest_of(const OperatorFamily& own) const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (name != own.part->family && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  // A profile of somebody's own may name its sibling.
  for (const OperatorProfile* next = own.profile; next != nullptr && !next->sibling.empty();) {
    if (std::find(names.begin(), names.end(), next->sibling) != names.end()) break;
    add(next->sibling);
    next = catalog_.find<OperatorProfile>(next->sibling);
  }
  for (const std::string& name : nearest_families(own.part->family)) add(name);
  std::vector<OperatorFamily> out;
  for (const std::string& name : names) out.push_back(family(name));
  return out;
}

const Accelerator* OperatorMachines::accelerator(const std::string& spelling) const {
  // The user's own entries come first, and have names of their own.
  const auto* found = catalog_.find<Accelerator>(spelling);
  return found != nullptr ? found : catalog_.find<Accelerator>(accelerator_of(spelling));
}

OperatorPrediction OperatorMachines::predict(const MeasuredOperator& measured) {
  if (!measured.refusal.empty()) return refused(measured.refusal);
  auto known = machines_.find(measured.accelerator);
  if (known == machines_.end()) {
    const Accelerator* part = accelerator(measured.accelerator);
    if (part == nullptr) {
      const std::string hint = accelerator_hint(measured.accelerator);
      return refused(
          fmt::format("{} is not in the catalogue{}", measured.accelerator, hint.empty() ? "" : ": " + hint));
    }
    OperatorFamily own = family_of(*part);
    const std::vector<OperatorFamily> nearest = nearest_of(own);
    if (own.flops_per_cycle == 0) own.flops_per_cycle = known_flops_per_cycle(nearest);
    if (own.profile == nullptr && own.compute == nullptr && nearest.empty())
      return refused(fmt::format("neither operators nor steps of {} are known, nor a sibling's", part->family));
    known = machines_.emplace(measured.accelerator, CompletedMachine(own, nearest)).first;
  }
  return predict_operator(measured, known->second.machine());
}

OperatorPrediction predict_operator(const MeasuredOperator& measured, const Catalog& catalog) {
  return OperatorMachines(catalog).predict(measured);
}

}  // namespace stepcast
