#include "calibration/validation/operators/left_out_families.hpp"

#include <algorithm>

#include "calibration/validation/statistics.hpp"

namespace stepcast {
namespace {

constexpr std::size_t kFewestLeftOut = 20;
/// Kernels are timed on a chart's dozen shapes.
constexpr std::size_t kFewestOfKernel = 10;

using LeftOutRows = std::vector<const MeasuredOperator*>;

std::optional<double> error_of(const LeftOutRows& rows, const OperatorMachine& machine) {
  std::vector<double> errors;
  for (const MeasuredOperator* row : rows)
    if (const OperatorPrediction found = predict_operator(*row, machine); found.time)
      errors.push_back(100 * absolute_error(found.time->value(), row->measured.value()));
  return mean(errors);
}

std::optional<double> error_of(const LeftOutRows& rows, const OperatorFamily& own,
                               const std::vector<OperatorFamily>& nearest) {
  const CompletedMachine machine(own, nearest);
  return error_of(rows, machine.machine());
}

/// The kernel in all its formats and forms.
bool is_kernel(const std::string& key, const std::string& kernel) {
  const auto plain = [](std::string name) {
    name.resize(std::min(name.find('.'), name.size()));
    return name.ends_with("-paged") ? name.substr(0, name.size() - 6) : name;
  };
  return plain(key) == plain(kernel);
}

OperatorProfile without_kernel(OperatorProfile profile, const std::string& kernel) {
  std::erase_if(profile.attention, [&](const auto& one) { return is_kernel(one.first, kernel); });
  if (kernel == "unfused") profile.unfused_attention.reset();
  return profile;
}

LeftOutOperators left_out(const std::string& set, const LeftOutRows& rows, const OperatorMachines& machines) {
  const Accelerator& part = *machines.accelerator(rows.front()->accelerator);
  const OperatorFamily own = machines.family_of(part);
  const std::vector<OperatorFamily> nearest = machines.nearest_of(own);
  OperatorFamily bare = own;
  bare.profile = nullptr;
  LeftOutOperators out{set, part.id, "", rows.size(), error_of(rows, own, nearest), {}, {}};
  if (!nearest.empty()) out.siblings = error_of(rows, bare, nearest);
  out.steps = error_of(rows, bare, {});
  return out;
}

LeftOutOperators left_out_kernel(const std::string& set, const std::string& kernel, const LeftOutRows& rows,
                                 const OperatorMachines& machines) {
  const Accelerator& part = *machines.accelerator(rows.front()->accelerator);
  const OperatorFamily own = machines.family_of(part);
  const std::vector<OperatorFamily> nearest = machines.nearest_of(own);
  const OperatorProfile others = without_kernel(*own.profile, kernel);
  OperatorFamily bare = own;
  bare.profile = &others;
  return {set, part.id, kernel, rows.size(), error_of(rows, own, nearest), error_of(rows, bare, nearest), {}};
}

}  // namespace

std::vector<LeftOutOperators> left_out_operators(const std::vector<OperatorSet>& sets, const Catalog& catalog) {
  const OperatorMachines machines(catalog);
  std::vector<LeftOutOperators> out;
  for (const OperatorSet& set : sets) {
    std::map<std::string, LeftOutRows> by_accelerator;
    std::map<std::pair<std::string, std::string>, LeftOutRows> by_kernel;
    for (const MeasuredOperator& row : set.operators) {
      if (!row.refusal.empty() || machines.accelerator(row.accelerator) == nullptr) continue;
      by_accelerator[row.accelerator].push_back(&row);
      if (const auto* work = std::get_if<AttentionWork>(&row.work))
        by_kernel[{row.accelerator, work->kernel}].push_back(&row);
    }
    for (const auto& [accelerator, rows] : by_accelerator)
      if (rows.size() >= kFewestLeftOut) out.push_back(left_out(set.name, rows, machines));
    for (const auto& [key, rows] : by_kernel)
      if (rows.size() >= kFewestOfKernel) out.push_back(left_out_kernel(set.name, key.second, rows, machines));
  }
  return out;
}

}  // namespace stepcast
