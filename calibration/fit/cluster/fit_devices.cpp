#include "calibration/fit/cluster/fit_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "calibration/fit/cluster/fit_collectives.hpp"
#include "calibration/fit/prior_fit.hpp"
#include "models/compute/product_time.hpp"

namespace stepcast {

namespace {

double rounded(double value) { return std::stod(fmt::format("{:.5g}", value)); }

double median_us(const Json& row) { return quantile_of(row["samples_us"].get<std::vector<double>>(), 0.5); }

/// Our names of the formats that probes multiply in.
Precision precision_of(const std::string& name) {
  if (name.starts_with("fp8")) return Precision::fp8;
  return parse_enum<Precision>(name).value_or(Precision::bf16);
}

struct ProductRow {
  Precision precision;
  ProductShape shape;
  double measured_us;
};

std::vector<ProductRow> product_rows(const std::vector<ProbeResults>& files) {
  std::vector<ProductRow> out;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "gemm") continue;
      const Precision precision = precision_of(row["precision"].get<std::string>());
      ProductShape shape;
      shape.m = row["m"].get<double>();
      shape.n = row["n"].get<double>();
      shape.k = row["k"].get<double>();
      shape.batch = row.value("batch", 1.0);
      const bool narrow = precision == Precision::fp8 || precision == Precision::int8;
      const bool single = precision == Precision::fp32 || precision == Precision::tf32;
      shape.input_bytes = narrow ? 1 : single ? 4 : precision == Precision::fp64 ? 8 : 2;
      shape.output_bytes = std::max(2.0, shape.input_bytes);
      out.push_back({precision, shape, median_us(row)});
    }
  return out;
}

template <class Entry>
void put(CalibrationProfile& profile, const char* kind, Entry entry, const std::string& key) {
  entry.provenance.sources[key] = fmt::format("calibration {} of {}", profile.name, profile.created);
  entry.provenance.evidence[key] = Evidence::measured;
  profile.catalogue[kind][entry.id] = Entry::fields().write(entry);
}

void add_figure(CalibrationProfile& profile, const char* group, std::string name, double measured, double model,
                const char* unit) {
  profile.figures.push_back({std::move(name), group, rounded(measured), rounded(model), unit});
}

/// Constants of products on one cluster: rates move by a tenth or two from the family's, launches by more.
class ProductFit {
 public:
  ProductFit(const Accelerator& part, const OperatorProfile& start, std::vector<ProductRow> rows)
      : part_(part), start_(start), rows_(std::move(rows)) {
    constants_.push_back({"memory_share", start.product->memory_share, 0.2, 0.05, 1});
    constants_.push_back({"launch_us", start.product->launch.in(1_us), 0.5, 0, 100});
    for (const ProductRow& row : rows_) {
      const std::string format(name_of(row.precision));
      if (std::find(formats_.begin(), formats_.end(), format) != formats_.end()) continue;
      const auto known = start.product->burst_share.find(format);
      formats_.push_back(format);
      constants_.push_back(
          {"burst_share." + format, known == start.product->burst_share.end() ? 0.6 : known->second, 0.3, 0.01, 1});
    }
  }

  [[nodiscard]] OperatorProfile at(const std::vector<double>& values) const {
    OperatorProfile out = start_;
    out.product->memory_share = values[0];
    out.product->launch = Seconds(values[1] * 1e-6);
    for (std::size_t i = 0; i < formats_.size(); ++i) out.product->burst_share[formats_[i]] = values[2 + i];
    return out;
  }

  [[nodiscard]] double time_us(const ProductRow& row, const OperatorProfile& profile) const {
    const ProductDevice device = product_device(part_, profile, name_of(row.precision), part_.peak(row.precision));
    return burst_time(row.shape, {}, device).in(1_us);
  }

  [[nodiscard]] PriorFit solve(const std::vector<ProductRow>& rows, const std::vector<double>& start) const {
    PriorFitRows problem;
    problem.weights.assign(rows.size(), 1);
    problem.predict = [&](const std::vector<double>& values, int, double* residuals) {
      const OperatorProfile profile = at(values);
      for (std::size_t i = 0; i < rows.size(); ++i)
        residuals[i] = std::log(time_us(rows[i], profile) / rows[i].measured_us);
    };
    return fit_with_priors(constants_, problem, {start}, {.drawn = 0.1, .step = 1e-4});
  }

  [[nodiscard]] const std::vector<PriorConstant>& constants() const { return constants_; }
  [[nodiscard]] const std::vector<ProductRow>& rows() const { return rows_; }

 private:
  const Accelerator& part_;
  const OperatorProfile& start_;
  std::vector<ProductRow> rows_;
  std::vector<std::string> formats_;
  std::vector<PriorConstant> constants_;
};

/// Error on every second product, by a fit of the others.
HeldOutScore held_out_products(const ProductFit& fit) {
  std::vector<ProductRow> seen, unseen;
  for (std::size_t i = 0; i < fit.rows().size(); ++i) (i % 2 == 0 ? seen : unseen).push_back(fit.rows()[i]);
  const PriorFit found = fit.solve(seen, std::vector<double>(fit.constants().size(), 0));
  const OperatorProfile profile = fit.at(found.values);
  std::vector<double> ratios;
  for (const ProductRow& row : unseen) ratios.push_back(fit.time_us(row, profile) / row.measured_us);
  return score_of("every other matrix product", ratios);
}

void fit_products(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator& part,
                  const Catalog& catalog) {
  std::vector<ProductRow> rows = product_rows(files);
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&](const ProductRow& row) { return part.peak(row.precision).value() <= 0; }),
             rows.end());
  if (rows.empty()) return;
  const OperatorProfile* start = catalog.find<OperatorProfile>(part.family);
  if (start == nullptr || !start->product) {
    profile.notes.push_back(
        fmt::format("matrix products are recorded, but nothing is fitted: the catalogue has no operator "
                    "profile of {}",
                    part.family));
    return;
  }
  const ProductFit fit(part, *start, std::move(rows));
  const std::vector<double> origin(fit.constants().size(), 0);
  const PriorFit found = fit.solve(fit.rows(), origin);
  OperatorProfile fitted = fit.at(found.values);
  for (const ProductRow& row : fit.rows()) {
    const double flops = 2 * row.shape.m * row.shape.n * row.shape.k * row.shape.batch;
    add_figure(
        profile, "gemm",
        fmt::format("{} {:.0f} × {:.0f} × {:.0f}", name_of(row.precision), row.shape.m, row.shape.n, row.shape.k),
        flops / row.measured_us / 1e6, flops / fit.time_us(row, fitted) / 1e6, "TFLOP/s");
  }
  for (std::size_t i = 0; i < fit.constants().size(); ++i) {
    const PriorConstant& c = fit.constants()[i];
    profile.constants.push_back({"operator-profiles/" + part.family, "product." + c.name, rounded(c.prior),
                                 rounded(found.values[i]), rounded(found.values[i] * std::exp(-found.deviations[i])),
                                 rounded(found.values[i] * std::exp(found.deviations[i])), fit.rows().size()});
  }
  if (fit.rows().size() >= 6) profile.held_out.push_back(held_out_products(fit));
  put(profile, "operator-profiles", std::move(fitted), "product");
}

/// Best share of a rate that rows reach: the tenth best, so that one lucky sample does not decide.
double reached(const std::vector<double>& rates, BytesPerSecond of) {
  return of.value() > 0 && !rates.empty() ? quantile_of(rates, 0.9) / of.value() : 0;
}

void fit_rates(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator& part,
               const Catalog& catalog) {
  const ComputeProfile* start = catalog.find<ComputeProfile>(part.family);
  if (start == nullptr) return;
  std::vector<double> memory, host, gaps;
  constexpr double kPastCaches = 256 << 20;
  constexpr double kLargeCopy = 16 << 20;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] == "memory" && row["size_bytes"].get<double>() >= kPastCaches) {
        memory.push_back(row["moved_bytes"].get<double>() / median_us(row) * 1e6);
        add_figure(profile, "memory",
                   fmt::format("{} of {} bytes", row["op"].get<std::string>(), row["size_bytes"].dump()),
                   memory.back() / 1e9, part.memory_bandwidth.in(1_GBps), "GB/s");
      } else if (row["kind"] == "copy" && row["op"] != "peer" && row["size_bytes"].get<double>() >= kLargeCopy) {
        const double rate = row["size_bytes"].get<double>() / median_us(row) * 1e6;
        if (row.value("pinned", true)) host.push_back(rate);
        add_figure(profile, "copy",
                   fmt::format("{} of {} bytes", row["op"].get<std::string>(), row["size_bytes"].dump()), rate / 1e9,
                   part.pcie_bandwidth.in(1_GBps), "GB/s");
      } else if (row["kind"] == "launch") {
        if (row["op"] == "rate") gaps.push_back(median_us(row));
        add_figure(profile, "launch", row["op"].get<std::string>(), median_us(row), start->kernel_floor.in(1_us), "us");
      }
    }
  ComputeProfile fitted = *start;
  const auto moved = [&](const char* key, double prior, double value, std::size_t rows) {
    profile.constants.push_back(
        {"compute-profiles/" + part.family, key, rounded(prior), rounded(value), rounded(value), rounded(value), rows});
    fitted.provenance.sources[key] = fmt::format("calibration {} of {}", profile.name, profile.created);
    fitted.provenance.evidence[key] = Evidence::measured;
    profile.catalogue["compute-profiles"][fitted.id] = ComputeProfile::fields().write(fitted);
  };
  if (const double share = std::min(1.0, reached(memory, part.memory_bandwidth)); share > 0) {
    fitted.memory_share = rounded(share);
    moved("memory_share", start->memory_share, share, memory.size());
  }
  if (const double share = std::min(1.0, reached(host, part.pcie_bandwidth)); share > 0) {
    fitted.host_link_share = rounded(share);
    moved("host_link_share", start->host_link_share, share, host.size());
  }
  if (!gaps.empty()) {
    const double floor = quantile_of(gaps, 0.5);
    fitted.kernel_floor = Seconds(rounded(floor) * 1e-6);
    moved("kernel_floor_us", start->kernel_floor.in(1_us), floor, gaps.size());
  }
}

void fit_storage(CalibrationProfile& profile, const std::vector<ProbeResults>& files) {
  std::map<std::string, std::vector<double>> rates, iops;
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "storage") continue;
      const std::string pattern = row["pattern"].get<std::string>();
      rates[pattern].push_back(row["bandwidth_MBps"].get<double>() * 1e6);
      if (row.contains("iops")) iops[pattern].push_back(row["iops"].get<double>());
      add_figure(profile, "storage", fmt::format("{} {}", pattern, row.value("job", "")),
                 row["bandwidth_MBps"].get<double>(), 0, "MB/s");
    }
  if (rates.empty()) return;
  const auto best = [](std::map<std::string, std::vector<double>>& of, std::initializer_list<const char*> patterns) {
    double most = 0;
    for (const char* pattern : patterns)
      for (const double value : of[pattern]) most = std::max(most, value);
    return most;
  };
  StoragePart part;
  part.id = profile.name;
  part.kind = "measured";
  if (const double rate = best(rates, {"sequential_read", "checkpoint_read"}); rate > 0)
    part.read = BytesPerSecond(rate);
  if (const double rate = best(rates, {"sequential_write", "checkpoint_write"}); rate > 0)
    part.write = BytesPerSecond(rate);
  if (const double rate = best(iops, {"random_read"}); rate > 0) part.random_read = PerSecond(rate);
  if (const double rate = best(iops, {"random_write"}); rate > 0) part.random_write = PerSecond(rate);
  put(profile, "storage", std::move(part), "all");
  profile.notes.push_back(
      fmt::format("measured storage is the entry storage/{}: cluster.storage names it", profile.name));
}

void fit_power(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const Accelerator* part) {
  std::map<std::string, std::vector<double>> watts;  // of GPUs, by state
  for (const ProbeResults& file : files)
    for (const Json& row : file.rows()) {
      if (row["kind"] != "power") continue;
      const double median = quantile_of(row["samples_W"].get<std::vector<double>>(), 0.5);
      const std::string device = row["device"].get<std::string>(), state = row["state"].get<std::string>();
      const bool accelerator = device.starts_with("gpu");
      if (accelerator) watts[state].push_back(median);
      double model = 0;
      if (accelerator && part != nullptr)
        model = state == "idle" ? part->idle_power.value_or(Watts(0)).value() : part->tdp.value();
      add_figure(profile, "power", fmt::format("{} {}", device, state), median, model, "W");
    }
  if (part == nullptr || watts["idle"].empty()) return;
  Accelerator fitted = *part;
  const double idle = rounded(quantile_of(watts["idle"], 0.5));
  fitted.idle_power = Watts(idle);
  profile.constants.push_back(
      {"accelerators/" + part->id, "idle_power_W", rounded(part->idle_power.value_or(Watts(0)).value()), idle,
       rounded(quantile_of(watts["idle"], 0.16)), rounded(quantile_of(watts["idle"], 0.84)), watts["idle"].size()});
  put(profile, "accelerators", std::move(fitted), "idle_power_W");
}

}  // namespace

void fit_devices(CalibrationProfile& profile, const std::vector<ProbeResults>& files, const CollectiveMachine& machine,
                 const Catalog& catalog) {
  if (machine.accelerator != nullptr) {
    fit_products(profile, files, *machine.accelerator, catalog);
    fit_rates(profile, files, *machine.accelerator, catalog);
  }
  fit_storage(profile, files);
  fit_power(profile, files, machine.accelerator);
}

}  // namespace stepcast
