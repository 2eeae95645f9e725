#include <algorithm>
#include <memory>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/cuda/attention.hpp"
#include "calibration/probes/gpu/device_probes.hpp"
#include "calibration/probes/gpu/timed_rows.hpp"

namespace stepcast::probes {
namespace {

constexpr int kLeastCapability = 80;  // cuDNN has fused attention from Ampere on

std::string words_of(const AttentionShape& s, const std::string& pass) {
  std::string out = "attention ";
  for (const std::int64_t size : {s.batch, s.heads, s.key_heads, s.tokens}) out += std::to_string(size) + "x";
  out += std::to_string(s.head_size);
  out += s.causal ? ", causal, " : ", ";
  out += pass;
  out += " in ";
  out += s.precision;
  return out;
}

void probe_pass(const DeviceProbe& probe, const Cudnn& library, const AttentionData& data, bool backward) {
  const Attention attention(library, probe.device, data, backward);
  attention.run();
  probe.device.wait();
  if (backward)
    data.require_right_gradients();
  else
    data.require_right_result();
  const double since = now_us();
  const Samples samples = timed(
      probe, [&] { attention.run(); }, Issue::captured);
  const AttentionShape& shape = data.shape();
  add_row(probe,
          {{"kind", "attention"},
           {"batch", shape.batch},
           {"heads", shape.heads},
           {"kv_heads", shape.key_heads},
           {"seq_len", shape.tokens},
           {"head_dim", shape.head_size},
           {"causal", shape.causal},
           {"pass", backward ? "backward" : "forward"},
           {"precision", shape.precision},
           {"device", name_of(probe.device)},
           {"checked", true}},
          samples, since);
}

void probe_shape(const DeviceProbe& probe, const Cudnn& library, const AttentionShape& shape) {
  if (static_cast<double>(AttentionData::bytes_of(shape)) > 0.8 * static_cast<double>(probe.device.free_bytes())) {
    probe.file.warn(words_of(shape, "both passes") + " is left out: it does not fit the device's free memory");
    return;
  }
  const AttentionData data(probe.device, shape);
  for (const bool backward : {false, true}) try {
      probe_pass(probe, library, data, backward);
    } catch (const Fault& fault) {
      if (fault.code() != Exit::environment_missing) throw;
      probe.file.warn(words_of(shape, backward ? "backward" : "forward") + " is left out: " + fault.what());
      if (!backward) return;  // whose result the backward pass takes
    }
}

}  // namespace

void probe_attention(const DeviceProbe& probe, const std::vector<AttentionShape>& shapes,
                     const std::vector<std::string>& precisions, bool required) {
  std::unique_ptr<Cudnn> library;
  try {
    library = std::make_unique<Cudnn>();
  } catch (const Fault& fault) {
    if (required) throw;
    probe.file.warn(std::string("attention is left out: ") + fault.what());
    return;
  }
  probe.file.versions()["cudnn"] = library->version();
  if (probe.device.capability() < kLeastCapability) {
    probe.file.warn("attention is left out: this device has no fused kernel in cuDNN");
    return;
  }
  probe.device.use();
  library->start(probe.device.stream());
  probe.power.enter("attention");
  for (const std::string& precision : {std::string("fp16"), std::string("bf16")}) {
    if (std::find(precisions.begin(), precisions.end(), precision) == precisions.end()) continue;
    for (AttentionShape shape : shapes)
      for (const bool causal : {false, true}) {
        shape.causal = causal;
        shape.precision = precision;
        probe_shape(probe, *library, shape);
      }
  }
}

}  // namespace stepcast::probes
