#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "calibration/fit/cluster/far_rows.hpp"
#include "calibration/fit/cluster/fit_cluster.hpp"
#include "models/compute/device.hpp"
#include "models/compute/product_time.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/probe_file.hpp"

namespace stepcast::device_fit_test {
namespace {

using test::catalog;
using test::probe_file;
using testing::ElementsAre;
using testing::IsEmpty;

const Accelerator& part() { return *catalog().find<Accelerator>("h100-sxm-80gb"); }

CalibrationProfile fit(const Json& rows, int refits = 0) {
  return fit_cluster({probe_file(rows, "a.json")}, {.name = "lab", .node = "dgx-h100", .refits = refits}, catalog());
}

/// A product in bf16 as an H100 with these constants multiplies it.
Json product(const ProductConstants& constants, double m, double n, double k, const char* device = "gpu0") {
  OperatorProfile profile = *catalog().find<OperatorProfile>(part().family);
  profile.product = constants;
  const double us =
      burst_time({m, n, k}, {}, product_device(part(), profile, "bf16", part().product_peak(Precision::bf16))).in(1_us);
  return {{"kind", "gemm"},      {"m", m},          {"n", n},           {"k", k},
          {"precision", "bf16"}, {"checked", true}, {"device", device}, {"samples_us", {us, us, us}}};
}

const ProductConstants& hopper() { return *catalog().find<OperatorProfile>(part().family)->product; }

Json attention(double tokens, const Device& device) {
  Operator work;
  work.kind = OperatorKind::attention;
  work.m = work.n = tokens;
  work.k = 128;
  work.batch = 16384.0 / tokens * 32;
  work.flops = Flops(4 * work.batch * tokens * tokens * 128);
  work.bytes = Bytes(2.0 * 16384 * 128 * (2 * 32 + 2 * 8));
  const double us = operator_time(work, device).in(1_us);
  return {{"kind", "attention"}, {"batch", 16384 / tokens},    {"heads", 32},
          {"kv_heads", 8},       {"seq_len", tokens},          {"head_dim", 128},
          {"causal", false},     {"pass", "forward"},          {"precision", "bf16"},
          {"device", "gpu0"},    {"samples_us", {us, us, us}}, {"checked", true}};
}

Device hopper_device() {
  const ComputeProfile& family = *catalog().find<ComputeProfile>(part().family);
  Device out;
  out.peak_wide = part().peak(Precision::fp16);
  out.kernel_floor = family.kernel_floor;
  out.memory_bandwidth = part().memory_bandwidth * family.memory_share;
  out.attention_forward_share = family.attention_forward_share.at("native");
  out.attention_half_sequence = family.attention_half_sequence;
  return out;
}

Json copy_in_memory(int size, double TBps) {
  const double us = 2.0 * size / TBps / 1e6;
  return {{"kind", "memory"}, {"op", "copy"},           {"size_bytes", size}, {"moved_bytes", 2.0 * size},
          {"device", "gpu0"}, {"samples_us", {us, us}}, {"checked", true}};
}

/// Multiplies a row's times.
Json slower(Json row, double factor) {
  for (Json& us : row["samples_us"]) us = us.get<double>() * factor;
  return row;
}

std::vector<std::string> outliers(const CalibrationProfile& profile) {
  std::vector<std::string> out;
  for (const FitOutlier& outlier : profile.outliers) out.push_back(outlier.row);
  return out;
}

const FittedConstant& constant(const CalibrationProfile& profile, const std::string& key) {
  return *std::find_if(profile.constants.begin(), profile.constants.end(),
                       [&](const FittedConstant& c) { return c.key == key; });
}

TEST(DeviceFit, AProductFarFromTheOthersIsNamedAndLeftOut) {
  Json rows = Json::array();
  for (const double n : {1024.0, 2048.0, 4096.0, 8192.0})
    for (const double k : {2048.0, 8192.0}) rows.push_back(product(hopper(), 4096, n, k));
  const CalibrationProfile sound = fit(rows);
  EXPECT_THAT(sound.outliers, IsEmpty());
  rows[3] = slower(rows[3], 8);
  const CalibrationProfile profile = fit(rows);
  EXPECT_THAT(outliers(profile), ElementsAre("product bf16 4096 × 2048 × 8192, a.json, gpu0"));
  EXPECT_NEAR(profile.outliers.front().measured / profile.outliers.front().expected, 8, 0.2);
  EXPECT_NEAR(constant(profile, "product.burst_share.bf16").value, constant(sound, "product.burst_share.bf16").value,
              0.01);
  ASSERT_EQ(profile.held_out.size(), 1U);
  EXPECT_EQ(profile.held_out.front().rows, 3U);
  EXPECT_LT(profile.held_out.front().mean_percent, 2);
}

TEST(DeviceFit, ASlowDeviceHasNoOutliers) {
  Json rows = Json::array();
  for (const char* device : {"gpu0", "gpu1", "gpu2", "gpu3"})
    for (const double n : {1024.0, 2048.0, 4096.0, 8192.0})
      rows.push_back(slower(product(hopper(), 4096, n, 4096, device), std::string(device) == "gpu2" ? 4 : 1));
  EXPECT_THAT(fit(rows).outliers, IsEmpty());
}

TEST(DeviceFit, AttentionAndMemoryFarFromTheOthersAreNamedAndLeftOut) {
  Json rows = Json::array();
  for (const double tokens : {512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0})
    rows.push_back(attention(tokens, hopper_device()));
  for (const int size : {1 << 28, 1 << 29, 1 << 30, 1 << 30}) rows.push_back(copy_in_memory(size, 2.8));
  const CalibrationProfile sound = fit(rows);
  EXPECT_THAT(sound.outliers, IsEmpty());
  rows[4] = slower(rows[4], 5);
  rows[8] = slower(rows[8], 0.2);
  const CalibrationProfile profile = fit(rows);
  EXPECT_THAT(outliers(profile), ElementsAre("memory copy of 1073741824 bytes, a.json, gpu0",
                                             "attention bf16 forward 64 heads × 8192 tokens × 128, a.json, gpu0"));
  for (const char* key : {"memory_share", "attention_forward_share.native"})
    EXPECT_NEAR(constant(profile, key).value, constant(sound, key).value, 0.01) << key;
}

TEST(FarValues, LieFarFromTheirGroupByItsOwnSpread) {
  using Values = std::vector<GroupedValue>;
  const auto of = [](const Values& values) { return far_values(values); };
  EXPECT_THAT(of({{"a", 0}, {"a", 0.1}, {"a", -0.1}, {"a", 1}}), ElementsAre(false, false, false, true));
  EXPECT_THAT(of({{"a", 0}, {"a", 0.5}, {"a", -0.5}, {"a", 1}}), ElementsAre(false, false, false, false));
  EXPECT_THAT(of({{"a", 0}, {"b", 0}, {"c", 0}, {"d", 1}}), ElementsAre(false, false, false, true));
  EXPECT_THAT(of({{"a", 0}, {"a", 0}, {"a", 1}}), ElementsAre(false, false, false)) << "too few to tell";
}

}  // namespace
}  // namespace stepcast::device_fit_test
