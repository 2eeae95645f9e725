#include <algorithm>
#include <array>

#include "calibration/validation/dl_run.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct ProfileOf {
  std::string_view begins, profile;
};

// By the first words of the row's framework, the longest first. Releases of one generation share a profile.
constexpr std::array kProfiles{
    ProfileOf{"deepspeed", "deepspeed"},
    ProfileOf{"hugectr", ""},
    ProfileOf{"kungfu", "kungfu"},
    ProfileOf{"megatron-lm", "megatron-lm-2021"},  // DLPerf measured it in 2021
    ProfileOf{"mxnet0", "mxnet-kvstore"},
    ProfileOf{"mxnet1.2", "mxnet-kvstore"},
    ProfileOf{"mxnet", "mxnet-horovod"},
    ProfileOf{"oneflow", "oneflow"},
    ProfileOf{"paddlepaddle", "paddlepaddle-fleet"},
    ProfileOf{"caffe2", "pytorch-ddp-1x"},
    ProfileOf{"pytorch2", "pytorch-ddp"},
    ProfileOf{"pytorch 2", "pytorch-ddp"},
    ProfileOf{"pytorch", "pytorch-ddp-1x"},
    ProfileOf{"sagemaker", "pytorch-ddp-1x"},
    ProfileOf{"tensorflow1.1 ", "tensorflow-2017"},
    ProfileOf{"tensorflow2.3 (multiworkermirrored)", "tensorflow-mirrored"},
    ProfileOf{"tensorflow", "tensorflow-horovod"},
    ProfileOf{"jax", "jax"},
    ProfileOf{"flax", "jax"},
};

/// The entry of a framework's first words; else, where something else stands before them ("NGC PyTorch"), the only one
/// whose words it holds. Null where there is none, or the name does not choose.
const ProfileOf* entry_of(std::string_view name) {
  for (const ProfileOf& entry : kProfiles)
    if (name.starts_with(entry.begins)) return &entry;
  const ProfileOf* found = nullptr;
  for (const ProfileOf& entry : kProfiles) {
    if (!contains(name, entry.begins)) continue;
    // Entries of one framework's releases say more the longer they are.
    const bool same = found != nullptr && found->begins.starts_with(entry.begins);
    if (found != nullptr && !same) return nullptr;
    if (found == nullptr) found = &entry;
  }
  return found;
}

/// NVIDIA's convolutional examples lie channels last in 16 bit from their revisions of 2020 on; rows of older revisions
/// name them by "@".
bool is_channels_last_example(std::string_view source) {
  return contains(source, "NVIDIA/DeepLearningExamples") && contains(source, "Classification") &&
         !contains(source, "@");
}

/// Where a row does not say whether XLA compiled: NVIDIA's TensorFlow 2 examples pass it by default, and of those on
/// TensorFlow 1 the scripts of BERT and the U-Nets; V-Net's main.py turns it on.
bool compiled(const StatedFramework& stated) {
  if (contains(stated.notes, "xla=off")) return false;
  if (contains(stated.notes, "xla=on")) return true;
  constexpr std::array kCompiled{std::string_view("TensorFlow2/"), std::string_view("LanguageModeling/BERT"),
                                 std::string_view("UNet_Medical"), std::string_view("UNet_Industrial"),
                                 std::string_view("Segmentation/VNet")};
  return contains(stated.source, "NVIDIA/DeepLearningExamples") &&
         std::any_of(kCompiled.begin(), kCompiled.end(),
                     [&](std::string_view one) { return contains(stated.source, one); });
}

}  // namespace

std::string_view framework_of(const StatedFramework& stated) {
  const std::string lower = lower_case(stated.framework);
  const ProfileOf* entry = entry_of(lower == "tensorflow1.1" ? "tensorflow1.1 " : lower);
  if (contains(lower, "neuron")) return "neuronx";  // torch-neuronx too, which is no PyTorch of another maker's
  if (entry == nullptr) return "";
  // What is submitted to MLPerf is written for it: fused attention and losses, kernels recorded as graphs.
  if (entry->profile == "pytorch-ddp-1x" && contains(stated.source, "MLPerf Training")) return "pytorch-mlperf";
  // MXNet's has recorded whole iterations since v1.0.
  if (entry->profile == "mxnet-horovod" && contains(stated.source, "MLPerf Training v1")) return "mxnet-mlperf";
  if (entry->profile == "tensorflow-horovod" && contains(stated.mode, "mpi tcp")) return "tensorflow-horovod-mpi";
  if (entry->profile == "tensorflow-horovod" && compiled(stated)) return "tensorflow-horovod-xla";
  return entry->profile;
}

std::string_view memory_format_of(const StatedOrder& stated) {
  // "NHWC", or as PyTorch and Keras spell it, with any sign between the words.
  const std::string notes = squashed(stated.notes);
  if (contains(notes, "nhwc") || contains(notes, "channelslast")) return "channels_last";
  if (contains(notes, "nchw") || contains(notes, "channelsfirst")) return "channels_first";
  const bool half = stated.format == "fp16" || stated.format == "bf16";
  const bool default_first = stated.profile == "pytorch-ddp-1x" || stated.profile == "paddlepaddle-fleet";
  return half && default_first && !is_channels_last_example(stated.source) ? "channels_first" : "";
}

std::vector<std::string> framework_choices() {
  return {"pytorch",   "tensorflow-horovod", "mxnet",  "paddlepaddle", "oneflow",
          "deepspeed", "megatron-lm",        "kungfu", "jax",          "neuronx"};
}

}  // namespace stepcast
