#include "calibration/probes/cuda/power_sampler.hpp"

#include <chrono>
#include <cmath>

#include "calibration/probes/common/program.hpp"

namespace stepcast::probes {
namespace {

double rounded(double value) { return std::round(value * 1e3) / 1e3; }

/// A list beside the samples, where every sample has the figure.
template <typename Samples, typename Figure>
void add_list(Json& row, const char* key, const Samples& samples, Figure figure) {
  Json list = Json::array();
  for (const auto& sample : samples)
    if (sample.state.*figure) list.push_back(rounded(*(sample.state.*figure)));
  if (list.size() == samples.size()) row[key] = list;
}

}  // namespace

PowerSampler::PowerSampler(const Nvml* nvml, std::vector<int> devices, double interval_ms)
    : nvml_(nvml), devices_(std::move(devices)), interval_ms_(interval_ms) {
  if (!nvml_ || devices_.empty()) return;
  enter("idle");
  thread_ = std::thread([this] {
    while (!ends_) {
      sample_all();
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(interval_ms_));
    }
  });
}

PowerSampler::~PowerSampler() { stop(); }

void PowerSampler::stop() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

void PowerSampler::enter(const std::string& state) {
  if (!nvml_) return;
  const std::lock_guard lock(mutex_);
  for (const int device : devices_) {
    Series series{device, state, {}, 0, 0, false};
    if (const auto energy = nvml_->energy_J(device)) {
      series.energy_begin_J = *energy;
      series.has_energy = true;
    }
    series_.push_back(series);
  }
}

void PowerSampler::sample_all() {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = series_.size() - devices_.size(); i < series_.size(); ++i) {
    Series& series = series_[i];
    series.samples.push_back({now_us(), nvml_->state(series.device)});
    if (series.has_energy) series.energy_J = nvml_->energy_J(series.device).value_or(0) - series.energy_begin_J;
  }
}

void PowerSampler::describe(Json& row, double since_us) const {
  if (!nvml_) return;
  const std::lock_guard lock(mutex_);
  double sm = 0, memory = 0, power = 0;
  int count = 0;
  for (std::size_t i = series_.size() - devices_.size(); i < series_.size(); ++i)
    for (const Sample& sample : series_[i].samples) {
      if (sample.at_us < since_us) continue;
      sm += sample.state.sm_MHz.value_or(0);
      memory += sample.state.memory_MHz.value_or(0);
      power += sample.state.power_W.value_or(0);
      ++count;
    }
  if (count == 0) return;  // the row was over between two samples
  row["clocks"] = {{"sm_MHz", rounded(sm / count)}, {"memory_MHz", rounded(memory / count)}};
  if (power > 0) row["mean_power_W"] = rounded(power / count * static_cast<double>(devices_.size()));
}

Json PowerSampler::row_of(const Series& series, const Nvml& nvml) {
  Json row{{"kind", "power"},
           {"device", "gpu" + std::to_string(series.device)},
           {"source", "nvml"},
           {"state", series.state}};
  Json watts = Json::array(), times = Json::array();
  for (const Sample& sample : series.samples) {
    if (!sample.state.power_W) continue;
    watts.push_back(rounded(*sample.state.power_W));
    times.push_back(rounded((sample.at_us - series.samples.front().at_us) / 1e6));
  }
  if (watts.empty()) return {};
  row["samples_W"] = watts;
  row["times_s"] = times;
  add_list(row, "utilization_pct", series.samples, &DeviceState::utilization_pct);
  add_list(row, "sm_clock_MHz", series.samples, &DeviceState::sm_MHz);
  add_list(row, "temperature_C", series.samples, &DeviceState::temperature_C);
  if (const auto limit = nvml.power_limit_W(series.device)) row["power_limit_W"] = *limit;
  if (series.has_energy) row["energy_J"] = rounded(series.energy_J);
  return row;
}

void PowerSampler::finish(ResultFile& file) {
  stop();
  if (!nvml_) return;
  for (const Series& series : series_)
    if (const Json row = row_of(series, *nvml_); !row.is_null()) file.add(row);
}

}  // namespace stepcast::probes
