#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"
#include "models/compute/device.hpp"
#include "models/workload/steps.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Kernels that find each element's place for themselves, against timings of one H100 (calibration/data/streams.csv),
// and the launches of networks against traces of it (calibration/data/launches.csv).
namespace stepcast::element_kernels_test {
namespace {

LayerSharding eager(double bytes_per_element = 2, bool channels_first = false) {
  LayerSharding cuts;
  cuts.channels_first = channels_first;
  cuts.bytes_per_element = bytes_per_element;
  cuts.kernels_by_element = true;
  return cuts;
}

double cycles_of_h100() {
  const Accelerator& part = *test::catalog().find<Accelerator>("h100-sxm-80gb");
  return part.sm_count * part.boost_clock_MHz * 1e6;
}

struct Timing {
  double elements = 0, seconds = 0;
};
/// kernel, format, layout, shape → direction → timing.
using Timings = std::map<std::tuple<std::string, std::string, std::string, std::string>, std::map<std::string, Timing>>;

Timings timings() {
  const CsvTable table = read_csv(data_directory("calibration/data") / "streams.csv");
  std::vector<Fault> faults;
  Timings out;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    out[{row.text("kernel"), row.text("format"), row.text("layout"), row.text("shape")}][row.text("direction")] = {
        row.required_number("bytes") / (row.text("format") == "bf16" ? 2 : 4), row.required_number("time_us") / 1e6};
  }
  EXPECT_TRUE(faults.empty());
  return out;
}

/// Elements in and out forward that a multiprocessor handles in a cycle, in 16 bit: geometric means of these kernels,
/// of a layout or (empty) of any.
std::pair<double, double> measured_rates(const std::set<std::string>& kernels, const std::string& of_layout = "") {
  double forward = 0, backward = 0;
  int count = 0;
  for (const auto& [key, by_direction] : timings()) {
    const auto& [kernel, format, layout, shape] = key;
    if (kernels.count(kernel) == 0 || format != "bf16" || (!of_layout.empty() && layout != of_layout)) continue;
    const Timing one = by_direction.at("fwd"), both = by_direction.at("both");
    const double of_cycles = one.elements / cycles_of_h100();
    forward += std::log(of_cycles / one.seconds);
    backward += std::log(of_cycles / (both.seconds - one.seconds));
    ++count;
  }
  EXPECT_GT(count, 2);
  return {std::exp(forward / count), std::exp(backward / count)};
}

void expect_rates(const LayerStep& forward, const LayerStep& backward, double elements,
                  const std::pair<double, double>& measured) {
  const auto rate = [&](const LayerStep& step) { return elements * step.op.bytes_per_cycle / step.op.bytes.value(); };
  EXPECT_NEAR(rate(forward), measured.first, 0.03 * measured.first) << forward.op.name;
  EXPECT_NEAR(rate(backward), measured.second, 0.03 * measured.second) << backward.op.name;
}

/// The constants are those means, to their two digits.
TEST(ElementKernels, RatesAreThoseOfTheTimings) {
  const auto expect_of = [](ElementKernelKind kind, bool first, const std::pair<double, double>& measured) {
    expect_rates(workload::element_kernel(kind, 1e6, false, eager(2, first)),
                 workload::element_kernel(kind, 1e6, true, eager(2, first)), 1e6, measured);
  };
  for (const bool first : {false, true}) {
    const std::string layout = first ? "first" : "last";
    expect_of(ElementKernelKind::strided, first, measured_rates({"heads", "windows", "scale", "channel_scale"}));
    expect_of(ElementKernelKind::roll, first, measured_rates({"roll"}));
    expect_of(ElementKernelKind::max_pool, first, measured_rates({"max_pool", "max_pool_2x2"}, layout));
    expect_of(ElementKernelKind::average_pool, first, measured_rates({"average_pool", "average_pool_2x2"}, layout));
    expect_of(ElementKernelKind::nearest_resize, first, measured_rates({"interpolate"}, layout));
    // Channels first one thread steps through all channels of a pixel: 400 times slower where pixels are few.
    expect_of(ElementKernelKind::linear_resize, first, measured_rates({"interpolate_linearly"}, "last"));
  }
}

/// Batch norms find their elements channels first, and stream channels last.
TEST(ElementKernels, BatchNormsAreOfALayout) {
  const LayerSharding first = eager(2, true), last = eager();
  expect_rates(workload::batch_norm(6e6, 2e6, false, first), workload::batch_norm(10e6, 2e6, true, first), 2e6,
               measured_rates({"batch_norm"}, "first"));
  EXPECT_EQ(workload::batch_norm(6e6, 2e6, false, last).op.bytes_per_cycle, 0);
}

/// 1 M elements are found in the same time in fp32 as in 16 bit.
TEST(ElementKernels, WidthOfElementsDoesNotMatter) {
  const auto cycles = [](double bytes_per_element) {
    const LayerStep step = workload::element_kernel(ElementKernelKind::max_pool, 1e6, false, eager(bytes_per_element));
    return step.op.bytes.value() / step.op.bytes_per_cycle;
  };
  EXPECT_DOUBLE_EQ(cycles(2), cycles(4));
  EXPECT_DOUBLE_EQ(cycles(2), 1e6 / 1.21);
}

/// Of another framework they are streaming kernels with its passes.
TEST(ElementKernels, StreamWhereAFrameworkHasOthers) {
  LayerSharding cuts;
  cuts.bytes_per_element = 2;
  cuts.memory_passes = 1.5;
  const LayerStep step = workload::element_kernel(ElementKernelKind::roll, 1e6, true, cuts);
  EXPECT_EQ(step.op.bytes_per_cycle, 0);
  EXPECT_DOUBLE_EQ(step.op.bytes.value(), 3e6);
}

/// Inception-v3's windows average: its nine rows are no max pools, which backward take half the time.
TEST(ElementKernels, PoolingRowsOfCnnsAreOfTwoKinds) {
  const Model& model = *test::preset("inception-v3");
  int averages = 0, maxima = 0;
  for (int i = 0; i < layer_count(model); ++i)
    for (const LayerStep& step : layer_work(model, LayerRole::cnn, i, 1, 0, eager()).forward) {
      averages += step.op.name == "average_pool";
      maxima += step.op.name == "max_pool";
    }
  EXPECT_EQ(averages, 9);
  EXPECT_EQ(maxima, 4);
}

double forward_launches(const Model& model, const LayerSharding& cuts) {
  double sum = 0;
  for (int i = 0; i < layer_count(model); ++i)
    for (const LayerStep& step : layer_work(model, LayerRole::cnn, i, 1, 0, cuts).forward) sum += step.op.kernels;
  return sum;
}

/// Steps of two samples wait for the host: on one machine all networks, of 66 to 850 launches forward, take the same
/// time a launch within a quarter.
TEST(Launches, ExplainTheStepsThatHostsBound) {
  const CsvTable table = read_csv(data_directory("calibration/data") / "launches.csv");
  std::vector<Fault> faults;
  std::map<std::string, double> us_of_launch;
  double logarithms = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    const Model& model = *test::preset(row.text("model"));
    if (row.required_number("per_gpu_batch") > 2 || model.is_transformer()) continue;
    LayerSharding cuts = eager(row.text("precision") == "bf16" ? 2 : 4);
    cuts.automatic_mixed_precision = true;
    const double us = row.required_number("step_ms") * 1e3 / forward_launches(model, cuts);
    us_of_launch[row.text("model") + " " + row.text("precision")] = us;
    logarithms += std::log(us);
  }
  EXPECT_TRUE(faults.empty());
  ASSERT_GT(us_of_launch.size(), 10u);
  const double mean = std::exp(logarithms / static_cast<double>(us_of_launch.size()));
  for (const auto& [name, us] : us_of_launch) EXPECT_NEAR(us, mean, 0.25 * mean) << name;
}

/// The forward pass is a third to a quarter of a step's kernels.
TEST(Launches, AreThoseOfTheTraces) {
  const CsvTable table = read_csv(data_directory("calibration/data") / "launches.csv");
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    const Model& model = *test::preset(row.text("model"));
    if (model.is_transformer()) continue;
    LayerSharding cuts = eager(row.text("precision") == "bf16" ? 2 : 4);
    cuts.automatic_mixed_precision = true;
    const double of_step = row.required_number("kernels") / forward_launches(model, cuts);
    EXPECT_GT(of_step, 2.7) << row.text("model");
    EXPECT_LT(of_step, 4.3) << row.text("model");
  }
}

}  // namespace
}  // namespace stepcast::element_kernels_test
