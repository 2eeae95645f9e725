#include "models/scenario/memory_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"
#include "models/compute/device.hpp"
#include "models/compute/layout_conversion.hpp"
#include "models/parallelism/job.hpp"
#include "models/workload/steps.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

// Images with channels first and last: what convolutions convert, against timings of one H100 in both orders
// (calibration/data/convolution-layouts.csv against operators-conv.csv), and which scenarios have which.
namespace stepcast::memory_format_test {
namespace {

/// One timing, and cycles of a multiprocessor by which it takes longer channels first, for each element that a
/// conversion of its two images reads and writes.
struct Difference {
  bool pointwise, plain_product;
  double cycles;
};

const std::vector<std::string> kShape{
    "accelerator_id", "precision", "n",        "c",        "h",        "w", "k", "r", "s",
    "pad_h",          "pad_w",     "stride_h", "stride_w", "direction"};

template <class Take>
void for_each_row(const char* name, Take take) {
  const CsvTable table = read_csv(data_directory("calibration/data") / name);
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const CsvRow row(table, i, faults);
    std::string key;
    for (const std::string& column : kShape) key += row.text(column) + " ";
    take(row, key);
  }
  EXPECT_TRUE(faults.empty());
}

/// Of convolutions large enough that launches do not matter.
std::vector<Difference> differences(const std::string& precision) {
  const Accelerator& part = *test::catalog().find<Accelerator>("h100-sxm-80gb");
  std::map<std::string, double> usual_us;
  for_each_row("operators-conv.csv", [&](const CsvRow& row, const std::string& key) {
    usual_us.emplace(key, row.required_number("time_us"));
  });
  std::vector<Difference> out;
  for_each_row("convolution-layouts.csv", [&](const CsvRow& row, const std::string& key) {
    if (row.text("precision") != precision || usual_us.count(key) == 0) return;
    const auto number = [&](const char* column) { return row.required_number(column); };
    const auto size = [&](const char* image, const char* pad, const char* window, const char* stride) {
      const double padded = number(image) + 2 * std::stod(row.text(pad));
      return std::floor((padded - number(window)) / number(stride)) + 1;
    };
    const double height = size("h", "pad_h", "r", "stride_h"), width = size("w", "pad_w", "s", "stride_w");
    const double elements = 2 * number("n") * (number("c") * number("h") * number("w") + number("k") * height * width);
    constexpr double kManyElements = 20e6;
    if (elements < kManyElements || number("c") < 8) return;
    const bool pointwise = number("r") * number("s") == 1, whole = number("stride_h") == 1;
    const double word = precision == "bf16" ? 8 : 4;
    const double sign = row.text("algorithm") == "cudnn NCHW" ? 1 : -1;
    const double longer = sign * (number("time_us") - usual_us.at(key)) / 1e6;
    out.push_back({pointwise, pointwise && whole && std::fmod(height * width, word) == 0,
                   longer * part.sm_count * part.boost_clock_MHz * 1e6 / elements});
  });
  return out;
}

template <class Which>
double median_cycles(const std::string& precision, Which which) {
  std::vector<double> cycles;
  for (const Difference& one : differences(precision))
    if (which(one)) cycles.push_back(one.cycles);
  EXPECT_GT(cycles.size(), 8u);
  std::nth_element(cycles.begin(), cycles.begin() + cycles.size() / 2, cycles.end());
  return cycles[cycles.size() / 2];
}

double modelled_cycles() {
  LayerSharding cuts;
  cuts.bytes_per_element = 2;
  const LayerStep step = workload::layout_conversion(1e6, cuts);
  return step.op.bytes.value() / step.op.bytes_per_cycle / 1e6;
}

TEST(MemoryFormat, ConversionsTakeAsLongAsTimingsDiffer) {
  const double windows = median_cycles("bf16", [](const Difference& d) { return !d.pointwise; });
  EXPECT_NEAR(modelled_cycles(), windows, 0.05 * windows);
  const double others = median_cycles("bf16", [](const Difference& d) { return d.pointwise && !d.plain_product; });
  EXPECT_NEAR(modelled_cycles(), others, 0.1 * others);
}

/// fp32's elements are four bytes, and memory limits their conversion on an H100.
TEST(MemoryFormat, MemoryLimitsConversionsOfFp32) {
  const Accelerator& part = *test::catalog().find<Accelerator>("h100-sxm-80gb");
  const double measured = median_cycles("tf32", [](const Difference& d) { return !d.pointwise; });
  const double cycles_of_memory =
      sizeof(float) / part.memory_bandwidth.value() * part.sm_count * part.boost_clock_MHz * 1e6;
  EXPECT_GT(cycles_of_memory, modelled_cycles());
  EXPECT_GT(measured, cycles_of_memory);
  EXPECT_LT(measured, 1.3 * cycles_of_memory);
}

TEST(MemoryFormat, PlainProductsTakeImagesAsTheyAre) {
  for (const char* precision : {"bf16", "tf32"})
    EXPECT_LT(median_cycles(precision, [](const Difference& d) { return d.plain_product; }), 0.1 * modelled_cycles());
}

Scenario resnet50(std::vector<std::string> changes) {
  changes.insert(changes.begin(), {"strategy={\"framework\": \"pytorch-ddp\", \"micro_batch\": 64}",
                                   "cluster={\"node\": \"dgx-h100\", \"nodes\": 1}"});
  return test::shipped("resnet50-v100-8gpus.json", changes);
}

const std::string kFirst = "strategy.memory_format=channels_first", kLast = "strategy.memory_format=channels_last";

TEST(MemoryFormat, IsTheUsualOneOfAPrecision) {
  EXPECT_EQ(memory_format(resnet50({"workload.precision=bf16"})), MemoryFormat::channels_last);
  EXPECT_EQ(memory_format(resnet50({"workload.precision=tf32"})), MemoryFormat::channels_first);
  EXPECT_EQ(memory_format(resnet50({"workload.precision=tf32", kLast})), MemoryFormat::channels_last);
  EXPECT_EQ(memory_format(resnet50({"workload.precision=tf32", "strategy.torch_compile=true"})),
            MemoryFormat::channels_last);
  EXPECT_TRUE(converts_layouts(resnet50({"workload.precision=bf16", kFirst})));
  EXPECT_TRUE(converts_layouts(resnet50({"workload.precision=tf32"})));
  EXPECT_FALSE(converts_layouts(resnet50({"workload.precision=fp32"}))) << "no matrix unit";
  EXPECT_TRUE(converts_layouts(resnet50({"workload.precision=bf16", kFirst, "cluster.node=server-8xrtx-4090"})));
  EXPECT_FALSE(converts_layouts(resnet50({"workload.precision=tf32", "cluster.node=mi300x-platform-8"})))
      << "not timed";
}

/// Of sequences there is one order.
TEST(MemoryFormat, SequencesHaveChannelsFirst) {
  const std::string of_sound = "workload.model=hifi-gan";
  EXPECT_TRUE(converts_layouts(resnet50({"workload.precision=bf16", of_sound})));
  EXPECT_EQ(assumed_memory_format(resnet50({"workload.precision=bf16", of_sound})), "");
  EXPECT_THAT(test::refusal_of("resnet50-v100-8gpus.json", {kLast, of_sound}),
              testing::HasSubstr("hifi-gan is no network of images"));
}

double conversions(const std::vector<LayerStep>& steps) {
  double elements = 0;
  for (const LayerStep& step : steps)
    if (step.op.name == "layout_conversion") elements += step.op.bytes.value() / 2;
  return elements;
}

/// A 1×1 row on 28×28 images is a product of whole words; on 14×14 its planes are 196 elements, 24.5 words.
TEST(MemoryFormat, RowsConvertWhatTheirProductsCannotTake) {
  CnnLayer row;
  row.in_channels = row.out_channels = 64;
  row.height = row.width = 28;
  CnnShape shape;
  shape.layers = {row, row};
  LayerSharding cuts;
  cuts.bytes_per_element = 2;
  cuts.converts_layouts = true;
  const auto work = [&](const CnnLayer& layer) {
    shape.layers[1] = layer;
    return workload::cnn_work(shape, 1, 1, cuts);
  };
  EXPECT_EQ(conversions(work(row).forward), 0);
  CnnLayer narrow = row;
  narrow.height = narrow.width = 14;
  const double of_narrow = 2 * 2 * 64 * 14 * 14;
  EXPECT_EQ(conversions(work(narrow).forward), of_narrow);
  EXPECT_EQ(conversions(work(narrow).backward_input), of_narrow);
  EXPECT_EQ(conversions(work(narrow).backward_weight), of_narrow);
  CnnLayer window = row;
  window.kernel_height = window.kernel_width = 3;
  EXPECT_EQ(conversions(work(window).forward), 2 * 2 * 64 * 28 * 28);
  CnnLayer depthwise = window;
  depthwise.groups = 64;
  EXPECT_EQ(conversions(work(depthwise).forward), 0);
  cuts.converts_layouts = false;
  EXPECT_EQ(conversions(work(window).forward), 0);
}

double images_a_second(const std::vector<std::string>& changes) {
  const Scenario scenario = resnet50(changes);
  const Job job = lower(scenario);
  Seconds sum;
  for (const LayerCost& cost : job.layer_kinds)
    sum += cost.forward.total() + cost.backward_input.total() + cost.backward_weight.total();
  return 1 / sum.value();
}

TEST(MemoryFormat, ChannelsLastIsFasterOnMatrixUnits) {
  EXPECT_GT(images_a_second({"workload.precision=bf16"}), 1.2 * images_a_second({"workload.precision=bf16", kFirst}));
  EXPECT_GT(images_a_second({"workload.precision=tf32", kLast}), 1.1 * images_a_second({"workload.precision=tf32"}));
}

std::string refusal(const std::string& name, const std::vector<std::string>& changes) {
  return test::refusal_of(name, changes);
}

TEST(MemoryFormat, IsRefusedWhereItChangesNothing) {
  EXPECT_THAT(refusal("llama3-70b-h100-512.json", {kFirst}), testing::HasSubstr("is no network of images"));
  EXPECT_THAT(
      refusal("resnet50-v100-8gpus.json", {kFirst, "strategy.framework=pytorch-ddp", "strategy.torch_compile=true"}),
      testing::HasSubstr("torch.compile puts channels last"));
  EXPECT_EQ(refusal("resnet50-v100-8gpus.json", {kFirst}), "none");
}

/// What a forecast takes for granted is said; what is stated or a compiler's own is not.
TEST(MemoryFormat, IsSaidWhereItIsTakenForGranted) {
  const auto assumed = [](const std::vector<std::string>& changes) { return assumed_memory_format(resnet50(changes)); };
  EXPECT_EQ(assumed({"workload.precision=bf16"}),
            "images channels_last, as most runs in bf16 (strategy.memory_format)");
  EXPECT_EQ(assumed({"workload.precision=tf32"}),
            "images channels_first, as most runs in tf32 (strategy.memory_format)");
  EXPECT_EQ(assumed({"workload.precision=bf16", kFirst}), "");
  EXPECT_EQ(assumed({"workload.precision=tf32", kLast}), "");
  EXPECT_THAT(assumed({"workload.precision=fp32", kLast}), testing::HasSubstr("timed channels first alone"));
  EXPECT_EQ(assumed({"workload.precision=bf16", "strategy.torch_compile=true"}), "");
  EXPECT_EQ(assumed({"workload.precision=bf16", "cluster.node=mi300x-platform-8"}), "");
  EXPECT_THAT(assumed({"workload.precision=bf16", "cluster.node=mi300x-platform-8", kFirst}),
              testing::HasSubstr("either order of images' elements takes as long"));
}

}  // namespace
}  // namespace stepcast::memory_format_test
