#include "calibration/fit/cluster/fit_attention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/product_rows.hpp"
#include "calibration/fit/cluster/timed_fit.hpp"
#include "fields/rounded.hpp"
#include "models/compute/device.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

namespace {

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

bool is_attention(const Json& row) {
  return row["kind"] == "attention" && (row["precision"] == "fp16" || row["precision"] == "bf16");
}

TimedRow row_of(const ProbeResults& file, const Json& in, const Operator& work) {
  TimedRow out;
  out.format = in["precision"].get<std::string>();
  out.words = fmt::format("{} {}{} {:.0f} heads × {:.0f} tokens × {:.0f}", out.format, in["pass"].get<std::string>(),
                          work.causal ? ", causal," : "", work.batch, work.m, work.k);
  out.place = place_of(file, in);
  out.samples_us = in["samples_us"].get<RowSamples>();
  out.measured_us = median_us(in);
  return out;
}

class AttentionModel {
 public:
  AttentionModel(const Accelerator& part, const ComputeProfile& start, double share, const std::vector<Operator>& works)
      : works_(works) {
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
    if (any([](const Operator& work) { return work.backward; }))
      add("attention_backward_ratio", &Device::attention_backward_ratio, 0.2, 0.1, 2);
    if (any([](const Operator& work) { return work.k < 128; }))
      add("attention_head64_factor", &Device::attention_head64_factor, 0.2, 0.2, 1.5);
  }

  [[nodiscard]] Device at(const std::vector<double>& values) const {
    Device out = device_;
    for (std::size_t i = 0; i < members_.size(); ++i) out.*members_[i] = values[i];
    return out;
  }

  [[nodiscard]] TimedModel timed() const {
    return {constants_, [this](const std::vector<double>& values, int, std::vector<double>& times_us) {
              const Device device = at(values);
              for (std::size_t i = 0; i < works_.size(); ++i) times_us[i] = operator_time(works_[i], device).in(1_us);
            }};
  }

 private:
  template <class Holds>
  [[nodiscard]] bool any(Holds holds) const {
    return std::any_of(works_.begin(), works_.end(), holds);
  }
  void add(const char* name, double Device::*member, double spread, double least, double most) {
    constants_.push_back({name, device_.*member, spread, least, most});
    members_.push_back(member);
  }

  const std::vector<Operator>& works_;
  Device device_;
  std::vector<PriorConstant> constants_;
  std::vector<double Device::*> members_;
};

/// By pairs: rows of one size follow one another, forward and backward.
std::vector<bool> every_other_pair(std::size_t rows) {
  std::vector<bool> out(rows);
  for (std::size_t i = 0; i < rows; ++i) out[i] = i / 2 % 2 == 0;
  return out;
}

}  // namespace

std::vector<std::string> fit_attention_rows(CalibrationProfile& calibration, const std::vector<ProbeResults>& files,
                                            const Accelerator& part, ComputeProfile& profile, int refits) {
  const std::string kernel(name_of(AttentionKernel::native));
  std::vector<Operator> works;
  std::vector<TimedRow> rows;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (!is_attention(row)) continue;
      works.push_back(operator_of(row));
      rows.push_back(row_of(file, row, works.back()));
    }
  const auto share = profile.attention_forward_share.find(kernel);
  if (rows.empty() || part.peak(Precision::fp16).value() <= 0 || share == profile.attention_forward_share.end())
    return {};
  const AttentionModel attention(part, profile, share->second, works);
  const TimedModel model = attention.timed();
  const TimedFit fit = fit_times(model, rows, refits);
  for (std::size_t i = 0; i < rows.size(); ++i)
    calibration.figures.push_back({rows[i].words, "attention",
                                   rounded(works[i].flops.value() / rows[i].measured_us / 1e6, 5),
                                   rounded(works[i].flops.value() / fit.times_us[i] / 1e6, 5), "TFLOP/s"});
  add_outliers(calibration, "attention", rows, fit);
  std::vector<std::string> moved = add_timed_constants(calibration, "compute-profiles/" + part.family, "", model, fit);
  for (std::string& key : moved) key = key.substr(0, key.find('.'));
  if (rows.size() >= 6)
    calibration.held_out.push_back(held_out_times(model, rows, every_other_pair(rows.size()), "every other attention"));
  const Device device = attention.at(fit.values);
  profile.attention_forward_share[kernel] = device.attention_forward_share;
  profile.attention_backward_ratio = device.attention_backward_ratio;
  profile.attention_half_sequence = device.attention_half_sequence;
  profile.attention_head64_factor = device.attention_head64_factor;
  return moved;
}

}  // namespace stepcast
