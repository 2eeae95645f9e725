#include "calibration/validation/dl_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/adapters.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"
#include "models/workload/model.hpp"
#include "models/workload/workload_kind.hpp"

namespace stepcast {

namespace {

/// Batches that benchmarks use where a table prints none: as NVIDIA's examples, 128 images in fp32 and TF32, 256 in 16
/// bit. A batch this large is past what one GPU gains from more.
constexpr long kUnstatedBatch = 128, kUnstatedHalfBatch = 256;

std::vector<std::string> unit_choices() {
  return {"images/s", "sequences/s", "samples/s", "tokens/s", "mel-frames/s", "utterances/s", "volumes/s"};
}

/// Reads one row of published deep-learning runs; stops at the first thing that no scenario can say.
class DeepLearningRun {
 public:
  explicit DeepLearningRun(const CsvRow& row) : row_(row), notes_(row.text("notes")) {}

  MeasuredRun read() {
    refuse_what_is_no_training_step();
    const std::string model = row_.text("model"), dataset = row_.text("dataset"), unit = row_.text("unit");
    const std::string source = row_.text("source"), stack = row_.text("framework");
    const NamedNetwork network = named_network({model, dataset, unit, notes_, source, stack});
    refuse(network.refusal);
    const std::string precision = read_precision();
    const Json cluster = read_cluster();
    const Updates updates = read_updates();
    const std::string framework = updates.framework.empty() ? read_framework() : std::string(updates.framework);
    const std::optional<double> rate = row_.number("samples_per_s");
    const bool batch_stated = row_.number("per_gpu_batch") || row_.number("global_batch");
    if (network.units_per_sample != 1 && !batch_stated)
      refuse("neither the batch nor the length of its samples is stated");
    if (!rate) refuse("no throughput is stated, only a ratio or a time to train");
    if (!network.unit_known) refuse(not_understood("unit", unit, unit_choices()));
    refuse_contradicting_batches();
    if (!out_.refusal.empty()) return std::move(out_);

    const Recipe recipe = recipe_of(source, model, row_.text("accelerator_id"), is_wide(precision));
    const Batch batch = read_batch(recipe, is_wide(precision));
    Json workload{{"model", network.model}, {"global_batch", batch.global}, {"precision", precision}};
    if (network.seq_len > 0) workload["seq_len"] = network.seq_len;
    if (network.decode_ms > 0) workload["input"] = {{"decode_ms", network.decode_ms}};
    Json strategy{{"framework", framework}, {"micro_batch", batch.micro}, {"sharding", "none"}};
    if (recipe.sync_batch_norm) strategy["sync_batch_norm"] = true;
    if (notes_say("torch.compile")) strategy["torch_compile"] = true;
    if (const std::string_view order = read_memory_format(network.model, framework, precision); !order.empty())
      strategy["memory_format"] = order;
    strategy.update(updates.strategy);
    out_.scenario = {
        {"cluster", cluster}, {"workload", workload}, {"strategy", strategy}, {"run", {{"fidelity", "analytic"}}}};
    out_.metric = Metric::samples_per_s;
    out_.measured = *rate / network.units_per_sample;
    out_.group = scaling_group(false);
    out_.scaling_group = scaling_group(true);
    out_.gpus = static_cast<int>(gpus());
    out_.framework = row_.text("framework");
    out_.precision = row_.text("precision");
    return std::move(out_);
  }

 private:
  struct Batch {
    long micro, global;
  };
  /// Of workers that do not wait for each other; empty where they do.
  struct Updates {
    std::string_view framework;
    Json strategy = Json::object();
  };

  void refuse(std::string_view reason) {
    if (out_.refusal.empty()) out_.refusal = reason;
  }

  [[nodiscard]] bool notes_say(std::string_view words) const { return notes_.find(words) != std::string::npos; }
  [[nodiscard]] static bool is_wide(std::string_view format) { return format == "fp32" || format == "tf32"; }
  [[nodiscard]] long gpus() const { return std::max(1L, row_.whole("gpus").value_or(1)); }

  /// A share of a batch may be no whole sample where a sample is cut over devices.
  [[nodiscard]] std::optional<long> rounded(std::string_view column) const {
    const std::optional<double> value = row_.number(column);
    return value ? std::optional(std::max(1L, std::lround(*value))) : std::nullopt;
  }

  void refuse_what_is_no_training_step() {
    const std::string mode = row_.text("sync_mode");
    const auto has = [&](std::string_view word) { return mode.find(word) != std::string::npos; };
    if (has("model-parallel fc") || has("partial fc"))
      if (gpus() > 1) refuse("a classifier cut over the devices has no description yet");
    // The example's accuracy metric copies the logits of all faces of a step, 85,742 each, to one Python process, where
    // they take 1.0 to 1.5 ms a face (rows of eight devices): few enough hide behind the step.
    constexpr double kFacesThatHide = 100;
    if (row_.text("model").starts_with("arcface") && row_.text("framework").starts_with("mxnet") &&
        row_.number("global_batch").value_or(0) > kFacesThatHide)
      refuse("a metric of all logits in the host's one process has no description");
    // So it does to 83 ms of host time in a step of SSD, and 620 ms of Mask R-CNN (own-workloads).
    if (notes_say("torchvision's detectors"))
      refuse("detectors that match boxes image by image in Python have no profile");
    if (notes_say("looks wrong in the source")) out_.doubtful = "the source's own single-GPU figure looks wrong";
    if (notes_say("input pipeline bound")) refuse("the input pipeline decides, and its processors are not stated");
    if (!row_.whole("gpus")) refuse("the number of GPUs is not stated");
  }

  /// Samples of a step in all devices' passes; null where the row does not state them, or another table does.
  [[nodiscard]] std::optional<double> stated_global_batch() const {
    return notes_say("not the throughput table") ? std::nullopt : row_.number("global_batch");
  }

  /// A step is a whole number of passes of every device. Tables round what they print.
  void refuse_contradicting_batches() {
    constexpr double kRounding = 1e-3;
    const std::optional<double> global = stated_global_batch(), micro = row_.number("per_gpu_batch");
    if (!global || !micro) return;
    const double passes = *global / (*micro * static_cast<double>(gpus()));
    const double whole = std::max(1.0, std::round(passes));
    if (std::abs(passes - whole) > kRounding * whole)
      refuse(fmt::format("global_batch: {} samples are no whole number of passes of {} on each of {} GPUs", *global,
                         *micro, gpus()));
  }

  std::string read_precision() {
    // "amp" and "mixed" are 16 bit on every device, and which of the two formats does not matter.
    constexpr std::array kFormats{Spelling{"fp32", "fp32"},       Spelling{"tf32", "tf32"},
                                  Spelling{"mixed-fp16", "fp16"}, Spelling{"fp16", "fp16"},
                                  Spelling{"bf16", "bf16"},       Spelling{"mixed-bf16", "bf16"},
                                  Spelling{"fp8", "fp8"},         Spelling{"amp", "fp16"},
                                  Spelling{"mixed", "fp16"},      Spelling{"mixed precision", "fp16"},
                                  Spelling{"fp16 (amp)", "fp16"}, Spelling{"amp-fp16", "fp16"},
                                  Spelling{"amp-bf16", "bf16"},   Spelling{"float32", "fp32"},
                                  Spelling{"float16", "fp16"},    Spelling{"bfloat16", "bf16"}};
    const std::string stated = row_.text("precision");
    const std::optional<std::string_view> format = word_of(stated, kFormats);
    if (!format) refuse(not_understood("precision", stated, {"fp32", "tf32", "mixed-fp16", "bf16", "fp8"}));
    return std::string(format.value_or(""));
  }

  Json read_cluster() {
    const std::string accelerator = row_.text("accelerator_id");
    const long per_node = row_.whole("gpus_per_node").value_or(gpus());
    Json cluster = dl_cluster(accelerator, gpus(), per_node, row_.text("network"));
    const std::string hint = cluster.is_null() ? accelerator_hint(accelerator) : std::string();
    if (cluster.is_null())
      refuse(fmt::format("no server of the catalogue stands for {} of {}{}", gpus(), accelerator,
                         hint.empty() ? "" : ": " + hint));
    return cluster;
  }

  std::string read_framework() {
    const std::string framework = row_.text("framework"), source = row_.text("source");
    if (row_.text("accelerator_id").starts_with("tpu")) return "tensorflow-tpu";
    const std::string_view profile = framework_of({framework, source, notes_, row_.text("sync_mode")});
    if (profile.empty())
      refuse(fmt::format("no profile stands for {}: {}", framework, nearest_choice(framework, framework_choices())));
    return std::string(profile);
  }

  [[nodiscard]] std::string_view read_memory_format(const Json& model, std::string_view profile,
                                                    std::string_view format) const {
    ModelChoice choice;
    Diagnostics faults("model");
    Codec<ModelChoice>::read(choice, model, "", "model", {}, faults);
    const auto described = choice.described ? choice.described : find_model(choice.preset, "", faults);
    if (!described || !reads_images(*described)) return "";
    return memory_format_of({row_.text("source"), notes_, format, profile});
  }

  /// How workers that do not wait for each other exchange. Servers that a row does not count are as many as workers.
  Updates read_updates() {
    const std::string mode = row_.text("sync_mode"), stack = lower_case(row_.text("framework"));
    const auto has = [&](std::string_view word) { return mode.find(word) != std::string::npos; };
    if (has("pair-averaging")) return {"kungfu", {{"update", "pair-averaging"}}};
    if (!has("async")) {
      if (has("gossip")) refuse("the graph of its gossip is not stated");
      return {};
    }
    const bool first = stack.starts_with("tensorflow1");
    const std::string_view profile = first                             ? "tensorflow-2017"
                                     : stack.starts_with("tensorflow") ? "tensorflow-ps"
                                     : stack.starts_with("mxnet")      ? "mxnet-kvstore"
                                                                       : "";
    if (profile.empty())
      refuse(fmt::format("no profile stands for asynchronous servers of {}", row_.text("framework")));
    Json strategy{{"update", "asynchronous"},
                  {"parameter_servers", {{"count", row_.whole("servers").value_or(gpus())}}}};
    if (first) strategy["worker"] = "device";  // a process a device
    return {profile, strategy};
  }

  /// Samples at once on a device and in a step; accumulation is what lies between them. What another table of the
  /// source says of its recipe is not taken: BERT on DGX-1 (PyTorch) scales over servers as measured where every pass
  /// exchanges gradients, and would lose next to nothing with the recipe's accumulation.
  Batch read_batch(const Recipe& recipe, bool wide) {
    const std::optional<long> global = stated_global_batch() ? rounded("global_batch") : std::nullopt;
    const long usual = recipe.batch > 0 ? recipe.batch : wide ? kUnstatedBatch : kUnstatedHalfBatch;
    const std::optional<long> stated = rounded("per_gpu_batch");
    long micro = stated ? *stated : usual;
    if (!global) return {micro, micro * gpus()};
    const long share = std::max(1L, *global / gpus());
    micro = std::min(micro, share);
    return {micro, std::max(1L, share / micro) * micro * gpus()};
  }

  /// Rows that differ in their number of GPUs only (and, where the source keeps the whole batch, in what one of them
  /// takes); with `any_size` false the number counts, too.
  [[nodiscard]] std::string scaling_group(bool any_size) const {
    const bool whole_batch = notes_say("strong scaling") && rounded("global_batch");
    std::string key;
    for (const char* column : {"source", "model", "dataset", "framework", "accelerator_id", "precision"})
      key += row_.text(column) + "|";
    const std::string mode = row_.text("sync_mode");
    for (const std::string_view word :
         {"xla=on", "xla=off", "NHWC", "NCHW", "bucket_cap_mb=1", "partial fc", "torch.compile", "model-parallel fc",
          "distributed_replicated", "dim=2D", "dim=3D"})
      if (notes_say(word) || mode.find(word) != std::string::npos) key += std::string(word) + "|";
    if (!whole_batch) key += row_.text("per_gpu_batch");
    if (!any_size) key += "|" + row_.text("gpus");
    return key;
  }

  const CsvRow& row_;
  std::string notes_;
  MeasuredRun out_;
};

}  // namespace

MeasuredRun deep_learning_run(const CsvRow& row) { return DeepLearningRun(row).read(); }

}  // namespace stepcast
