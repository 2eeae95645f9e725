// stepcast-probe-gpu: what one NVIDIA device gives: matrix products, attention, memory, copies, kernel launches;
// clocks and power.
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
  std::vector<std::string> what{"gemm", "attention", "memory", "copy", "launch"};
  bool chosen = false;  ///< `what` is the user's
  std::vector<std::string> precisions{"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "fp64"};
  std::vector<GemmShape> shapes;
  std::vector<AttentionShape> attention;
  std::string most = "1G";
  int device = 0, samples = 10;
  double sample_ms = 1;
};

/// The numbers of a word as 4096x4096x4096, as many as `form`, MxNxK, has.
std::vector<std::int64_t> sizes_of(const std::string& word, const std::string& form, std::int64_t least) {
  constexpr std::int64_t kMost = 1 << 20;
  std::vector<std::int64_t> out;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find('x', begin), word.size());
    out.push_back(parse_integer(word.substr(begin, end - begin), least, kMost));
    begin = end + 1;
  }
  if (static_cast<std::ptrdiff_t>(out.size()) != std::count(form.begin(), form.end(), 'x') + 1)
    throw bad_input("\"" + word + "\" is no shape; expected " + form);
  return out;
}

/// Shapes as 4096x4096x4096: m, n, k.
std::vector<GemmShape> shapes_of(const std::string& text) {
  std::vector<GemmShape> out;
  for (const std::string& word : parse_words(text)) {
    const std::vector<std::int64_t> sizes = sizes_of(word, "MxNxK", 16);
    out.push_back({sizes[0], sizes[1], sizes[2], ""});
  }
  return out;
}

/// Shapes as 2x32x8x4096x128: sequences, heads, key-value heads, tokens, head size.
std::vector<AttentionShape> attention_of(const std::string& text) {
  std::vector<AttentionShape> out;
  for (const std::string& word : parse_words(text)) {
    const std::vector<std::int64_t> sizes = sizes_of(word, "BATCHxHEADSxKVxTOKENSxSIZE", 1);
    if (sizes[1] % sizes[2] != 0)
      throw bad_input("\"" + word + "\": " + std::to_string(sizes[2]) + " key-value heads do not divide " +
                      std::to_string(sizes[1]) + " heads");
    if (sizes[4] % 8 != 0) throw bad_input("\"" + word + "\": the head size must divide by 8");
    out.push_back({sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], false, ""});
  }
  return out;
}

/// 16,384 tokens in sequences from 512 on, every head with keys of its own and four sharing them; and heads of 64.
std::vector<AttentionShape> usual_attention() {
  std::vector<AttentionShape> out;
  for (std::int64_t tokens = 512; tokens <= 16384; tokens *= 2)
    out.push_back({16384 / tokens, 32, 8, tokens, 128, false, ""});
  for (const std::int64_t tokens : {2048, 8192}) {
    out.push_back({16384 / tokens, 16, 16, tokens, 128, false, ""});
    out.push_back({16384 / tokens, 32, 32, tokens, 64, false, ""});
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
  arguments.add("--what", "LIST", "of gemm, attention, memory, copy, launch; all by default",
                [&](const std::string& value) {
                  options.what = parse_words(value, {"gemm", "attention", "memory", "copy", "launch"});
                  options.chosen = true;
                });
  arguments.add("--precisions", "LIST",
                "of fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, int8, fp64; those the device has by default",
                [&](const std::string& value) {
                  options.precisions =
                      parse_words(value, {"fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "fp64"});
                });
  arguments.add("--shapes", "LIST", "products, as 4096x4096x4096 (m, n, k); a grid by default",
                [&](const std::string& value) { options.shapes = shapes_of(value); });
  arguments.add(
      "--attention", "LIST",
      "attention, as 2x32x8x4096x128 (sequences, heads, key-value heads, tokens, head size); a grid by default",
      [&](const std::string& value) { options.attention = attention_of(value); });
  arguments.add("--max", "BYTES", "largest copy; 1G by default",
                [&](const std::string& value) { options.most = (parse_bytes(value), value); });
  arguments.add("--device", "N", "by CUDA's number; 0 by default",
                [&](const std::string& value) { options.device = static_cast<int>(parse_integer(value, 0, 1023)); });
  arguments.add("--samples", "N", "of each row; 10 by default",
                [&](const std::string& value) { options.samples = static_cast<int>(parse_integer(value, 1, 100000)); });
  arguments.add("--sample-ms", "MS",
                "calls are repeated for so long in each sample; 1 by default, a burst; with 300 a row shows what the "
                "device sustains at its power limit",
                [&](const std::string& value) { options.sample_ms = parse_number(value, 0.1, 60000); });
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
  const DeviceProbe probe{device, power, file, options.samples, options.sample_ms};
  const auto asked = [&](const char* what) {
    return std::find(options.what.begin(), options.what.end(), what) != options.what.end();
  };
  if (asked("launch")) probe_launch(probe);
  if (asked("copy")) probe_copies(probe, parse_bytes(options.most));
  if (asked("memory")) probe_memory(probe, parse_bytes(options.most));
  if (asked("gemm")) probe_gemms(probe, options.shapes.empty() ? usual_shapes() : options.shapes, options.precisions);
  if (asked("attention"))
    probe_attention(probe, options.attention.empty() ? usual_attention() : options.attention, options.precisions,
                    options.chosen);
  power.finish(file);
  file.write(options.common.out);
}

int main_of(int argc, char** argv) {
  Options options;
  Arguments arguments(
      kProgram,
      "what one NVIDIA device gives: matrix products, attention, memory, copies and kernel launches, with clocks and "
      "power.");
  add_options(arguments, options);
  return run_probe(kProgram, arguments, options.common, argc, argv, [&] { measure(options, argc, argv); });
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
