#include <fmt/format.h>

#include <array>
#include <optional>

#include "calibration/validation/adapter_parts.hpp"
#include "calibration/validation/adapters.hpp"
#include "calibration/validation/attention_words.hpp"
#include "calibration/validation/machines.hpp"
#include "calibration/validation/sharding_words.hpp"
#include "calibration/validation/stated_words.hpp"
#include "calibration/validation/unstated.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// MosaicML's GPTs: learned positions, one table of tokens.
Json mpt(const CsvRow& row, long seq_len) {
  return {{"id", "mpt"},
          {"family", "decoder"},
          {"transformer",
           {{"layers", row.required_whole("layers")},
            {"hidden", row.required_whole("hidden")},
            {"ffn_hidden", row.required_whole("ffn_hidden")},
            {"heads", row.required_whole("heads")},
            {"vocab", row.required_whole("vocab")},
            {"tied_embeddings", true},
            {"positions", "learned"},
            {"norm", "layer_norm"},
            {"max_positions", seq_len}}},
          {"default_seq_len", seq_len}};
}

/// Reads one row of FSDP runs; the first reason why no scenario can say it stays.
class FsdpRow {
 public:
  explicit FsdpRow(const CsvRow& row) : row_(row) {}

  MeasuredRun read() {
    const std::string gpu = row_.text("gpu");
    const long gpus = row_.required_whole("gpus"), per_node = row_.required_whole("gpus_per_node");
    const FrameworkDefaults& defaults = framework();
    const Json cluster = cluster_of(gpu, gpus, per_node, network(gpus, per_node));
    if (cluster.is_null()) refuse(no_cluster(gpu, gpus, per_node));
    const long seq_len = row_.required_whole("seq_len");
    const Json workload{{"model", mpt(row_, seq_len)},
                        {"global_batch", row_.required_whole("global_batch")},
                        {"seq_len", seq_len},
                        {"precision", precision()}};
    Json strategy{{"framework", defaults.profile},
                  {"gradients_in_fp32", !pure()},
                  {"micro_batch", row_.required_whole("micro_batch")},
                  {"recompute", recomputes() ? "full" : "none"}};
    read_sharding(strategy, gpus, per_node);
    read_attention(strategy);
    out_.metric = Metric::tokens_per_s_per_gpu;
    out_.measured = row_.required_number("measured_tokens_per_s_per_gpu");
    if (!out_.refusal.empty()) return std::move(out_);
    out_.scenario = scenario_of(cluster, workload, strategy);
    out_.group = group_of(row_.text("model") + " " + row_.text("seq_len"), gpu, cluster, workload);
    name_run(out_, defaults.name, gpu, gpus, row_.text("precision"));
    return std::move(out_);
  }

 private:
  void refuse(std::string reason) {
    if (out_.refusal.empty()) out_.refusal = std::move(reason);
  }

  /// Composer's where the row names none.
  const FrameworkDefaults& framework() {
    constexpr std::string_view kComposer = "pytorch-fsdp (Composer)";
    const std::string stated = row_.text("framework");
    const FrameworkDefaults* found =
        find_defaults(stated.empty() ? kComposer : std::string_view(stated), {}, row_.text("sharding"));
    if (found == nullptr) refuse(no_profile(stated));
    return found == nullptr ? defaults_of(kComposer) : *found;
  }

  /// Servers of the A100 rows have 1,600 Gb/s of RoCE, of the H100 rows most likely eight 400 Gb/s NICs: the table's
  /// column says so itself, and one node's rows do not need it. A server's rate is that of one NIC a GPU.
  std::optional<StatedNetwork> network(long gpus, long per_node) {
    const std::string stated = row_.text("inter_node");
    if (stated.empty() || contains(stated, "not stated")) return std::nullopt;
    std::optional<StatedNetwork> out = network_of(stated, per_node);
    if (!out && gpus > per_node)
      refuse(
          fmt::format("inter_node: found \"{}\", expected a rate, as in \"8 x 400 Gb/s InfiniBand per node\"", stated));
    if (out && out->nics_per_node == 1 && !contains(stated, " x "))
      out =
          StatedNetwork{static_cast<int>(per_node), out->nic_bandwidth_Gbps / static_cast<double>(per_node), out->kind};
    return out;
  }

  std::string precision() {
    const std::string stated = row_.text("precision");
    const std::string_view format = stated_format(stated);
    if (format.empty()) refuse(not_understood("precision", stated, format_choices()));
    return std::string(format);
  }

  /// Composer's PURE mixed precision reduces and keeps gradients in 16 bit, DEFAULT in fp32 (llm-foundry, composer's
  /// dist_strategy); that PURE keeps them so, no profile says yet.
  bool pure() {
    constexpr std::array kModes{Spelling{"", "default"}, Spelling{"DEFAULT", "default"}, Spelling{"PURE", "pure"}};
    const std::string stated = row_.text("mixed_precision_mode");
    const std::optional<std::string_view> mode = word_of(stated, kModes);
    if (!mode) refuse(not_understood("mixed_precision_mode", stated, {"DEFAULT", "PURE"}));
    return mode == "pure";
  }

  /// `strategy.sharding`, and over how many ranks a copy lies where not over all.
  void read_sharding(Json& strategy, long gpus, long per_node) {
    const std::string stated = row_.text("sharding");
    const std::string_view sharding =
        offered_sharding(stated_sharding(stated), strategy.at("framework").get<std::string>());
    if (sharding.empty()) refuse(not_understood("sharding", stated, sharding_choices()));
    strategy["sharding"] = sharding;
    if (sharding != "hsdp") return;
    if (gpus <= per_node)
      strategy["sharding"] = "fsdp";
    else
      strategy["hsdp_shard_size"] = per_node;
  }

  void read_attention(Json& strategy) {
    const StatedAttention stated = stated_attention(row_.text("attention"));
    if (!stated.refusal.empty()) refuse(stated.refusal);
    if (!stated.kernel.empty()) strategy["attention_kernel"] = stated.kernel;
  }

  bool recomputes() {
    const std::string stated = row_.text("activation_checkpointing");
    const std::optional<bool> flag = stated_flag(stated);
    if (!flag) refuse(no_flag("activation_checkpointing", stated));
    return flag.value_or(false);
  }

  const CsvRow& row_;
  MeasuredRun out_;
};

}  // namespace

MeasuredRun fsdp_run(const CsvRow& row) { return FsdpRow(row).read(); }

}  // namespace stepcast
