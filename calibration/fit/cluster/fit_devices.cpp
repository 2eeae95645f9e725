#include "calibration/fit/cluster/fit_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "calibration/fit/cluster/far_rows.hpp"
#include "calibration/fit/cluster/fit_attention.hpp"
#include "calibration/fit/cluster/fit_products.hpp"
#include "calibration/fit/cluster/fit_sustained.hpp"
#include "calibration/fit/cluster/product_rows.hpp"
#include "calibration/fit/cluster/profile_entry.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"
#include "fields/rounded.hpp"
#include "models/compute/host_link.hpp"

namespace stepcast {

namespace {

void add_figure(CalibrationProfile& profile, const char* group, std::string name, double measured, double model,
                const char* unit) {
  profile.figures.push_back({std::move(name), group, rounded(measured, 5), rounded(model, 5), unit});
}

/// Samples of a row as bytes per second.
RowSamples rates_of(const Json& row, double bytes) {
  RowSamples out;
  for (const Json& sample : row["samples_us"])
    if (const double us = sample.get<double>(); us > 0) out.push_back(bytes / us * 1e6);
  return out;
}

/// What rows of memory, copies, launches and attention tell of an accelerator's family.
class RateFit {
 public:
  RateFit(CalibrationProfile& profile, const Accelerator& part, BytesPerSecond host_link, const ComputeProfile& start)
      : profile_(profile), part_(part), host_link_(host_link), start_(start), fitted_(start) {}

  void take(const ProbeResults& file, const Json& row) {
    const std::string kind = row["kind"].get<std::string>();
    if (kind == "launch") {
      if (row["op"] == "rate") gaps_.push_back(row["samples_us"].get<RowSamples>());
      add_figure(profile_, "launch", row["op"].get<std::string>(), median_us(row), start_.kernel_floor.in(1_us), "us");
      return;
    }
    if (kind != "memory" && kind != "copy") return;
    const double size = row["size_bytes"].get<double>();
    const bool memory = kind == "memory";
    if (size < (memory ? kPastCaches : kLargeCopy) || row["op"] == "peer") return;
    RowSamples rates = rates_of(row, memory ? row["moved_bytes"].get<double>() : size);
    const std::string words = fmt::format("{} of {} bytes", row["op"].get<std::string>(), row["size_bytes"].dump());
    add_figure(profile_, memory ? "memory" : "copy", words, quantile_of(rates, 0.5) / 1e9,
               (memory ? part_.memory_bandwidth : host_link_).in(1_GBps), "GB/s");
    if (memory)
      memory_.push_back({words, place_of(file, row), std::move(rates)});
    else if (row.value("pinned", true))
      host_.push_back(std::move(rates));
  }

  void finish(const std::vector<ProbeResults>& files, int refits) {
    fitted_.memory_share = share("memory_share", start_.memory_share, sound_memory(), part_.memory_bandwidth);
    fitted_.host_link_share = share("host_link_share", start_.host_link_share, host_, host_link_);
    if (!gaps_.empty()) {
      const FittedRate floor = fit_rate(gaps_, 0.5);
      fitted_.kernel_floor = Seconds(rounded(floor.value, 5) * 1e-6);
      moved("kernel_floor_us", start_.kernel_floor.in(1_us), floor, gaps_.size());
    }
    for (std::string& key : fit_attention_rows(profile_, files, part_, fitted_, refits))
      moved_.push_back(std::move(key));
    for (std::string& key : fit_sustained_rows(profile_, product_rows(files), part_, fitted_))
      moved_.push_back(std::move(key));
    if (!moved_.empty()) put_entry(profile_, fitted_, moved_);
  }

 private:
  static constexpr double kLargeCopy = 16 << 20;

  struct MemoryRow {
    std::string words, place;
    RowSamples rates;
  };

  /// Rates of the rows of memory that do not lie far from the others of their device, which are named.
  std::vector<RowSamples> sound_memory() {
    std::vector<GroupedValue> values;
    for (const MemoryRow& row : memory_) values.push_back({row.place, std::log(quantile_of(row.rates, 0.5))});
    const std::vector<bool> far = far_values(values);
    std::vector<RowSamples> out;
    std::vector<double> sound;
    for (std::size_t i = 0; i < far.size(); ++i) {
      if (far[i]) continue;
      out.push_back(memory_[i].rates);
      sound.push_back(quantile_of(memory_[i].rates, 0.5) / 1e9);
    }
    const double usual = quantile_of(sound, 0.5);
    for (std::size_t i = 0; i < far.size(); ++i)
      if (far[i])
        profile_.outliers.push_back({fmt::format("memory {}, {}", memory_[i].words, memory_[i].place),
                                     rounded(quantile_of(memory_[i].rates, 0.5) / 1e9, 5), rounded(usual, 5), "GB/s"});
    return out;
  }

  /// Share of a datasheet's rate that rows reach, never above all of it.
  double share(const char* key, double prior, const std::vector<RowSamples>& rows, BytesPerSecond of) {
    if (rows.empty() || of <= BytesPerSecond(0)) return prior;
    FittedRate rate = fit_rate(rows, kBestRows);
    for (double* figure : {&rate.value, &rate.low, &rate.high}) *figure = std::min(1.0, *figure / of.value());
    if (rate.value <= 0) return prior;
    moved(key, prior, rate, rows.size());
    return rounded(rate.value, 5);
  }

  void moved(const char* key, double prior, const FittedRate& rate, std::size_t rows) {
    profile_.constants.push_back({"compute-profiles/" + part_.family, key, rounded(prior, 5), rounded(rate.value, 5),
                                  rounded(rate.low, 5), rounded(rate.high, 5), rows});
    moved_.emplace_back(key);
  }

  CalibrationProfile& profile_;
  const Accelerator& part_;
  BytesPerSecond host_link_;  ///< raw
  const ComputeProfile& start_;
  ComputeProfile fitted_;
  std::vector<MemoryRow> memory_;
  std::vector<RowSamples> host_, gaps_;
  std::vector<std::string> moved_;
};

void fit_rates(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const CollectiveMachine& machine,
               const Catalog& catalog, int refits) {
  const Accelerator& part = *machine.accelerator;
  const auto* start = catalog.find<ComputeProfile>(part.family);
  if (start == nullptr) return;
  RateFit fit(profile, part, raw_host_link(*machine.node, part), *start);
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) fit.take(file, row);
  fit.finish(files, refits);
}

/// Rows of storage by pattern.
class StorageFit {
 public:
  explicit StorageFit(CalibrationProfile& profile) : profile_(profile) { part_.id = profile.name; }

  void take(const Json& row) {
    if (row["kind"] != "storage") return;
    const std::string pattern = row["pattern"].get<std::string>();
    const double rate = row["bandwidth_MBps"].get<double>();
    // The log of a job tells how it varied; what the whole job took stands for its middle.
    RowSamples samples{rate};
    if (row.contains("bandwidth_samples_MBps") && !row["bandwidth_samples_MBps"].empty()) {
      samples = row["bandwidth_samples_MBps"].get<RowSamples>();
      const double middle = quantile_of(samples, 0.5);
      for (double& sample : samples) sample *= middle > 0 ? rate / middle : 1;
    }
    rates_[pattern].push_back(std::move(samples));
    if (row.contains("iops")) iops_[pattern].push_back({row["iops"].get<double>()});
    add_figure(profile_, "storage", fmt::format("{} {}", pattern, row.value("job", "")), rate, 0, "MB/s");
  }

  void finish() {
    if (rates_.empty()) return;
    part_.kind = "measured";
    if (const double rate = best("read_GBps", rates_, {"sequential_read", "checkpoint_read"}, 1e-3); rate > 0)
      part_.read = BytesPerSecond(rate * 1e9);
    if (const double rate = best("write_GBps", rates_, {"sequential_write", "checkpoint_write"}, 1e-3); rate > 0)
      part_.write = BytesPerSecond(rate * 1e9);
    if (const double rate = best("random_read_kIOPS", iops_, {"random_read"}, 1e-3); rate > 0)
      part_.random_read = PerSecond(rate * 1e3);
    if (const double rate = best("random_write_kIOPS", iops_, {"random_write"}, 1e-3); rate > 0)
      part_.random_write = PerSecond(rate * 1e3);
    put_entry(profile_, std::move(part_), {"all"});
    profile_.notes.push_back(
        fmt::format("measured storage is the entry storage/{}: cluster.storage names it", profile_.name));
  }

 private:
  using ByPattern = std::map<std::string, std::vector<RowSamples>>;

  /// The best of some patterns' rows, in the key's unit; 0 where there is none.
  double best(const char* key, const ByPattern& of, std::initializer_list<const char*> patterns, double unit) {
    std::vector<RowSamples> rows;
    for (const char* pattern : patterns)
      if (const auto found = of.find(pattern); found != of.end())
        rows.insert(rows.end(), found->second.begin(), found->second.end());
    const FittedRate rate = fit_rate(rows, 1);
    if (rate.value <= 0) return 0;
    profile_.constants.push_back({"storage/" + profile_.name, key, 0, rounded(rate.value * unit, 5),
                                  rounded(rate.low * unit, 5), rounded(rate.high * unit, 5), rows.size()});
    return rounded(rate.value * unit, 5);
  }

  CalibrationProfile& profile_;
  StoragePart part_;
  ByPattern rates_, iops_;
};

void fit_storage(CalibrationProfile& profile, const std::vector<ProbeResults>& files) {
  StorageFit fit(profile);
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) fit.take(row);
  fit.finish();
}

// Of a device's limit, while nothing runs. The catalogue's accelerators draw 0.05 to 0.47.
constexpr double kMostIdle = 0.5;

void fit_power(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator* part) {
  std::map<std::string, std::vector<RowSamples>> watts;  // of GPUs, by state
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "power") continue;
      const double median = quantile_of(row["samples_W"].get<std::vector<double>>(), 0.5);
      const std::string device = row["device"].get<std::string>(), state = row["state"].get<std::string>();
      const bool accelerator = device.starts_with("gpu");
      if (accelerator) watts[state].push_back(row["samples_W"].get<RowSamples>());
      double model = 0;
      if (accelerator && part != nullptr)
        model = state == "idle" ? part->idle_power.value_or(Watts(0)).value() : part->tdp.value();
      add_figure(profile, "power", fmt::format("{} {}", device, state), median, model, "W");
    }
  if (part == nullptr || watts["idle"].empty()) return;
  Accelerator fitted = *part;
  const std::vector<RowSamples>& rows = watts["idle"];
  const FittedRate fit = fit_rate(rows, 0.5);
  if (fit.value > kMostIdle * part->tdp.value()) {
    profile.findings.push_back(fmt::format(
        "{:.4g} W when idle, of {:g} W at most: something ran, so it counts for nothing (--state says what)", fit.value,
        part->tdp.value()));
    return;
  }
  const double idle = rounded(fit.value, 5);
  fitted.idle_power = Watts(idle);
  profile.constants.push_back({"accelerators/" + part->id, "idle_W",
                               rounded(part->idle_power.value_or(Watts(0)).value(), 5), idle, rounded(fit.low, 5),
                               rounded(fit.high, 5), rows.size()});
  put_entry(profile, std::move(fitted), {"idle_W"});
}

}  // namespace

void fit_devices(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const CollectiveMachine& machine,
                 const Catalog& catalog, int refits) {
  if (machine.accelerator != nullptr) {
    fit_products(profile, files, *machine.accelerator, catalog, refits);
    fit_rates(profile, files, machine, catalog, refits);
  }
  fit_storage(profile, files);
  fit_power(profile, files, machine.accelerator);
}

}  // namespace stepcast
