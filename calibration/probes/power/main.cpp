// stepcast-probe-power: what parts of this host draw, from the counters that can be read.
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/cuda/nvml.hpp"
#include "calibration/probes/cuda/power_sampler.hpp"
#include "calibration/probes/power/rapl.hpp"

namespace stepcast::probes {
namespace {

constexpr const char* kProgram = "stepcast-probe-power";

struct Options {
  CommonOptions common;
  double seconds = 10, interval_ms = 100;
  std::vector<std::string> states{"idle"};
  std::filesystem::path powercap = "/sys/class/powercap";
};

/// Keeps every core busy for as long as it lives.
class BusyCores {
 public:
  BusyCores() {
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); ++i)
      threads_.emplace_back([this] {
        volatile double value = 1.0000001;
        while (!ends_) value = value * 1.0000001 + 1e-9;
      });
  }
  ~BusyCores() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyCores(const BusyCores&) = delete;
  BusyCores& operator=(const BusyCores&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

struct Watts {
  std::vector<double> samples, times_s;
  double energy_J = 0;
};

/// Power of each domain in each interval: energy ÷ the time that really passed.
std::vector<Watts> sample_rapl(std::vector<RaplDomain>& domains, const Options& options) {
  std::vector<Watts> out(domains.size());
  for (RaplDomain& domain : domains) domain.energy_J();
  const double begin = now_us();
  for (double last = begin; last < begin + options.seconds * 1e6;) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.interval_ms));
    const double now = now_us();
    for (std::size_t i = 0; i < domains.size(); ++i)
      if (const auto energy = domains[i].energy_J()) {
        out[i].samples.push_back(std::round(*energy / (now - last) * 1e9) / 1e3);
        out[i].times_s.push_back(std::round((now - begin) / 1e3) / 1e3);
        out[i].energy_J += *energy;
      }
    last = now;
  }
  return out;
}

void add_rapl(std::vector<RaplDomain>& domains, const std::string& state, const Options& options, ResultFile& file) {
  const std::vector<Watts> measured = sample_rapl(domains, options);
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (measured[i].samples.empty()) continue;
    file.add({{"kind", "power"},
              {"device", domains[i].name()},
              {"source", "rapl"},
              {"state", state},
              {"sample_interval_ms", options.interval_ms},
              {"samples_W", measured[i].samples},
              {"times_s", measured[i].times_s},
              {"energy_J", std::round(measured[i].energy_J * 1e3) / 1e3}});
  }
}

void measure(const Options& options, ResultFile& file) {
  std::vector<std::string> unreadable;
  std::vector<RaplDomain> domains = rapl_domains(options.powercap, unreadable);
  std::unique_ptr<Nvml> nvml;
  std::vector<int> devices;
  try {
    nvml = std::make_unique<Nvml>();
    for (int device = 0; device < nvml->devices(); ++device) {
      devices.push_back(device);
      if (!nvml->state(device).power_W) unreadable.push_back("NVML: gpu" + std::to_string(device) + " tells no power");
    }
    file.versions()["nvml"] = nvml->version();
    file.versions()["driver"] = nvml->driver_version();
  } catch (const Fault& fault) {
    unreadable.emplace_back(fault.what());
  }
  if (domains.empty() && devices.empty()) {
    std::string all = "no power can be read on this host";
    for (const std::string& reason : unreadable) all += "; " + reason;
    throw missing(all);
  }
  for (const std::string& reason : unreadable) file.warn("not readable: " + reason);
  if (nvml) file.environment()["accelerator"] = nvml->name(0);
  PowerSampler sampler(nvml.get(), devices, options.interval_ms);
  for (const std::string& state : options.states) {
    std::unique_ptr<BusyCores> busy;
    if (state == "busy") busy = std::make_unique<BusyCores>();
    if (!devices.empty()) sampler.enter(state);
    add_rapl(domains, state, options, file);
  }
  sampler.finish(file);
}

int main_of(int argc, char** argv) {
  Options options;
  Arguments arguments(kProgram, "what this host's processors (RAPL) and NVIDIA devices (NVML) draw.");
  arguments.add("--states", "LIST", "idle, the default: whatever runs; busy: every core is kept busy meanwhile",
                [&](const std::string& value) {
                  options.states = parse_words(value);
                  for (const std::string& state : options.states)
                    if (state != "idle" && state != "busy")
                      throw bad_input("no \"" + state + "\"; expected idle, busy");
                });
  arguments.add("--seconds", "S", "of each state; 10 by default",
                [&](const std::string& value) { options.seconds = parse_number(value, 0.01, 1e6); });
  arguments.add("--interval-ms", "MS", "between samples; 100 by default",
                [&](const std::string& value) { options.interval_ms = parse_number(value, 1, 1e5); });
  arguments.add("--powercap", "DIR", "instead of /sys/class/powercap",
                [&](const std::string& value) { options.powercap = value; });
  return run_probe(kProgram, arguments, options.common, argc, argv, [&] {
    ResultFile file("power", argc, argv);
    note_common(file, options.common);
    measure(options, file);
    file.write(options.common.out);
  });
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
