#include "calibration/validation/mlperf/mlperf_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calibration/validation/adapters.hpp"
#include "calibration/validation/mlperf/convergence_points.hpp"
#include "calibration/validation/mlperf/evaluations.hpp"
#include "calibration/validation/published_row.hpp"

namespace stepcast {

namespace {

/// A row in the columns of another table.
using Columns = std::map<std::string, std::string>;

/// What every submission of a benchmark trains (MLPerf Training rules, "Benchmarks").
struct Benchmark {
  std::string_view name;
  std::string_view model;    ///< as the other tables name it
  std::string_view seq_len;  ///< of a language model
  std::string_view notes;    ///< that its adapter goes by
  MeasuredRun (*adapt)(const CsvRow& row);
  std::string_view framework = "";  ///< that NVIDIA's and nearly all submissions run; empty: by accelerator
  std::string_view dataset = "", unit = "";
  std::string_view since = "";      ///< first round of the rules that the reference converges under
  std::string_view profile = "";    ///< of submissions' own code, in place of the framework's usual one
  std::string_view reference = "";  ///< whose convergence and evaluations count; empty: its own
};

/// A network that submissions train with PyTorch.
constexpr Benchmark network(std::string_view name, std::string_view model, std::string_view dataset,
                            std::string_view since) {
  return {name, model, "", "", deep_learning_run, "pytorch", dataset, "samples/s", since, "pytorch-mlperf"};
}

constexpr Benchmark retinanet(std::string_view name) {
  Benchmark out = network(name, "retinanet-rx50-fpn", "openimages", "v2.0");
  out.reference = "retinanet";
  return out;
}

constexpr std::array kBenchmarks{
    Benchmark{"gpt3", "gpt3-175b", "2048", "", published_run},
    Benchmark{"llama31_405b", "llama3.1-405b", "8192", "", published_run},
    Benchmark{"llama31_8b", "llama3-8b", "8192", "", published_run},
    Benchmark{"llama2_70b_lora", "llama2-70b", "8192", "task=lora; packed sequences of 8192", published_run},
    Benchmark{"flux1", "flux.1-schnell", "256", "", published_run},
    Benchmark{"resnet", "resnet50", "", "NHWC", deep_learning_run, "mxnet", "imagenet", "images/s", "v1.0",
              "mxnet-mlperf"},
    // Sequences of at most 512 tokens, of which padding is a half: 256 without it (Krell et al. 2021, arXiv 2107.02027:
    // packed into full ones they are 2.0 times fewer). Submissions leave it out.
    Benchmark{"bert", "bert-large", "256", "seq_len=256", deep_learning_run, "pytorch", "wikipedia", "sequences/s",
              "v1.0", "pytorch-mlperf"},
    // Under "ssd" rounds up to v1.1 train SSD with ResNet-34, later ones RetinaNet.
    network("ssd", "ssd300-rn34", "coco", "v1.0"),
    retinanet("ssd"),
    retinanet("retinanet"),
    network("maskrcnn", "mask-rcnn-rn50-fpn", "coco", "v1.0"),
    Benchmark{"unet3d", "unet3d-kits19", "", "", deep_learning_run, "mxnet", "kits19", "volumes/s", "v1.0",
              "mxnet-mlperf"},
    network("rnnt", "rnn-t", "librispeech", "v1.0"),
    network("dlrm_dcnv2", "dlrm-dcnv2", "criteo", "v3.0"),
    network("stable_diffusion", "stable-diffusion-2", "laion", "v3.1"),
};

bool is_tpu(std::string_view accelerator) { return accelerator.starts_with("tpu"); }

/// What submissions of large models on these accelerators run.
std::string_view language_framework(std::string_view accelerator) {
  if (is_tpu(accelerator)) return "MaxText (JAX)";
  if (accelerator.starts_with("gaudi")) return "Megatron-DeepSpeed on Gaudi";
  return accelerator.starts_with("mi3") ? "PyTorch / NeMo on ROCm" : "NeMo (Megatron-Core)";
}

/// Submissions take the narrowest format that their accelerator has products for and the round's recipes train in:
/// NVIDIA's turned to fp4 with v5.1, of the smaller models on one server (published_precision).
std::string_view language_precision(const Benchmark& benchmark, std::string_view accelerator, std::string_view round) {
  if (is_tpu(accelerator)) return "int8";
  if (accelerator.starts_with("a100") || (accelerator == "gaudi2" && round == "v3.0")) return "bf16";
  const bool blackwell =
      accelerator.starts_with("b200") || accelerator.starts_with("b300") || accelerator.starts_with("gb");
  if (!blackwell || round < "v5.1") return "fp8";
  // No configuration of v5.1's FLUX.1 was found; AMD's and Oracle's of v6.0 is in fp8 (Oracle's report of it, 2026-06).
  if (benchmark.name == "flux1") return "fp8";
  return benchmark.name == "llama31_405b" ? "nvfp4" : "fp8 or nvfp4 (configuration not found)";
}

/// Format of networks that are no large language models: 16 bit; BERT's products in fp8 from Hopper on (NVIDIA's
/// submissions from v2.1 on, by Transformer Engine).
std::string_view network_precision(const Benchmark& benchmark, std::string_view accelerator) {
  if (is_tpu(accelerator) || accelerator.starts_with("gaudi")) return "mixed-bf16";
  const bool before_hopper = accelerator.starts_with("a") || accelerator.starts_with("v100") ||
                             accelerator.starts_with("rtx-a") || accelerator == "l4";
  return benchmark.name == "bert" && !before_hopper ? "fp8" : "mixed-fp16";
}

/// Layers of the whole model of a name; empty where no published run is of it.
std::string layers_of(std::string_view model) {
  std::vector<Fault> faults;
  long most = 0;
  for (std::size_t i = 0; i < published_runs().rows.size(); ++i) {
    const CsvRow row(published_runs(), i, faults);
    if (row.text("model") == model) most = std::max(most, row.whole("layers").value_or(0));
  }
  return most > 0 ? std::to_string(most) : std::string();
}

/// A table of one row.
CsvTable table_of(const Columns& columns) {
  CsvTable out{"MLPerf row", {}, {{}}};
  for (const auto& [name, text] : columns) {
    out.header.push_back({name});
    out.rows.front().push_back({text});
  }
  return out;
}

/// Calls an adapter on a row that exists in memory alone.
MeasuredRun adapted(const Benchmark& benchmark, const Columns& columns, const CsvRow& origin) {
  const CsvTable table = table_of(columns);
  std::vector<Fault> faults;
  MeasuredRun out = benchmark.adapt(CsvRow(table, 0, faults));
  for (Fault& fault : faults) origin.fault("benchmark", std::move(fault.message), std::move(fault.suggestion));
  return out;
}

/// Networks between servers, as NVIDIA's reference systems of each generation have them; servers of PCIe boards come
/// with one NIC.
std::string_view network_of(std::string_view accelerator) {
  if (accelerator.find("pcie") != std::string_view::npos) return "1x100 Gb/s EDR IB per node";
  if (accelerator.starts_with("v100")) return "4x100 Gb/s EDR IB per node";
  return accelerator.starts_with("a100") ? "8x200 Gb/s HDR IB per node" : "8x400 Gb/s NDR IB per node";
}

/// What every benchmark's adapter reads.
Columns common_columns(const Benchmark& benchmark, const CsvRow& row, std::string_view accelerator, long gpus,
                       long batch) {
  const long nodes = row.whole("nodes").value_or(1);
  return {{"model", std::string(benchmark.model)},
          {"accelerator_id", std::string(accelerator)},
          {"gpus", std::to_string(gpus)},
          {"gpus_per_node", std::to_string(std::max(1L, gpus / nodes))},
          {"global_batch", std::to_string(batch)},
          {"notes", std::string(benchmark.notes)},
          {"source", "MLPerf Training " + row.text("round")},
          {"seq_len", std::string(benchmark.seq_len)},
          // The adapters want a result; the minutes take its place.
          {"step_time_s", "1"},
          {"samples_per_s", "1"}};
}

Columns columns_of(const Benchmark& benchmark, const CsvRow& row, std::string_view accelerator, long gpus, long batch) {
  Columns out = common_columns(benchmark, row, accelerator, gpus, batch);
  const bool language = benchmark.framework.empty();
  out["framework"] = language ? language_framework(accelerator) : benchmark.framework;
  out["precision"] = language ? language_precision(benchmark, accelerator, row.text("round"))
                              : network_precision(benchmark, accelerator);
  if (language) {  // its mapping and network are those of like runs
    out["layers"] = layers_of(benchmark.model);
    return out;
  }
  out["dataset"] = benchmark.dataset;
  out["unit"] = benchmark.unit;
  out["network"] = network_of(accelerator);
  // Submissions choose batches that the devices take at once.
  out["per_gpu_batch"] = fmt::format("{}", static_cast<double>(batch) / static_cast<double>(gpus));
  return out;
}

/// Of several under one name the last that the round's rules know; the first where they know none yet.
const Benchmark* find_benchmark(const std::string& name, std::string_view round) {
  const Benchmark* found = nullptr;
  for (const Benchmark& one : kBenchmarks)
    if (one.name == name && (found == nullptr || one.since <= round)) found = &one;
  return found;
}

/// Why a row cannot be predicted, whatever its numbers say; empty where it can.
std::string refused_words(const CsvRow& row, const Benchmark* benchmark, std::string_view accelerator) {
  const std::string name = row.text("benchmark"), round = row.text("round");
  if (name == "dlrm")
    return "HugeCTR keeps the rows that are looked up most on every device (hybrid embeddings), which no model "
           "describes";
  if (benchmark == nullptr) return fmt::format("no model, or no steps to the target, of {} are known", name);
  if (row.text("division") != "closed") return "not of the closed division: it may train another model";
  if (round < benchmark->since)
    return fmt::format("rules of {} before {} need another number of samples", name, benchmark->since);
  if (row.text("framework").starts_with("tinygrad")) return "no profile stands for tinygrad";
  if (accelerator.starts_with("gaudi") && !benchmark->framework.empty())
    return "no profile stands for Intel's own code of convolutions and BERT";
  if (accelerator.empty())
    return fmt::format("no accelerator of the catalogue is meant by \"{}\"", row.text("accelerator"));
  return {};
}

/// Accelerators, batch and the samples that its reference needs.
struct Size {
  std::optional<long> gpus, batch;
  double samples = 0;
};

/// Why numbers of a row do not make a run; empty where they do.
std::string refused_size(const Size& size, const Benchmark& benchmark) {
  if (!size.gpus) return "the number of accelerators is not stated";
  if (!size.batch) return "the batch is not stated";
  const bool language = benchmark.framework.empty();
  if (!language && *size.batch < *size.gpus)
    return "fewer samples than devices: these cut each sample (spatial parallelism)";
  if (size.samples > 0) return {};
  return fmt::format("no reference of {} converges at so large a batch", benchmark.name);
}

/// The run of a row that says enough; null, with the reason, of another.
std::optional<MeasuredRun> read(const CsvRow& row, std::string_view accelerator, std::string& reason) {
  const Benchmark* benchmark = find_benchmark(row.text("benchmark"), row.text("round"));
  reason = refused_words(row, benchmark, accelerator);
  if (!reason.empty()) return std::nullopt;
  const std::string reference(benchmark->reference.empty() ? benchmark->name : benchmark->reference);
  Size size{row.whole("accelerators"), row.whole("global_batch_size")};
  const auto global_batch = static_cast<double>(size.batch.value_or(0));
  if (size.batch) size.samples = ConvergencePoints::shipped().samples(reference, global_batch).value_or(0);
  reason = refused_size(size, *benchmark);
  if (!reason.empty()) return std::nullopt;
  MeasuredRun out = adapted(*benchmark, columns_of(*benchmark, row, accelerator, *size.gpus, *size.batch), row);
  out.model = benchmark->model;
  const bool own = !benchmark->profile.empty() && !is_tpu(accelerator);
  if (own && !out.scenario.is_null()) out.scenario["strategy"]["framework"] = benchmark->profile;
  out.steps_to_target = std::ceil(size.samples / global_batch);
  const Evaluations evaluations = mlperf_evaluations(reference, global_batch, size.samples);
  out.evaluations = evaluations.times;
  out.samples_an_evaluation = evaluations.samples;
  if (!out.scenario.is_null()) out.inputs_unstated.emplace_back("mapping and precision");
  return out;
}

}  // namespace

MeasuredRun mlperf_run(const CsvRow& row) {
  const double minutes = row.required_number("minutes");
  // Some of Google's rows name the generation in the system alone: "TPU" of a "tpu-v4-128-TF".
  const std::string words = row.text("accelerator");
  const std::string accelerator = mlperf_accelerator(words == "TPU" ? row.text("system") : words);
  std::string reason;
  MeasuredRun out = read(row, accelerator, reason).value_or(MeasuredRun{});
  if (!reason.empty()) out.refusal = reason;
  if (out.model.empty()) out.model = row.text("benchmark");
  out.accelerator = accelerator.empty() ? row.text("accelerator") : std::string(accelerator);
  out.gpus = static_cast<int>(row.whole("accelerators").value_or(0));
  out.source = "MLPerf Training " + row.text("round");
  out.metric = Metric::minutes_to_target;
  out.measured = minutes;
  return out;
}

}  // namespace stepcast
