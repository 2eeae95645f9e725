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

/// How many 68 % intervals hold what was planted.
struct Coverage {
  int held = 0, all = 0;
  void take(const CalibrationProfile& profile, const std::string& key, double truth) {
    const FittedConstant& found = constant(profile, key);
    held += found.low <= truth && truth <= found.high;
    ++all;
    EXPECT_LE(found.low, found.value) << key;
    EXPECT_GE(found.high, found.value) << key;
  }
};

Json noisy(Json row, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 0.01);
  const double us = row["samples_us"][0].get<double>();
  row["samples_us"] = Json::array();
  for (int i = 0; i < 10; ++i) row["samples_us"].push_back(us * (1 + noise(random)));
  return row;
}

// Devices whose constants lie about the catalogue's as the priors say: intervals of 68 % hold about so many of them,
// whether rows tell much of them or, as large products of a launch, nothing.
TEST(DeviceFit, IntervalsHoldTheConstantsOfDevicesDrawnFromThePrior) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Coverage products, attentions;
  for (int cluster = 0; cluster < 24; ++cluster) {
    ProductConstants truth = hopper();
    truth.memory_share = std::min(1.0, truth.memory_share * std::exp(0.2 * normal(random)));
    truth.launch = truth.launch * std::exp(0.5 * normal(random));
    truth.burst_share["bf16"] = std::min(1.0, truth.burst_share["bf16"] * std::exp(0.3 * normal(random)));
    Device device = hopper_device();
    device.attention_forward_share = std::min(1.0, device.attention_forward_share * std::exp(0.3 * normal(random)));
    device.attention_half_sequence *= std::exp(0.7 * normal(random));
    Json rows = Json::array();
    const bool large = cluster % 2 == 0;
    for (const double n : {4096.0, 6144.0, 8192.0})
      for (const double k : {4096.0, 8192.0})
        rows.push_back(noisy(large ? product(truth, n, 8192, k) : product(truth, n / 32, 8192, k / 8), random));
    for (const double tokens : {1024.0, 2048.0, 4096.0, 8192.0})
      rows.push_back(noisy(attention(large ? 2 * tokens : tokens / 4, device), random));
    const CalibrationProfile profile = fit(rows, 40);
    products.take(profile, "product.memory_share", truth.memory_share);
    products.take(profile, "product.launch_us", truth.launch.in(1_us));
    products.take(profile, "product.burst_share.bf16", truth.burst_share["bf16"]);
    attentions.take(profile, "attention_forward_share.native", device.attention_forward_share);
    attentions.take(profile, "attention_half_sequence", device.attention_half_sequence);
  }
  for (const Coverage& of : {products, attentions}) {
    EXPECT_GT(of.held, 0.55 * of.all) << "of " << of.all;
    EXPECT_LT(of.held, 0.85 * of.all) << "of " << of.all;
  }
}

TEST(DeviceFit, WhatNoProductTellsStaysTheCatalogues) {
  Json rows = Json::array();
  for (const double n : {4096.0, 8192.0}) rows.push_back(product(hopper(), n, 16384, 16384));
  const CalibrationProfile profile = fit(rows, 20);
  const Json& fitted = profile.catalogue.at("operator-profiles").at(part().family);
  for (const char* key : {"product.memory_share", "product.launch_us"}) {
    const FittedConstant& found = constant(profile, key);
    EXPECT_EQ(found.rows, 0U) << key;
    EXPECT_EQ(found.value, found.prior) << key;
    EXPECT_LE(found.high, std::string(key) == "product.memory_share" ? 1 : 100) << key;
    EXPECT_EQ(interval_text(found), "not told by these results") << key;
    EXPECT_FALSE(fitted["sources"].contains(key) &&
                 fitted["sources"][key].get<std::string>().starts_with("calibration"))
        << key;
  }
  EXPECT_EQ(constant(profile, "product.burst_share.bf16").rows, 2U);
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
