#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"
#include "models/workload/steps.hpp"
#include "tests/shipped_catalog.hpp"

// Hopper's constants of convolutions are what the timings of one H100 say (calibration/data/convolution-kinds.csv).
namespace stepcast::hopper_convolutions_test {
namespace {

const Accelerator& h100() { return *test::catalog().find<Accelerator>("h100-sxm-80gb"); }
const ComputeProfile& hopper() { return *test::catalog().find<ComputeProfile>("nvidia-hopper"); }

struct Timing {
  std::string precision, kind, direction;
  double channels = 1, filters = 1, groups = 1, stride = 1;
  std::vector<double> image, window;
  double flops = 0;
  double time = 0;     ///< whole
  double seconds = 0;  ///< beside the tensors' traffic, in quadrature

  [[nodiscard]] double share() const { return flops / seconds / peak(); }
  [[nodiscard]] double peak() const { return h100().peak_TFLOPS.at(precision).value(); }
};

/// The sides in a text like 56x56.
std::vector<double> sides(const std::string& text) {
  std::vector<double> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    out.push_back(std::stod(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

double product(const std::vector<double>& factors) {
  return std::accumulate(factors.begin(), factors.end(), 1.0, std::multiplies<>());
}

/// What a convolution with channels first takes for the conversion of its images, `elements` read and written.
double conversion(double elements, double element_bytes) {
  LayerSharding cuts;
  cuts.bytes_per_element = element_bytes;
  const LayerStep step = workload::layout_conversion(2 * elements, cuts);
  const double cycles = h100().sm_count * h100().boost_clock_MHz * 1e6;
  return std::max(step.op.bytes.value() / step.op.bytes_per_cycle / cycles,
                  step.op.bytes.value() / (h100().memory_bandwidth.value() * hopper().memory_share));
}

/// bf16 channels last, and TF32 channels first without the conversions that grouped ones make: the constants'
/// convolutions.
std::vector<Timing> timings() {
  const CsvTable table = read_csv(data_directory("calibration/data") / "convolution-kinds.csv");
  std::vector<Fault> faults;
  std::vector<Timing> out;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    const bool last = row.text("layout") == "last";
    if (last != (row.text("precision") == "bf16") || row.text("kind") == "transposed") continue;
    Timing t;
    t.precision = row.text("precision");
    t.kind = row.text("kind");
    t.direction = row.text("direction");
    t.channels = row.required_number("c");
    t.filters = row.required_number("k");
    t.groups = row.required_number("groups");
    t.stride = row.required_number("stride");
    t.image = sides(row.text("image"));
    t.window = sides(row.text("window"));
    t.time = row.required_number("time_us") / 1e6;
    t.flops = row.required_number("tflops") * 1e12 * t.time;
    const double pixels = product(t.image);
    const double results = pixels / std::pow(t.stride, static_cast<double>(t.image.size()));
    const double elements = row.required_number("n") * (t.channels * pixels + t.filters * results);
    const double bytes = elements * (t.precision == "bf16" ? 2 : 4);
    const double traffic = bytes / (h100().memory_bandwidth.value() * hopper().memory_share);
    const double alone = t.time - (!last && t.kind == "grouped" ? conversion(elements, 4) : 0);
    t.seconds = std::sqrt(std::max(alone * alone - traffic * traffic, 0.0));
    out.push_back(t);
  }
  EXPECT_TRUE(faults.empty());
  return out;
}

/// FLOPs over time of those that `weight` counts.
template <class Weight>
double share(const std::string& precision, Weight weight) {
  double flops = 0;
  double seconds = 0;
  double peak = 1;
  for (const Timing& t : timings()) {
    if (t.precision != precision) continue;
    const double times = weight(t);
    flops += times * t.flops;
    seconds += times * t.seconds;
    peak = t.peak();
  }
  return flops / seconds / peak;
}

// Blocks of a ResNeXt in order: the first of each stage but one has the stride.
double share_of_resnext(const std::string& precision, double first_width, const std::vector<int>& blocks) {
  return share(precision, [&](const Timing& t) {
    if (t.kind != "grouped" || t.groups != 32) return 0.0;
    const double stage = std::log2(t.channels / first_width);
    if (stage < 0 || stage > 3 || t.image.front() / t.stride != 56 / std::exp2(stage)) return 0.0;
    if (t.stride > 1) return 1.0;
    return static_cast<double>(blocks.at(static_cast<std::size_t>(stage)) - (stage > 0 ? 1 : 0));
  });
}

// At 8 channels a group. Harmonic means over a network's blocks: 9.3 channels of ResNeXt-50 32x4d, 23.7 of 101 32x8d.
TEST(HopperConvolutions, GroupedOnesReachAShareInProportionToTheirChannels) {
  for (const auto& [precision, key] : {std::pair{"bf16", "fp16"}, std::pair{"tf32", "tf32"}}) {
    const double narrow = share_of_resnext(precision, 128, {3, 4, 6, 3}) * 8 / 9.3;
    const double wide = share_of_resnext(precision, 256, {3, 4, 23, 3}) * 8 / 23.7;
    EXPECT_NEAR(wide / narrow, 1.1, 0.15) << precision;
    EXPECT_NEAR(hopper().convolution_grouped_share.at(key) / std::sqrt(narrow * wide), 1, 0.05) << precision;
  }
}

TEST(HopperConvolutions, DepthwiseOnesReachAShareOfTheFp32Peak) {
  const auto of_images = [](const Timing& t) { return t.kind == "depthwise" && t.image.size() == 2 ? 1.0 : 0.0; };
  const auto of_fp32 = [&](const char* precision) {
    return share(precision, of_images) * (h100().peak_TFLOPS.at(precision) / h100().peak_TFLOPS.at("fp32"));
  };
  EXPECT_NEAR(hopper().convolution_depthwise_share / of_fp32("bf16"), 1, 0.05);
  EXPECT_NEAR(hopper().convolution_depthwise_share_fp32 / of_fp32("tf32"), 1, 0.05);
}

/// Mean deviation, in logarithms, from one share a kind, precision and direction that falls with the width of results
/// below `full`.
double deviation(double full) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> kinds;
  std::size_t count = 0;
  for (const Timing& t : timings()) {
    const bool flat = *std::min_element(t.window.begin(), t.window.end()) == 1;
    const double channels = t.channels / t.groups;
    if ((t.kind != "volume" && t.kind != "grouped") || t.stride > 1 || flat || channels < 4 || t.time < 40e-6) continue;
    const double width = t.direction == "bwd-data" ? channels : t.filters / t.groups;
    kinds[{t.kind, t.precision, t.direction}].push_back(std::log(t.share() / std::min(1.0, width / full)));
    ++count;
  }
  double sum = 0;
  for (auto& [kind, shares] : kinds) {
    const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
    std::nth_element(shares.begin(), middle, shares.end());
    const double median = *middle;
    for (const double one : shares) sum += std::abs(one - median);
  }
  return sum / static_cast<double>(count);
}

TEST(HopperConvolutions, MatrixUnitsAreFullAtSomeHundredChannels) {
  const double full = hopper().convolution_full_width;
  EXPECT_LT(deviation(full), 0.55 * deviation(1));
  EXPECT_LT(deviation(full), deviation(full / 2));
  EXPECT_LT(deviation(full), deviation(full * 2));
}

}  // namespace
}  // namespace stepcast::hopper_convolutions_test
