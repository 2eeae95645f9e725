#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"
#include "models/estimate.hpp"
#include "models/memory/moment.hpp"
#include "models/parallelism/lowering.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// What norms, sums, gates and rotary positions move, one kernel for each operator, fused, and compiled.
namespace stepcast::residual_stream_test {
namespace {

using test::named;

constexpr int kTokens = 128, kHidden = 64, kWidth = 192, kHeads = 4, kKeyHeads = 2, kHeadSize = 16;

/// A block of Llama's kind.
Model llama() {
  Model model;
  model.default_seq_len = kTokens;
  TransformerShape& shape = model.transformer.emplace();
  shape.layers = 1;
  shape.hidden = kHidden;
  shape.ffn_hidden = kWidth;
  shape.heads = kHeads;
  shape.kv_heads = kKeyHeads;
  shape.vocab = 256;
  shape.gated_mlp = true;
  return model;
}

/// Bytes that a step moves for each token and feature.
struct Traffic {
  LayerWork work;
  explicit Traffic(const LayerSharding& sharding)
      : work(layer_work(llama(), LayerRole::dense_block, 0, 1, kTokens, sharding)) {}
  static double of(const std::vector<LayerStep>& steps, std::string_view name, double width) {
    return named(steps, name).op.bytes.value() / (kTokens * width);
  }
  [[nodiscard]] double forward(std::string_view name, double width = kHidden) const {
    return of(work.forward, name, width);
  }
  [[nodiscard]] double backward(std::string_view name, double width = kHidden) const {
    return of(work.backward_input, name, width);
  }
};

TEST(ResidualStream, OneKernelEach) {
  const Traffic fused{LayerSharding()};
  EXPECT_DOUBLE_EQ(fused.forward("norm"), 2 * 2);
  EXPECT_DOUBLE_EQ(fused.forward("residual"), 3 * 2);
  EXPECT_DOUBLE_EQ(fused.backward("norm_backward"), 3 * 2);
  EXPECT_DOUBLE_EQ(fused.backward("residual_backward"), 3 * 2);
  EXPECT_DOUBLE_EQ(fused.forward("activation", kWidth), 3 * 2);
  EXPECT_DOUBLE_EQ(fused.backward("activation_backward", kWidth), 5 * 2);
}

// Counted by hand from rms_norm's and silu · up's operators and their gradients; no framework's passes on top.
TEST(ResidualStream, AKernelForEachOperator) {
  LayerSharding sharding;
  sharding.fused_norm = sharding.fused_activation = false;
  sharding.rotary_passes = 10;
  sharding.memory_passes = 1.5;
  const Traffic separate(sharding);
  EXPECT_DOUBLE_EQ(separate.forward("norm"), 6 + 8 + 4 + 8 + 6 + 4);
  EXPECT_DOUBLE_EQ(separate.backward("norm_backward"), 4 + 6 + 2 + 6 + 8 + 12 + 4 + 4 + 28 + 12 + 6);
  EXPECT_DOUBLE_EQ(separate.forward("residual"), 1.5 * 3 * 2);
  EXPECT_DOUBLE_EQ(separate.forward("activation", kWidth), 5 * 2);
  EXPECT_DOUBLE_EQ(separate.backward("activation_backward", kWidth), 9 * 2);
  constexpr double kTurned = (kHeads + kKeyHeads) * kHeadSize;
  EXPECT_DOUBLE_EQ(separate.forward("rope", kTurned), 10 * 2);
  EXPECT_DOUBLE_EQ(separate.backward("rope_backward", kTurned), 10 * 2);
  sharding.bytes_per_element = 4;  // nothing to widen or narrow
  EXPECT_DOUBLE_EQ(Traffic(sharding).forward("norm"), 8 + 4 + 8 + 8);
}

// Hugging Face's norm on one A100 (operators-memory.csv, Liger's benchmark): its backward pass takes 2.6 times as long.
TEST(ResidualStream, SeparateNormsTakeAsLongAsTheirTrafficSays) {
  const CsvTable table = read_csv(data_directory("calibration/data") / "operators-memory.csv");
  std::vector<Fault> faults;
  std::map<std::string, double> measured;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    if (row.text("op") == "rms_norm" && row.text("implementation") == "huggingface" &&
        row.text("accelerator_id") == "a100-sxm-80gb" && row.text("cols") == "8192")
      measured[row.text("direction")] = row.required_number("time_us");
  }
  LayerSharding sharding;
  sharding.fused_norm = false;
  const Traffic separate(sharding);
  EXPECT_NEAR(separate.backward("norm_backward") / separate.forward("norm"), measured.at("bwd") / measured.at("fwd"),
              0.1);
}

// Automatic mixed precision: what blocks add up is in fp32, and each product's operand is cast for it alone.
TEST(ResidualStream, InFp32UnderAutomaticMixedPrecision) {
  LayerSharding sharding;
  sharding.automatic_mixed_precision = true;
  const Traffic mixed(sharding);
  EXPECT_DOUBLE_EQ(mixed.forward("norm"), 2 * 4 + 6);  // before queries, keys and values, one product
  EXPECT_DOUBLE_EQ(mixed.forward("residual"), 4 + 2 + 4);
  // The first of the backward pass is the MLP's, which two products read.
  EXPECT_DOUBLE_EQ(mixed.backward("norm_backward"), 3 * 4 + 2 * 6 + 3 * 4);
  EXPECT_DOUBLE_EQ(mixed.backward("residual_backward"), 3 * 4 + 6);
  const Traffic narrow{LayerSharding()};
  // Kept: inputs of both norms in fp32, and the operand of the second gate cast again.
  EXPECT_DOUBLE_EQ((mixed.work.activations - narrow.work.activations).value(), (2 * 2 + 2) * kTokens * kHidden);
  EXPECT_DOUBLE_EQ(mixed.work.activation_input.value(), 4 * kTokens * kHidden);  // kept under full recomputation
}

TEST(ResidualStream, CompiledKernelsMeet) {
  LayerSharding sharding;
  sharding.compiled = true;
  const Traffic compiled(sharding);
  EXPECT_DOUBLE_EQ(compiled.forward("norm") + compiled.forward("residual"), 4 * 2);  // two tensors in, two out
  EXPECT_DOUBLE_EQ(compiled.backward("norm_backward") + compiled.backward("residual_backward"), 4 * 2);
  sharding.automatic_mixed_precision = true;
  const Traffic mixed(sharding);
  EXPECT_DOUBLE_EQ(mixed.forward("norm") + mixed.forward("residual"), 4 + 2 + 4 + 2);
  EXPECT_DOUBLE_EQ(mixed.backward("norm_backward") + mixed.backward("residual_backward"), 4 + 2 * 2 + 4 + 4 + 2);
}

Scenario fsdp(const std::vector<std::string>& changes) {
  std::vector<std::string> all{
      "workload.model=llama3-8b", "workload.global_batch=16", "cluster.nodes=1",
      "strategy={\"framework\": \"pytorch-fsdp\", \"micro_batch\": 1, \"recompute\": \"full\"}"};
  all.insert(all.end(), changes.begin(), changes.end());
  return test::shipped("llama3-70b-h100-512.json", all);
}

Seconds step(const std::vector<std::string>& changes) {
  const Scenario scenario = fsdp(changes);
  return estimate(lower(scenario)).step_time;
}

// A compiled block launches fewer kernels, which counts where the host is what a step waits for.
TEST(TorchCompile, SparesTheHost) {
  const auto host = [](double factor) {
    Scenario scenario = fsdp({"strategy.torch_compile=true"});
    auto framework = std::make_shared<FrameworkProfile>(*scenario.framework);
    framework->host_per_layer_forward = 1_s;
    framework->compiled_host_factor = factor;
    scenario.framework = framework;
    return estimate(lower(scenario)).host;
  };
  EXPECT_NEAR(host(0.5) / host(1), 0.5, 0.01);
}

// torchtitan's Llama 3 8B gained 16 % (llm-runs-published); which of Liger's kernels bring how much is measured
// nowhere.
TEST(TorchCompile, GainsWhatFusedKernelsGainAndMore) {
  const Seconds eager = step({}), compiled = step({"strategy.torch_compile=true"});
  const Seconds norm = step({"strategy.fused_norm=true"}), rotary = step({"strategy.fused_rotary=true"});
  const Seconds fused = step({"strategy.fused_norm=true", "strategy.fused_rotary=true",
                              "strategy.fused_activation=true", "strategy.fused_loss=true"});
  EXPECT_GT(eager / compiled, 1.05);
  EXPECT_LT(eager / compiled, 1.25);
  for (const Seconds part : {norm, rotary}) {
    EXPECT_LT(part, eager);
    EXPECT_LT(fused, part);
  }
  EXPECT_LT(compiled, fused);
}

// One device, 128 tokens: the host issues a layer of 20 kernels in 550 us forward and one and a half times that
// backward, and ten more where rotary positions run operator by operator; 16 layers.
TEST(RotaryPositions, CostTheHostTenKernelsALayer) {
  const auto time = [](const char* fused) {
    const std::vector<std::string> small{"workload.model=llama3.2-1b",
                                         "workload.global_batch=8",
                                         "workload.seq_len=128",
                                         "cluster.nodes=1",
                                         "strategy={\"framework\": \"pytorch-ddp\", \"micro_batch\": 1}",
                                         std::string("strategy.fused_rotary=") + fused};
    const Scenario scenario = test::shipped("llama3-70b-h100-512.json", small);
    return estimate(lower(scenario)).step_time;
  };
  // The device, which casts weights meanwhile, hides a part of it.
  const double more_ms = (time("false") - time("true")).in(1_ms);
  EXPECT_GT(more_ms, 3);
  EXPECT_LE(more_ms, 16 * 0.55 * 2.5 * 10 / 20);
}

// own-runs: 39.45 GiB eager and 29.58 compiled, 10.1 bytes for each of the 1.05 thousand million logits.
TEST(TorchCompile, TheLossHoldsNarrowLogitsAlone) {
  const Scenario eager = fsdp({}), compiled = fsdp({"strategy.torch_compile=true"});
  EXPECT_DOUBLE_EQ(loss_bytes_per_logit(eager) - loss_bytes_per_logit(compiled), 12 - 2);
  const Scenario blocks_alone = fsdp({"strategy.torch_compile=true", "strategy.fused_loss=false"});
  EXPECT_DOUBLE_EQ(loss_bytes_per_logit(blocks_alone), 12);
}

}  // namespace
}  // namespace stepcast::residual_stream_test
