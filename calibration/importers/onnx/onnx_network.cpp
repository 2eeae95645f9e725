#include "calibration/importers/onnx/onnx_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "calibration/importers/onnx/onnx_passes.hpp"
#include "calibration/importers/onnx/onnx_products.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

constexpr double kGiga = 1e9, kMega = 1e6;
/// Results of fewer channels cannot keep wide matrix units busy (docs/formats/scenario-keys.md, narrow_windows).
constexpr double kNarrow = 200;
/// Faults of one file that are worth reading.
constexpr std::size_t kMostFaults = 5;

/// What a graph's operators add up to, for all samples that its sizes hold.
struct Totals {
  CompactShape shape;
  double steps_flops = 0;               ///< of recurrences
  double channels_of_flops = 0;         ///< of grouped convolutions: FLOPs ÷ channels of a group
  std::map<double, double> windows;     ///< FLOPs by channels that they give
  double passes = 0, mixed_passes = 0;  ///< elements
  std::map<ElementKernelKind, double> by_element;
  int kernels = 0, mixed_kernels = 0;
  std::map<std::string, int> without_rule;
};

double* flops_of(CompactShape& shape, const OnnxProduct& product) {
  if (!product.convolves) return &shape.gemm_GFLOPs;
  switch (product.convolution) {
    case ConvolutionKind::pointwise:
      return &shape.pointwise_GFLOPs;
    case ConvolutionKind::three_by_three:
      return &shape.three_by_three_GFLOPs;
    case ConvolutionKind::grouped:
      return &shape.grouped_GFLOPs;
    case ConvolutionKind::depthwise:
      return &shape.depthwise_GFLOPs;
    case ConvolutionKind::window:
      break;
  }
  return &shape.window_GFLOPs;
}

void add_product(Totals& totals, const OnnxProduct& product) {
  *flops_of(totals.shape, product) += product.flops;
  totals.shape.activation_Melements += product.elements;
  totals.shape.layers += product.weighted ? 1 : 0;
  constexpr int kKernelsOfGroup = 3;  // its part is cut out, multiplied and put into the result
  const int kernels = product.single_groups > 0 ? kKernelsOfGroup * product.single_groups : 1;
  totals.kernels += kernels;
  totals.mixed_kernels += kernels;
  if (product.sliced > 0) totals.by_element[ElementKernelKind::strided] += product.sliced;
  if (product.steps > 1) {
    totals.steps_flops += product.flops;
    totals.shape.sequential_steps = std::max(totals.shape.sequential_steps, product.steps);
  }
  if (!product.convolves) return;
  const bool window =
      product.convolution == ConvolutionKind::window || product.convolution == ConvolutionKind::three_by_three;
  if (window && product.channels < kNarrow) totals.windows[product.channels] += product.flops;
  if (product.convolution == ConvolutionKind::grouped) totals.channels_of_flops += product.flops / product.channels;
}

void add_weights(CompactShape& shape, const OnnxGraph& graph) {
  std::map<std::pair<double, double>, double> matrices;
  for (const auto& [name, tensor] : graph.weights()) {
    const double elements = tensor.elements();
    shape.parameters_M += elements;
    shape.largest_tensor_M = std::max(shape.largest_tensor_M, elements);
    if (tensor.sizes.size() > 1) ++matrices[{tensor.sizes.front(), elements / tensor.sizes.front()}];
  }
  for (const auto& [sizes, count] : matrices)
    if (sizes.first >= 1 && sizes.second >= 1) shape.weight_matrices.push_back({sizes.first, sizes.second, count});
}

double rounded(double value) {
  if (value <= 0) return 0;
  const double scale = std::pow(10.0, 4 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

/// Rounded, all parameters may come to fewer than those in matrices: then they are what these come to.
void round_parameters(CompactShape& shape) {
  double in_matrices = 0;
  for (const WeightMatrix& matrix : shape.weight_matrices) in_matrices += matrix.rows * matrix.columns * matrix.count;
  shape.parameters_M = std::max(rounded(shape.parameters_M / kMega), in_matrices / kMega);
}

/// The narrow ones by their channels. Rounded each for itself, they may come to more than all windows: those are then
/// what they come to.
void add_narrow_windows(CompactShape& shape, const std::map<double, double>& flops, double samples) {
  double narrow = 0;
  for (const auto& [channels, of_channels] : flops) {
    shape.narrow_windows.push_back({channels, rounded(of_channels / samples / kGiga)});
    narrow += shape.narrow_windows.back().GFLOPs;
  }
  const double missing = narrow - shape.three_by_three_GFLOPs - shape.window_GFLOPs;
  double& any = shape.window_GFLOPs > 0 ? shape.window_GFLOPs : shape.three_by_three_GFLOPs;
  constexpr double kDigits = 1e9;
  if (missing > 0) any = std::ceil((any + missing) * kDigits) / kDigits;
}

/// Totals of so many samples as those of one, in the units of the keys.
CompactShape of_one_sample(Totals& totals, double samples) {
  CompactShape shape = totals.shape;
  const double elements = shape.activation_Melements;
  for (double* flops : {&shape.gemm_GFLOPs, &shape.pointwise_GFLOPs, &shape.three_by_three_GFLOPs, &shape.window_GFLOPs,
                        &shape.grouped_GFLOPs, &shape.depthwise_GFLOPs})
    *flops = rounded(*flops / samples / kGiga);
  if (totals.channels_of_flops > 0)
    shape.grouped_channels = rounded(totals.shape.grouped_GFLOPs / totals.channels_of_flops);
  add_narrow_windows(shape, totals.windows, samples);
  round_parameters(shape);
  shape.largest_tensor_M = rounded(shape.largest_tensor_M / kMega);
  shape.activation_Melements = rounded(elements / samples / kMega);
  shape.streaming_passes = rounded(totals.passes / elements);
  shape.mixed_precision_passes = rounded(totals.mixed_passes / elements);
  for (const auto& [kind, moved] : totals.by_element)
    shape.element_kernels.push_back({kind, rounded(moved / samples / kMega)});
  shape.kernels_per_layer = rounded(std::max(1.0, static_cast<double>(totals.kernels) / shape.layers));
  shape.mixed_precision_kernels_per_layer =
      rounded(std::max(1.0, static_cast<double>(totals.mixed_kernels) / shape.layers));
  return shape;
}

/// Recurrences are steps one after another where they are most of the work; beside a network they are not described.
void settle_steps(Totals& totals, double flops, std::vector<std::string>& notes) {
  if (totals.shape.sequential_steps == 1 || totals.steps_flops > flops / 2) return;
  notes.push_back(
      fmt::format("recurrences of {} steps are less than half of its products: they are counted as if they ran at once",
                  totals.shape.sequential_steps));
  totals.shape.sequential_steps = 1;
}

void add_data(OnnxNetwork& network, const OnnxGraph& graph) {
  const std::vector<double>& sizes = graph.value(graph.inputs.front()).sizes;
  if (sizes.size() == 4 && sizes[1] <= 4 && sizes[2] == sizes[3]) network.shape.image_side = static_cast<int>(sizes[2]);
}

/// Where an input's sizes have its samples: recurrences take steps first unless `layout` says otherwise.
std::size_t axis_of_samples(const OnnxGraph& graph, const std::string& input) {
  const OnnxNode* taker = graph.only_taker(input);
  const bool recurs = taker != nullptr && (taker->is("LSTM") || taker->is("GRU") || taker->is("RNN"));
  return recurs && taker->number("layout", 0) == 0 ? 1 : 0;
}

double samples_of(const OnnxGraph& graph, const std::string& file) {
  for (const std::string& input : graph.inputs) {
    const OnnxValue& value = graph.value(input);
    const std::size_t axis = axis_of_samples(graph, input);
    if (value.known && value.sizes.size() > axis) return std::max(1.0, value.sizes[axis]);
  }
  throw InputError({{file, "", "no input has known sizes", "a model that takes a batch of samples"}});
}

/// Kernels that automatic mixed precision casts a product's weights and biases with.
int casts_of_weights(const OnnxGraph& graph, const OnnxNode& node) {
  if (!is_product(node)) return 0;
  const auto weighs = [&](const std::string& input) { return graph.value(input).weight; };
  return static_cast<int>(std::count_if(node.inputs.begin(), node.inputs.end(), weighs));
}

void add_all(Totals& totals, const OnnxGraph& graph, std::vector<Fault>& faults, const std::string& file) {
  const std::map<std::string, double> widths = mixed_precision_widths(graph);
  for (const OnnxNode& node : graph.nodes) {
    if (is_product(node)) {
      const std::optional<OnnxProduct> product = product_of(graph, node);
      if (product)
        add_product(totals, *product);
      else if (faults.size() < kMostFaults)
        faults.push_back(
            {file, "", fmt::format("sizes of {} \"{}\" do not follow from those of the inputs", node.kind, node.name),
             "export it with sizes that are fixed, or simplify it (onnxsim)"});
    }
    const OnnxTraffic traffic = traffic_of(graph, node, {});
    totals.passes += traffic.forward + traffic.backward;
    totals.kernels += traffic.kernels;
    if (!traffic.known) ++totals.without_rule[node.kind];
    const OnnxTraffic mixed = traffic_of(graph, node, widths);
    totals.mixed_passes += mixed.forward + mixed.backward;
    totals.mixed_kernels += mixed.kernels + casts_of_weights(graph, node);
    if (traffic.kind) totals.by_element[*traffic.kind] += traffic.by_element;
    totals.shape.batch_norms += node.is("BatchNormalization") ? 1 : 0;
  }
  totals.passes += branch_gradients(graph, {});
  totals.mixed_passes += branch_gradients(graph, widths);
}

/// What was counted once: a weight of two names, and one that several products take. Exporters write weights of equal
/// numbers once, as fresh copies of a layer have them (nn.TransformerEncoder).
void note_shared_weights(OnnxNetwork& network, const OnnxGraph& graph) {
  std::map<std::string, int> products;
  for (const OnnxNode& node : graph.nodes) {
    if (!is_product(node)) continue;
    for (const std::string& input : node.inputs) {
      const OnnxValue& value = graph.value(input);
      if (!value.weight) continue;
      if (!value.tied_to.empty())
        network.notes.push_back(fmt::format(
            "\"{}\" holds the numbers of \"{}\": taken as one weight that both ends share", input, value.tied_to));
      const std::string& name = value.view_of.empty() ? input : value.view_of;
      if (graph.value(name).sizes.size() > 1) ++products[name];
    }
  }
  int shared = 0, all = 0;
  for (const auto& [name, count] : products)
    if (count > 1) ++shared, all += count;
  if (shared > 0)
    network.notes.push_back(
        fmt::format("{} weights go into {} products and are counted once: where layers only began as copies of one "
                    "another, export them trained or initialized apart",
                    shared, all));
}

void note_what_is_missing(OnnxNetwork& network, const Totals& totals, const OnnxGraph& graph) {
  for (const auto& [kind, count] : totals.without_rule)
    network.notes.push_back(fmt::format("{} × {}: no rule says what it moves; counted as nothing", count, kind));
  const bool convolves =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const OnnxNode& n) { return n.is("Conv"); });
  const bool norms = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                 [](const OnnxNode& n) { return n.kind.find("Normalization") != std::string::npos; });
  if (convolves && !norms)
    network.notes.emplace_back(
        "no norm stands behind its convolutions: where training has some, export with "
        "training=torch.onnx.TrainingMode.PRESERVE, which does not fold them in");
  if (network.samples > 1)
    network.notes.push_back(
        fmt::format("its inputs hold {} samples: what it counts is divided by that", network.samples));
}

}  // namespace

OnnxNetwork count_network(OnnxGraph graph, const std::string& file) {
  fuse(graph);
  OnnxNetwork network;
  network.samples = samples_of(graph, file);
  Totals totals;
  std::vector<Fault> faults;
  add_all(totals, graph, faults, file);
  add_weights(totals.shape, graph);
  if (faults.empty() && totals.shape.layers == 0)
    faults.push_back({file, "", "no operator multiplies a trained weight", "a network with its weights"});
  if (!faults.empty()) throw InputError(faults);
  const CompactShape& s = totals.shape;
  settle_steps(totals,
               s.gemm_GFLOPs + s.pointwise_GFLOPs + s.three_by_three_GFLOPs + s.window_GFLOPs + s.grouped_GFLOPs +
                   s.depthwise_GFLOPs,
               network.notes);
  network.shape = of_one_sample(totals, network.samples);
  add_data(network, graph);
  note_what_is_missing(network, totals, graph);
  note_shared_weights(network, graph);
  return network;
}

}  // namespace stepcast
