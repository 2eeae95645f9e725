#include "calibration/validation/adapters.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "calibration/validation/adapter_parts.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/model_names.hpp"
#include "calibration/validation/stated_words.hpp"
#include "calibration/validation/unstated.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

// NVSwitch and NVLink servers of all these sets hold 8 GPUs.
constexpr long kGpusPerServer = 8;

/// A GPT as Megatron builds it: learned positions, biases, tied embeddings, dropout 0.1 (its default).
Json megatron_gpt(long layers, long hidden, long heads, long vocab, long seq_len) {
  return {{"id", "gpt"},
          {"family", "decoder"},
          {"transformer",
           {{"layers", layers},
            {"hidden", hidden},
            {"ffn_hidden", 4 * hidden},
            {"heads", heads},
            {"vocab", vocab},
            {"biases", true},
            {"tied_embeddings", true},
            {"positions", "learned"},
            {"norm", "layer_norm"},
            {"max_positions", seq_len},
            {"dropout", 0.1}}},
          {"default_seq_len", seq_len}};
}

void set_measured_step(MeasuredRun& run, Seconds time) {
  run.metric = Metric::step_time;
  run.measured = time.value();
}

/// Executed FLOPs of a step as Narayanan et al. 2021 (SC21), equation 2, count them, full recomputation included: the
/// rows of that source state TFLOP/s by this formula.
Flops sc21_flops(double batch, double seq_len, double layers, double hidden, double vocab) {
  return Flops(96 * batch * seq_len * layers * hidden * hidden *
               (1 + seq_len / (6 * hidden) + vocab / (16 * layers * hidden)));
}

/// GPT-2's vocabulary as VIA-Research/vTrain's tables were measured with it. Over several nodes as Megatron pads it, to
/// a multiple of 128 for every tensor-parallel rank. On one server it is not padded: a rank holds the whole part of its
/// share (src/config.py, vocab_size; src/model/gpt_modeling.py, vocab_size // world_size), and the output layer's
/// products are slow on all but two ranks, as unaligned ones are.
long gpt2_vocabulary(bool one_server, long tensor_parallel) {
  constexpr long kEntries = 50257, kMultiple = 128;
  if (one_server) return kEntries / tensor_parallel * tensor_parallel;
  const long step = kMultiple * tensor_parallel;
  return (kEntries + step - 1) / step * step;
}

}  // namespace

// GPUs are A100 on NVLink; the memory size is not stated, and does not decide a step's time. Several nodes are joined
// by 800 Gb/s of InfiniBand each, taken as 4 x HDR. Recomputation is not stated either. Over several nodes it is on:
// half of the rows would not fit without, and the last stage of a pipeline repeats nothing (src/predictor.py of the
// same repository: "Last rank worker dosen't perform recomputation"). On one server every row fits without, and with it
// a layer's products would run above the peak: from hidden 1024 to 2048 a layer of 8,192 tokens takes 8.3 ms more, in
// which 2.6 TFLOP with recomputation are more than 312 TFLOP/s.
MeasuredRun megatron_a100_run(const CsvRow& row) {
  const long gpus = row.required_whole("gpus"), seq_len = row.required_whole("seq_len");
  const long tensor_parallel = row.required_whole("tensor_parallel");
  const bool one_server = gpus <= kGpusPerServer;
  // Megatron-DeepSpeed with replicated optimizer states over several nodes: Megatron's own step, without ZeRO's.
  const FrameworkDefaults& defaults = defaults_of(one_server ? "GPT of vTrain" : "Megatron-LM (2021)");
  const std::optional<StatedNetwork> network =
      !one_server ? std::optional(StatedNetwork{4, 200, "infiniband"}) : std::nullopt;
  const Json cluster = cluster_of("a100-sxm-80gb", gpus, kGpusPerServer, network);
  const Json model = megatron_gpt(row.required_whole("layers"), row.required_whole("hidden"),
                                  row.required_whole("heads"), gpt2_vocabulary(one_server, tensor_parallel), seq_len);
  const Json workload{{"model", model},
                      {"global_batch", row.required_whole("global_batch")},
                      {"seq_len", seq_len},
                      {"precision", defaults.precision}};
  const long stages = row.required_whole("pipeline_parallel");
  Json strategy{{"framework", defaults.profile},
                {"tensor_parallel", tensor_parallel},
                {"pipeline_parallel", stages},
                {"data_parallel", row.required_whole("data_parallel")},
                {"micro_batch", row.required_whole("micro_batch")},
                {"recompute", defaults.recompute}};
  if (!one_server && stages > 1) strategy["recompute_last_stage"] = false;
  const Seconds measured = row.required_number("measured_step_time_ms") * 1_ms;
  if (cluster.is_null()) return refused(no_cluster("a100-sxm-80gb", gpus, kGpusPerServer));
  MeasuredRun run;
  run.scenario = scenario_of(cluster, workload, strategy);
  run.group = group_of(model.at("transformer").dump(), "", cluster, workload);
  name_run(run, defaults.name, "a100-sxm-80gb", gpus, std::string(defaults.precision));
  for (const char* input : {"precision", "recompute", "vocab"}) run.inputs_unstated.emplace_back(input);
  run.open.recompute = defaults.recomputes_to_fit;
  set_measured_step(run, measured);
  return run;
}

/// The metric of rows that state TFLOP/s.
constexpr std::string_view kCountedTflops = "hardware_tflops_per_gpu_recompute_counted";

/// Year of the arXiv number that a source names ("arXiv 2205.05198": 2022); 0 without one.
int arxiv_year(std::string_view source) {
  constexpr std::string_view kName = "arXiv ";
  const std::size_t at = source.find(kName);
  int year = 0;
  if (at == std::string_view::npos || source.size() < at + kName.size() + 2) return 0;
  const char* digits = source.data() + at + kName.size();
  return std::from_chars(digits, digits + 2, year).ec == std::errc{} ? 2000 + year : 0;
}

// Selene: DGX A100 80 GB, every server with 8 HDR NICs, which is the catalogue's node as it is.
MeasuredRun published_megatron_run(const CsvRow& row) {
  // The table tells no version: a paper's runs are of the release of its year.
  const bool of_2022 = arxiv_year(row.text("source")) >= 2022;
  const FrameworkDefaults& defaults = defaults_of(of_2022 ? "Megatron-LM (2022)" : "Megatron-LM (2021)");
  const long gpus = row.required_whole("gpus"), seq_len = row.required_whole("seq_len");
  const long layers = row.required_whole("layers"), hidden = row.required_whole("hidden");
  const long vocab = row.required_whole("vocab"), batch = row.required_whole("global_batch");
  const Json model = megatron_gpt(layers, hidden, row.required_whole("heads"), vocab, seq_len);
  const Json cluster = cluster_of(row.text("gpu"), gpus, kGpusPerServer);
  const Json workload{
      {"model", model}, {"global_batch", batch}, {"seq_len", seq_len}, {"precision", defaults.precision}};
  const std::string recompute = stated_recomputation(row.text("recompute")), sharded = row.text("sequence_parallel");
  const std::optional<bool> sequence_parallel = stated_flag(sharded);
  Json strategy{{"framework", defaults.profile},
                {"tensor_parallel", row.required_whole("tensor_parallel")},
                {"pipeline_parallel", row.required_whole("pipeline_parallel")},
                {"virtual_pipeline", row.whole("interleaved_stages").value_or(1)},
                {"sequence_parallel", sequence_parallel.value_or(false)},
                {"recompute", recompute.empty() ? std::string(defaults.recompute) : recompute}};
  const std::optional<long> micro_batch = row.whole("micro_batch");
  if (micro_batch) strategy["micro_batch"] = *micro_batch;
  const double value = row.required_number("value");
  const std::string metric = row.text("metric");
  if (cluster.is_null()) return refused(no_cluster(row.text("gpu"), gpus, kGpusPerServer));
  if (metric != "step_time_s" && metric != kCountedTflops)
    return refused(not_understood("metric", metric, {"step_time_s", std::string(kCountedTflops)}));
  if (!sharded.empty() && !sequence_parallel) return refused(no_flag("sequence_parallel", sharded));
  MeasuredRun run;
  run.scenario = scenario_of(cluster, workload, strategy);
  name_run(run, defaults.name, row.text("gpu"), gpus, std::string(defaults.precision));
  run.inputs_unstated.emplace_back("precision");
  if (recompute.empty()) run.inputs_unstated.emplace_back("recompute");
  run.open.micro_batch = !micro_batch;
  if (!micro_batch) run.inputs_unstated.emplace_back("micro_batch");
  run.group = group_of(model.at("transformer").dump(), "", cluster, workload);
  if (metric == "step_time_s") {
    set_measured_step(run, Seconds(value));
  } else {
    const auto real = [](long number) { return static_cast<double>(number); };
    const Flops flops = sc21_flops(real(batch), real(seq_len), real(layers), real(hidden), real(vocab));
    set_measured_step(run, flops / (value * real(gpus) * 1_TFLOPS));
  }
  return run;
}

// SimuMax cuts the layers of known models so that they fit one server. Sequence parallelism goes with tensor
// parallelism there. docs/b200: overlap options off, fused cross-entropy (the `cef` of the rows' names). Its Llama 3
// 405B has 16 key heads (configs/models/llama3-405b.json).
MeasuredRun cut_model_run(const CsvRow& row) {
  const FrameworkDefaults& defaults = defaults_of("Megatron-LM (Megatron-Core)");
  const std::string name = row.text("model");
  const std::shared_ptr<const Model> preset = transformer_of(name);
  const long tp = row.required_whole("tensor_parallel"), dp = row.required_whole("data_parallel");
  const long micro_batch = row.required_whole("micro_batch"), micro_batches = row.required_whole("micro_batches");
  const long layers = row.required_whole("layers"), seq_len = row.whole("seq_len").value_or(defaults.seq_len);
  const Json cluster = cluster_of(row.text("gpu"), row.required_whole("gpus"), kGpusPerServer);
  const Json strategy{{"framework", defaults.profile},
                      {"tensor_parallel", tp},
                      {"sequence_parallel", tp > 1},
                      {"pipeline_parallel", row.required_whole("pipeline_parallel")},
                      {"context_parallel", row.required_whole("context_parallel")},
                      {"expert_parallel", row.required_whole("expert_parallel")},
                      {"data_parallel", dp},
                      {"micro_batch", micro_batch},
                      {"recompute", defaults.recompute},
                      {"overlap_gradients", false},
                      {"overlap_parameter_gather", false},
                      {"overlap_tensor_parallel", false},
                      {"fused_loss", true}};
  const Seconds measured = row.required_number("measured_step_time_ms") * 1_ms;
  const std::optional<double> memory = row.number("measured_peak_allocated_gib");
  if (preset == nullptr) return refused(no_model(name));
  if (cluster.is_null()) return refused(no_cluster(row.text("gpu"), row.required_whole("gpus"), kGpusPerServer));
  Json model = Model::fields().write(*preset);
  model["transformer"]["layers"] = layers;
  if (name == "llama3-405b") model["transformer"]["kv_heads"] = 16;
  // One dense layer is left. Four layers with experts need more for their states alone than the eight-way
  // expert-parallel rows measure (114 GiB against 104 for DeepSeek-V3); with one dense layer all four mappings come
  // within 1 %.
  if (model["transformer"].value("dense_layers", 0) > 0) model["transformer"]["dense_layers"] = 1;
  model.erase("published_parameters");
  const Json workload{{"model", model},
                      {"global_batch", dp * micro_batches * micro_batch},
                      {"seq_len", seq_len},
                      {"precision", defaults.precision}};
  MeasuredRun run;
  run.scenario = scenario_of(cluster, workload, strategy);
  run.group = group_of(fmt::format("{} {} {}", name, layers, seq_len), row.text("gpu"), cluster, workload);
  name_run(run, defaults.name, row.text("gpu"), row.required_whole("gpus"), std::string(defaults.precision));
  run.mixture_of_experts = model.at("transformer").value("experts", 0) > 0;
  for (const char* input : {"precision", "recompute"}) run.inputs_unstated.emplace_back(input);
  set_measured_step(run, measured);
  if (memory) run.measured_memory = *memory * 1_GiB;
  return run;
}

}  // namespace stepcast
