// stepcast-probe-gpu: what one NVIDIA device gives: matrix products, memory, copies, kernel launches; clocks and power.
#include <algorithm>
#include <cmath>
#include <memory>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/host_facts.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/cuda/cublas_lt.hpp"
#include "calibration/probes/gpu/device_probes.hpp"

namespace stepcast::probes {
namespace {

constexpr const char* kProgram = "stepcast-probe-gpu";

struct Options {
  CommonOptions common;
  std::vector<std::string> what{"gemm", "memory", "copy", "launch"};
  std::vector<std::string> precisions{"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "fp64"};
  std::vector<GemmShape> shapes;
  std::string most = "1G";
  int device = 0, samples = 10;
};

std::vector<std::string> words_of(const std::string& text, const std::vector<std::string>& known) {
  std::vector<std::string> out = parse_words(text);
  for (const std::string& word : out)
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      std::string all;
      for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
      throw bad_input("no \"" + word + "\"; expected of " + all);
    }
  return out;
}

/// Shapes as 4096x4096x4096: m, n, k.
std::vector<GemmShape> shapes_of(const std::string& text) {
  std::vector<GemmShape> out;
  for (const std::string& word : parse_words(text)) {
    const std::size_t first = word.find('x'), second = word.find('x', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      throw bad_input("\"" + word + "\" is no shape; expected MxNxK");
    constexpr std::int64_t kMost = 1 << 20;
    out.push_back({parse_integer(word.substr(0, first), 16, kMost),
                   parse_integer(word.substr(first + 1, second - first - 1), 16, kMost),
                   parse_integer(word.substr(second + 1), 16, kMost), ""});
  }
  return out;
}

/// Squares from 256 to 16,384; and products of transformer layers as they are split: few rows (tokens of a small
/// batch), narrow (a part of the heads), and with a short inner size. All divide by 16, as fp8 needs.
std::vector<GemmShape> usual_shapes() {
  std::vector<GemmShape> out;
  for (std::int64_t size = 256; size <= 16384; size *= 2) out.push_back({size, size, size, ""});
  for (const std::int64_t tokens : {128, 1024, 4096, 16384})
    for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{4096, 4096},
                               {6144, 4096},
                               {28672, 4096},
                               {4096, 14336},
                               {1536, 12288},
                               {12288, 1536},
                               {512, 4096},
                               {4096, 512}})
      out.push_back({tokens, n, k, ""});
  return out;
}

void add_options(Arguments& arguments, Options& options) {
  arguments.add("--what", "LIST", "of gemm, memory, copy, launch; all by default", [&](const std::string& value) {
    options.what = words_of(value, {"gemm", "memory", "copy", "launch"});
  });
  arguments.add(
      "--precisions", "LIST",
      "of fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, fp64; those the device has by default",
      [&](const std::string& value) {
        options.precisions = words_of(value, {"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "fp64"});
      });
  arguments.add("--shapes", "LIST", "products, as 4096x4096x4096 (m, n, k); a grid by default",
                [&](const std::string& value) { options.shapes = shapes_of(value); });
  arguments.add("--max", "BYTES", "largest copy; 1G by default",
                [&](const std::string& value) { options.most = (parse_bytes(value), value); });
  arguments.add("--device", "N", "by CUDA's number; 0 by default",
                [&](const std::string& value) { options.device = static_cast<int>(parse_integer(value, 0, 1023)); });
  arguments.add("--samples", "N", "of each row; 10 by default",
                [&](const std::string& value) { options.samples = static_cast<int>(parse_integer(value, 1, 100000)); });
}

void measure(const Options& options, int argc, char** argv) {
  const CudaDriver driver;
  if (options.device >= driver.devices())
    throw bad_input("--device: " + std::to_string(options.device) + " asked for; expected 0 to " +
                    std::to_string(driver.devices() - 1));
  const CudaDevice device(driver, options.device);
  ResultFile file("gpu", argc, argv);
  note_common(file, options.common);
  file.versions()["cuda_driver"] = driver.version();
  file.environment()["accelerator"] = device.name();
  file.environment()["accelerators"] = driver.devices();
  file.environment()["accelerator_memory_bytes"] = device.memory_bytes();
  if (!environment_variable("STEPCAST_STAND_IN").empty()) file.environment()["stand_in"] = true;
  std::unique_ptr<Nvml> nvml;
  std::vector<int> sampled;
  try {
    nvml = std::make_unique<Nvml>();
    file.versions()["driver"] = nvml->driver_version();
    file.versions()["nvml"] = nvml->version();
    if (const int number = nvml->at_pci_address(device.pci_address()); number >= 0) sampled.push_back(number);
    if (!sampled.empty())
      if (const auto limit = nvml->power_limit_W(sampled[0])) file.environment()["power_limit_W"] = *limit;
  } catch (const Fault& fault) {
    file.warn(std::string("no clocks and no power: ") + fault.what());
  }
  PowerSampler power(sampled.empty() ? nullptr : nvml.get(), sampled, 20);
  const DeviceProbe probe{device, power, file, options.samples};
  const auto asked = [&](const char* what) {
    return std::find(options.what.begin(), options.what.end(), what) != options.what.end();
  };
  if (asked("launch")) probe_launch(probe);
  if (asked("copy")) probe_copies(probe, parse_bytes(options.most));
  if (asked("memory")) probe_memory(probe, parse_bytes(options.most));
  if (asked("gemm")) probe_gemms(probe, options.shapes.empty() ? usual_shapes() : options.shapes, options.precisions);
  power.finish(file);
  file.write(options.common.out);
}

int main_of(int argc, char** argv) {
  Options options;
  Arguments arguments(
      kProgram,
      "what one NVIDIA device gives: matrix products, memory, copies and kernel launches, with clocks and power.");
  add_options(arguments, options);
  add_common(arguments, options.common);
  if (answered(arguments, kProgram, argc, argv)) return 0;
  return guarded(kProgram, [&] {
    arguments.parse(argc, argv);
    require_writable(options.common.out);
    measure(options, argc, argv);
  });
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
