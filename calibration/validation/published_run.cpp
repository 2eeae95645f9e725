#include <fmt/format.h>

#include <array>
#include <optional>

#include "calibration/validation/adapters.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/model_shapes.hpp"
#include "calibration/validation/unstated.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

/// Reads one row of published runs of large models; stops at the first thing that no scenario can say.
class PublishedRun {
 public:
  explicit PublishedRun(const CsvRow& row) : row_(row) {}

  MeasuredRun read() {
    const Json model = read_model();
    const Json cluster = read_cluster();
    const Json strategy = read_strategy();
    const std::string precision = read_precision();
    read_measurement();
    const std::optional<long> batch = row_.whole("global_batch");
    if (!batch) refuse("the batch is not stated");
    // Task marks: frozen weights and packed samples are other workloads than training on whole sequences.
    if (row_.text("notes").find("task=") != std::string::npos) refuse("fine-tuning has no description yet");
    if (!out_.refusal.empty()) return std::move(out_);
    const Json workload{
        {"model", model}, {"global_batch", *batch}, {"seq_len", model.at("default_seq_len")}, {"precision", precision}};
    out_.scenario = {
        {"cluster", cluster}, {"workload", workload}, {"strategy", strategy}, {"run", {{"fidelity", "analytic"}}}};
    out_.group = fmt::format("{} {} {} {} {}", row_.text("model"), row_.text("accelerator_id"), row_.text("gpus"),
                             *batch, row_.text("seq_len"));
    return std::move(out_);
  }

 private:
  void refuse(std::string reason) {
    if (out_.refusal.empty()) out_.refusal = std::move(reason);
  }

  Json read_model() {
    Json sizes = Json::object();
    for (const char* column : {"layers", "hidden", "ffn_hidden", "heads", "kv_heads", "vocab", "experts", "top_k"})
      if (const std::optional<long> size = row_.whole(column)) sizes[column] = *size;
    const std::string name = row_.text("model");
    KnownShape shape = known_shape(name, sizes);
    if (name.find("bert") == 0) shape.refusal = "how encoders were masked and padded is not stated";
    if (!shape.refusal.empty()) {
      refuse(shape.refusal);
      return nullptr;
    }
    const long seq_len = row_.required_whole("seq_len");
    shape.transformer["max_positions"] = seq_len;
    return {{"id", name}, {"family", "decoder"}, {"transformer", shape.transformer}, {"default_seq_len", seq_len}};
  }

  Json read_cluster() {
    struct Network {
      std::string_view text;
      StatedNetwork network;
    };
    constexpr std::array kNetworks{Network{"4 x 100 Gb/s Omni-Path per node", {4, 100, "omni_path"}},
                                   Network{"4 x 100 Gb/s RoCE per node", {4, 100, "ethernet_rdma"}}};
    std::optional<StatedNetwork> stated;
    for (const Network& network : kNetworks)
      if (network.text == row_.text("network")) stated = network.network;
    const std::optional<long> stated_gpus = row_.whole("gpus");
    if (!stated_gpus) {
      refuse("the number of GPUs is not stated");
      return nullptr;
    }
    const long gpus = *stated_gpus;
    Json cluster = cluster_of(row_.text("accelerator_id"), gpus, row_.whole("gpus_per_node").value_or(gpus), stated);
    if (cluster.is_null())
      refuse(fmt::format("no node of the catalogue stands for {} of {}", row_.text("gpus_per_node"),
                         row_.text("accelerator_id")));
    return cluster;
  }

  /// torchtitan's selective checkpointing goes by operator unless its option says otherwise.
  std::string recomputation(const std::string& framework) const {
    const std::string stated = row_.text("recompute");
    const bool by_operator = framework == "torchtitan (FSDP2)" && stated.find("selective") != std::string::npos;
    return by_operator ? std::string(name_of(Recompute::per_operator)) : stated;
  }

  Json read_strategy() {
    const std::string framework = row_.text("framework");
    const FrameworkDefaults* defaults = find_defaults(framework);
    if (defaults == nullptr) {
      refuse(fmt::format("no profile stands for {}", framework));
      return nullptr;
    }
    const std::optional<long> tp = row_.whole("tp"), pp = row_.whole("pp");
    if (!tp || !pp) {
      refuse("the mapping is not stated");
      return nullptr;
    }
    const std::string recompute = recomputation(framework);
    Json strategy{{"framework", defaults->profile},
                  {"tensor_parallel", *tp},
                  {"sequence_parallel", defaults->sequence_parallel && *tp > 1},
                  {"pipeline_parallel", *pp},
                  {"virtual_pipeline", row_.whole("vpp").value_or(1)},
                  {"context_parallel", row_.whole("cp").value_or(1)},
                  {"expert_parallel", row_.whole("ep").value_or(1)},
                  {"recompute", recompute.empty() ? std::string(defaults->recompute) : recompute}};
    if (recompute != "" && !parse_enum<Recompute>(recompute))
      refuse(fmt::format("recomputation \"{}\" has no description", recompute));
    const std::optional<long> micro_batch = row_.whole("micro_batch");
    if (micro_batch) strategy["micro_batch"] = *micro_batch;
    out_.micro_batch_unstated = !micro_batch;
    spread_layers(strategy);
    read_sharding(strategy);
    return strategy;
  }

  /// Layers that stages do not divide lie as evenly as whole layers can, as every framework's recipes place them.
  void spread_layers(Json& strategy) {
    const long layers = row_.whole("layers").value_or(0);
    const long chunks = strategy.at("pipeline_parallel").get<long>() * strategy.at("virtual_pipeline").get<long>();
    if (chunks > 1 && layers % chunks != 0 && layers >= chunks - 2)
      strategy["stage_layers"] = balanced_stages(static_cast<int>(layers), static_cast<int>(chunks));
  }

  void read_sharding(Json& strategy) {
    struct Sharding {
      std::string_view text, name;
    };
    constexpr std::array kShardings{Sharding{"DDP with distributed optimizer", "zero-1"},
                                    Sharding{"distributed optimizer", "zero-1"},
                                    Sharding{"ZeRO-1", "zero-1"},
                                    Sharding{"ZeRO-1 over all", "zero-1"},
                                    Sharding{"ZeRO-0", "none"},
                                    Sharding{"FSDP", "fsdp"},
                                    Sharding{"FSDP2", "fsdp"},
                                    Sharding{"Megatron FSDP", "fsdp"},
                                    Sharding{"HSDP", "hsdp"}};
    const std::string stated = row_.text("zero_or_fsdp");
    if (stated.empty()) return;  // the framework's own
    for (const Sharding& sharding : kShardings)
      if (sharding.text == stated) {
        strategy["sharding"] = sharding.name;
        return;
      }
    refuse(fmt::format("sharding \"{}\" has no description", stated));
  }

  std::string read_precision() {
    struct Format {
      std::string_view begins, name;
    };
    const std::string stated = row_.text("precision");
    // bf16 and fp16 run at one rate on every GPU here, so which of the two does not matter.
    constexpr std::array kFormats{Format{"bf16 + float8", "fp8"}, Format{"bf16", "bf16"}, Format{"fp16", "fp16"},
                                  Format{"mxfp8", "fp8"},         Format{"fp8", "fp8"},   Format{"nvfp4", "fp4"}};
    if (stated.find("fp8 or nvfp4") == 0 || stated.find("some") != std::string::npos)
      refuse("the precision is not clear");
    for (const Format& format : kFormats)
      if (stated.find(format.begins) == 0) return std::string(format.name);
    refuse(fmt::format("precision \"{}\" has no description", stated));
    return "";
  }

  void read_measurement() {
    if (const std::optional<double> rate = row_.number("tokens_per_s_per_gpu")) {
      out_.metric = Metric::tokens_per_s_per_gpu;
      out_.measured = *rate;
    } else if (const std::optional<double> time = row_.number("step_time_s")) {
      out_.metric = Metric::step_time;
      out_.measured = *time;
    } else {
      refuse("neither tokens per second nor a step time is stated");
    }
    if (const std::optional<double> memory = row_.number("peak_memory_GiB")) out_.measured_memory = *memory * 1_GiB;
  }

  const CsvRow& row_;
  MeasuredRun out_;
};

}  // namespace

MeasuredRun published_run(const CsvRow& row) { return PublishedRun(row).read(); }

}  // namespace stepcast
