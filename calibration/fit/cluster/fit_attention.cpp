#include "calibration/fit/cluster/fit_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/fit_collectives.hpp"
#include "calibration/fit/prior_fit.hpp"
#include "fields/rounded.hpp"
#include "models/compute/device.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

namespace {

struct Row {
  Operator work;
  std::string words;
  double measured_us = 0;
};

Operator operator_of(const Json& in) {
  Operator out;
  out.name = "attention";
  out.kind = OperatorKind::attention;
  out.m = out.n = in["seq_len"].get<double>();
  out.k = in["head_dim"].get<double>();
  out.causal = in["causal"].get<bool>();
  out.backward = in["pass"] == "backward";
  const double heads = in["heads"].get<double>(), key_heads = in["kv_heads"].get<double>();
  const double sequences = in["batch"].get<double>();
  out.batch = sequences * heads;
  // Two products forward, five backward, of the seen half under a causal mask.
  out.flops = Flops((out.backward ? 10 : 4) * out.batch * out.m * out.n * out.k * (out.causal ? 0.5 : 1));
  // Queries, keys, values in and the result out; backward those, its gradient, and three gradients out.
  const double elements = out.backward ? 4 * heads + 4 * key_heads : 2 * heads + 2 * key_heads;
  out.bytes = Bytes(2 * sequences * out.m * out.k * elements);
  return out;
}

std::vector<Row> rows_of(const std::vector<ProbeResults>& files) {
  std::vector<Row> out;
  for (const ProbeResults& file : files)
    for (const Json& in : file.rows()) {
      if (in["kind"] != "attention" || (in["precision"] != "fp16" && in["precision"] != "bf16")) continue;
      Row row;
      row.work = operator_of(in);
      row.measured_us = median_us(in);
      row.words = fmt::format("{} {}{} {:.0f} heads × {:.0f} tokens × {:.0f}", in["precision"].get<std::string>(),
                              in["pass"].get<std::string>(), row.work.causal ? ", causal," : "", row.work.batch,
                              row.work.m, row.work.k);
      out.push_back(std::move(row));
    }
  return out;
}

struct Constant {
  PriorConstant prior;
  double Device::*member;
};

class AttentionFit {
 public:
  AttentionFit(const Accelerator& part, const ComputeProfile& start, double share, const std::vector<Row>& rows) {
    device_.peak_wide = part.peak(Precision::fp16);
    device_.kernel_floor = start.kernel_floor;
    device_.memory_bandwidth = part.memory_bandwidth * start.memory_share;
    device_.attention_forward_share = share;
    device_.attention_backward_ratio = start.attention_backward_ratio;
    device_.attention_half_sequence = start.attention_half_sequence;
    device_.attention_head64_factor = start.attention_head64_factor;
    // Spreads: between the families of the catalogue.
    add("attention_forward_share.native", &Device::attention_forward_share, 0.3, 0.01, 1);
    add("attention_half_sequence", &Device::attention_half_sequence, 0.7, 1, 20000);
    if (any(rows, [](const Row& row) { return row.work.backward; }))
      add("attention_backward_ratio", &Device::attention_backward_ratio, 0.2, 0.1, 2);
    if (any(rows, [](const Row& row) { return row.work.k < 128; }))
      add("attention_head64_factor", &Device::attention_head64_factor, 0.2, 0.2, 1.5);
  }

  [[nodiscard]] Device at(const std::vector<double>& values) const {
    Device out = device_;
    for (std::size_t i = 0; i < constants_.size(); ++i) out.*constants_[i].member = values[i];
    return out;
  }

  [[nodiscard]] PriorFit solve(const std::vector<Row>& rows) const {
    PriorFitRows problem;
    problem.weights.assign(rows.size(), 1);
    problem.predict = [&](const std::vector<double>& values, int, double* residuals) {
      const Device device = at(values);
      for (std::size_t i = 0; i < rows.size(); ++i)
        residuals[i] = std::log(operator_time(rows[i].work, device).in(1_us) / rows[i].measured_us);
    };
    std::vector<PriorConstant> priors;
    for (const Constant& constant : constants_) priors.push_back(constant.prior);
    return fit_with_priors(priors, problem, {std::vector<double>(priors.size(), 0)}, {.drawn = 0.1, .step = 1e-4});
  }
  [[nodiscard]] const std::vector<Constant>& constants() const { return constants_; }

 private:
  template <class Holds>
  static bool any(const std::vector<Row>& rows, Holds holds) {
    return std::any_of(rows.begin(), rows.end(), holds);
  }
  void add(const char* name, double Device::*member, double spread, double least, double most) {
    constants_.push_back({{name, device_.*member, spread, least, most}, member});
  }

  Device device_;
  std::vector<Constant> constants_;
};

HeldOutScore held_out(const AttentionFit& fit, const std::vector<Row>& rows) {
  // By pairs: rows of one size follow one another, forward and backward.
  std::vector<Row> seen, unseen;
  for (std::size_t i = 0; i < rows.size(); ++i) (i / 2 % 2 == 0 ? seen : unseen).push_back(rows[i]);
  const Device device = fit.at(fit.solve(seen).values);
  std::vector<double> ratios;
  ratios.reserve(unseen.size());
  for (const Row& row : unseen) ratios.push_back(operator_time(row.work, device).in(1_us) / row.measured_us);
  return score_of("every other attention", ratios);
}

}  // namespace

std::vector<std::string> fit_attention_rows(CalibrationProfile& calibration, const std::vector<ProbeResults>& files,
                                            const Accelerator& part, ComputeProfile& profile) {
  const std::string kernel(name_of(AttentionKernel::native));
  const std::vector<Row> rows = rows_of(files);
  const auto share = profile.attention_forward_share.find(kernel);
  if (rows.empty() || part.peak(Precision::fp16).value() <= 0 || share == profile.attention_forward_share.end())
    return {};
  const AttentionFit fit(part, profile, share->second, rows);
  const PriorFit found = fit.solve(rows);
  const Device device = fit.at(found.values);
  for (const Row& row : rows)
    calibration.figures.push_back({row.words, "attention", rounded(row.work.flops.value() / row.measured_us / 1e6, 5),
                                   rounded((row.work.flops / operator_time(row.work, device)).value() / 1e12, 5),
                                   "TFLOP/s"});
  std::vector<std::string> moved;
  for (std::size_t i = 0; i < fit.constants().size(); ++i) {
    const PriorConstant& c = fit.constants()[i].prior;
    const double value = found.values[i], factor = std::exp(found.deviations[i]);
    calibration.constants.push_back({"compute-profiles/" + part.family, c.name, rounded(c.prior, 5), rounded(value, 5),
                                     rounded(value / factor, 5), rounded(value * factor, 5), rows.size()});
    moved.push_back(c.name.substr(0, c.name.find('.')));
  }
  if (rows.size() >= 6) calibration.held_out.push_back(held_out(fit, rows));
  profile.attention_forward_share[kernel] = rounded(device.attention_forward_share, 5);
  profile.attention_backward_ratio = rounded(device.attention_backward_ratio, 5);
  profile.attention_half_sequence = rounded(device.attention_half_sequence, 5);
  profile.attention_head64_factor = rounded(device.attention_head64_factor, 5);
  return moved;
}

}  // namespace stepcast
