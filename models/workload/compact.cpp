#include <algorithm>
#include <cmath>

#include "models/workload/steps.hpp"

// A network by its totals, as equal layers: each multiplies (by kind of product), then streams over what it gave. A
// layer's output m·n = elements / layers is given by its kinds of products in proportion to their FLOPs, so
// that all have the same depth k.
namespace stepcast {
namespace {

constexpr double kMostGflops = 1e7, kMostMillions = 1e7;

struct Part {
  double gflops;
  OperatorKind kind;
  ConvolutionKind convolution;
  std::string_view forward, input_gradient, weight_gradient;
  double width = 0;      ///< of its results, in channels; 0: wide
  bool launches = true;  ///< it is no share of another part's kernels
};

/// Of a part's FLOPs; less is what sums in floating point leave.
constexpr double kNothing = 1e-9;

bool has_windows(const Part& part) {
  return part.kind == OperatorKind::convolution &&
         (part.convolution == ConvolutionKind::window || part.convolution == ConvolutionKind::three_by_three);
}

/// Takes what is narrow out of the windows, of either kind in proportion. One of the parts of a kind stands for its
/// launches.
void part_narrow_windows(const CompactShape& shape, std::vector<Part>& parts) {
  const double windows = shape.window_GFLOPs + shape.three_by_three_GFLOPs;
  std::vector<Part> narrow_parts;
  for (Part& wide : parts) {
    if (!has_windows(wide) || wide.gflops <= 0) continue;
    const double share = wide.gflops / windows;
    for (const NarrowWindows& narrow : shape.narrow_windows) {
      Part part = wide;
      part.gflops = share * narrow.GFLOPs;
      part.width = narrow.channels;
      wide.gflops -= part.gflops;
      // Rounding may leave a trace of what is all narrow.
      part.launches = &narrow == &shape.narrow_windows.back() && wide.gflops <= kNothing * part.gflops;
      if (part.launches) wide.gflops = 0;
      narrow_parts.push_back(part);
    }
  }
  parts.insert(parts.end(), narrow_parts.begin(), narrow_parts.end());
}

std::vector<Part> parts_of(const CompactShape& shape) {
  constexpr OperatorKind kConvolution = OperatorKind::convolution;
  std::vector<Part> parts{
      Part{shape.gemm_GFLOPs, OperatorKind::gemm, ConvolutionKind::window, "product", "product_dgrad", "product_wgrad"},
      Part{shape.pointwise_GFLOPs, kConvolution, ConvolutionKind::pointwise, "pointwise_convolution", "pointwise_dgrad",
           "pointwise_wgrad"},
      Part{shape.three_by_three_GFLOPs, kConvolution, ConvolutionKind::three_by_three, "convolution_3x3",
           "convolution_3x3_dgrad", "convolution_3x3_wgrad"},
      Part{shape.window_GFLOPs, kConvolution, ConvolutionKind::window, "convolution", "convolution_dgrad",
           "convolution_wgrad"},
      Part{shape.grouped_GFLOPs, kConvolution, ConvolutionKind::grouped, "grouped_convolution", "grouped_dgrad",
           "grouped_wgrad", shape.grouped_channels},
      Part{shape.depthwise_GFLOPs, kConvolution, ConvolutionKind::depthwise, "depthwise_convolution", "depthwise_dgrad",
           "depthwise_wgrad"}};
  part_narrow_windows(shape, parts);
  return parts;
}

/// Share of the passes that the forward direction makes: batch norm and ReLU take 5 of 13 (cnn.cpp).
constexpr double kForwardPasses = 5.0 / 13;
/// Of either direction's, what batch norms take.
constexpr double kForwardNorms = 3.0 / 5, kBackwardNorms = 5.0 / 8;

/// What is left of these where both are compiled into the same kernels (cnn.cpp).
constexpr double kCompiledPasses = 10.0 / 13;

}  // namespace

const FieldTable<WeightMatrix>& WeightMatrix::fields() {
  using S = WeightMatrix;
  static const FieldTable<S> table = [] {
    const Rules size{.required = true, .min = 1, .max = 1e9};
    FieldTable<S> t("weight matrices", "Trained weight tensors of one shape, each laid out as a matrix");
    t.field("rows", &S::rows, "outputs; of a convolution, output channels", size)
        .field("columns", &S::columns, "inputs; of a convolution, input channels of a group × window", size)
        .field("count", &S::count, "tensors of this shape", {.min = 1, .max = 1e6});
    return t;
  }();
  return table;
}

const FieldTable<NarrowWindows>& NarrowWindows::fields() {
  using S = NarrowWindows;
  static const FieldTable<S> table = [] {
    FieldTable<S> t("narrow windows", "Convolutions whose results have few channels");
    t.field("channels", &S::channels, "of their results", {.required = true, .min = 1, .max = 1e6})
        .field("GFLOPs", &S::GFLOPs, "of the forward pass, among those of the windows",
               {.required = true, .min = 0, .max = kMostGflops, .above_min = true});
    return t;
  }();
  return table;
}

const FieldTable<ElementKernels>& ElementKernels::fields() {
  using S = ElementKernels;
  static const FieldTable<S> table = [] {
    FieldTable<S> t("element kernels", "Kernels that find the place of each element for themselves");
    t.field("kind", &S::kind, "what they do", {.required = true})
        .field("Melements", &S::Melements, "what they read and write in the forward pass; as many backward",
               {.required = true, .min = 0, .max = kMostMillions, .above_min = true});
    return t;
  }();
  return table;
}

const FieldTable<CompactShape>& CompactShape::fields() {
  using S = CompactShape;
  static const FieldTable<S> table = [] {
    const Rules flops{.min = 0, .max = kMostGflops};
    FieldTable<S> t("compact", "A network by its totals for one sample, in equal layers");
    t.field("layers", &S::layers, "layers with weights", {.required = true, .min = 1, .max = kMostLayers})
        .field("parameters_M", &S::parameters_M, "trained parameters",
               {.required = true, .min = 0, .max = kMostMillions, .above_min = true})
        .field("largest_tensor_M", &S::largest_tensor_M, "parameters of the largest tensor; 0: none stands out",
               {.min = 0, .max = kMostMillions})
        .field("gemm_GFLOPs", &S::gemm_GFLOPs, "matrix products of the forward pass, a multiply-add counted as two",
               flops)
        .field("pointwise_GFLOPs", &S::pointwise_GFLOPs, "1×1 convolutions of the forward pass", flops)
        .field("three_by_three_GFLOPs", &S::three_by_three_GFLOPs, "3×3 convolutions with stride 1", flops)
        .field("window_GFLOPs", &S::window_GFLOPs, "convolutions with other windows, strides or dimensions", flops)
        .field("grouped_GFLOPs", &S::grouped_GFLOPs, "grouped convolutions", flops)
        .field("grouped_channels", &S::grouped_channels,
               "channels of a group of theirs: harmonic mean by FLOPs; default: as ResNeXt-50 32x4d",
               {.min = 1, .max = 1e6})
        .field("depthwise_GFLOPs", &S::depthwise_GFLOPs, "depthwise convolutions", flops)
        .field("narrow_windows", &S::narrow_windows,
               "the 3×3 and other windows whose results have few channels (under 200), which matrix units cannot be "
               "kept busy with; default: none")
        .field("activation_Melements", &S::activation_Melements, "elements that the weighted layers give",
               {.required = true, .min = 0, .max = kMostMillions, .above_min = true})
        .field("streaming_passes", &S::streaming_passes,
               "reads and writes of them, forward and backward, by norms, activations and additions",
               {.required = true, .min = 0, .max = 1000})
        .field("mixed_precision_passes", &S::mixed_precision_passes,
               "the same, in tensors of 16 bit, operator by operator under automatic mixed precision, where norms and "
               "softmax are in fp32; default: as streaming_passes",
               {.min = 0, .max = 1000})
        .field("element_kernels", &S::element_kernels,
               "beside those passes: pooling, permutations, rolls, resizing; default: none")
        .field("image_side", &S::image_side,
               "pixels of a side of the images that all of it is counted at; default: 224, as ImageNet is cut",
               {.min = 1, .max = 1e5})
        .field("batch_norms", &S::batch_norms, "batch norms; 0: none, or not counted",
               {.min = 0, .max = 10 * kMostLayers})
        .field("kernels_per_layer", &S::kernels_per_layer, "launches of a layer's forward pass", {.min = 1, .max = 1e4})
        .field("mixed_precision_kernels_per_layer", &S::mixed_precision_kernels_per_layer,
               "the same with the casts of automatic mixed precision; default: as kernels_per_layer",
               {.min = 0, .max = 1e4})
        .field("sequential_steps", &S::sequential_steps, "steps of a recurrent layer, each a launch",
               {.min = 1, .max = 1e6})
        .field("weight_matrices", &S::weight_matrices,
               "its weight tensors as matrices, for compression by PowerSGD; default: taken as square, a layer each");
    return t;
  }();
  return table;
}

namespace workload {
namespace {

/// Widths of weight matrices are round numbers; a mean over a network's layers is not, and would be taken for one of
/// those that libraries multiply without their aligned kernels.
double round_width(double width) {
  constexpr double kRound = 64;
  return width < kRound ? width : kRound * std::round(width / kRound);
}

/// `elements` that the whole layer gives; the part gives its share.
LayerStep product(const Part& part, std::string_view name, const CompactShape& shape, double elements,
                  const LayerSharding& cuts) {
  const double flops = compact_forward_flops(shape);
  const double share = part.gflops * 1e9 / flops;
  const double mean_depth = flops / (2 * shape.activation_Melements * 1e6);
  const double weights = shape.parameters_M * 1e6 / shape.layers;
  // The weights of a layer are depth × columns; a recurrent layer multiplies them once a step.
  const double steps = shape.sequential_steps;
  const double mean_columns = std::clamp(weights / mean_depth, 1.0, std::max(1.0, elements / steps));
  const bool of_matrices = part.kind == OperatorKind::gemm;
  const double depth = of_matrices ? round_width(mean_depth) : mean_depth;
  const double columns = of_matrices ? round_width(mean_columns) : mean_columns;
  const double rows = share * elements * mean_depth / (columns * depth) / steps;
  LayerStep step = gemm(name, rows, columns, depth, cuts.bytes_per_element, steps, part.kind);
  step.op.convolution = part.convolution;
  step.op.width = part.width;
  step.op.bytes = Bytes(share * (2 * elements + weights * shape.sequential_steps) * cuts.bytes_per_element);
  step.op.kernels = part.launches ? shape.sequential_steps : 0;
  return step;
}

/// Of what a part's convolutions read and write, the share that they convert where images have channels first
/// (cnn.cpp). Of 1×1 convolutions it is that of planes that are no whole words of 16 bytes, and of strides: in 16 bit
/// 0.11 to 1, 0.4 in the middle, in fp32 0 to 1, a tenth (17 networks of torchvision, ResNets, EfficientNets,
/// MobileNets, Inception and SqueezeNet among them).
double converted_share(const Part& part, const LayerSharding& cuts) {
  constexpr double kOfPointwise = 0.4, kOfPointwiseInFp32 = 0.1;
  if (part.kind != OperatorKind::convolution || part.convolution == ConvolutionKind::depthwise) return 0;
  if (part.convolution != ConvolutionKind::pointwise) return 1;
  return cuts.bytes_per_element > 2 ? kOfPointwiseInFp32 : kOfPointwise;
}

/// A part's product behind the conversions of its images, of a layer that gives `elements`.
void convolve(std::vector<LayerStep>& steps, const Part& part, std::string_view name, const CompactShape& shape,
              double elements, const LayerSharding& cuts) {
  const double read_and_written = 2 * elements * part.gflops * 1e9 / compact_forward_flops(shape);
  const double converted = cuts.converts_layouts ? converted_share(part, cuts) * read_and_written : 0;
  if (converted > 0) steps.push_back(layout_conversion(2 * converted, cuts));
  steps.push_back(product(part, name, shape, elements, cuts));
}

/// A direction's streaming of a layer over `tensors` of `elements`. Batch norms are kernels apart where each finds its
/// elements for itself; their launches are among the layer's.
void stream(std::vector<LayerStep>& steps, double tensors, double elements, bool backward, const CompactShape& shape,
            const LayerSharding& cuts) {
  const double bytes = tensors * elements * cuts.bytes_per_element;
  const bool norms_apart = cuts.channels_first && cuts.kernels_by_element && shape.batch_norms > 0;
  const double norms = !norms_apart ? 0 : backward ? kBackwardNorms : kForwardNorms;
  steps.push_back(memory(backward ? "streaming_backward" : "streaming", bytes * (1 - norms), cuts));
  if (!norms_apart) return;
  steps.push_back(batch_norm(bytes * norms, 2 * elements, backward, cuts));
  steps.back().op.kernels = 0;
}

/// A layer's even part of the network's matrices. Where they were not counted, each layer's weights are taken as one
/// square.
std::vector<WeightMatrix> matrices_of(const CompactShape& shape) {
  const double layers = shape.layers;
  std::vector<WeightMatrix> matrices = shape.weight_matrices;
  if (matrices.empty()) {
    const double largest = std::sqrt(shape.largest_tensor_M * 1e6);
    const double others = largest > 0 ? std::max(1.0, layers - 1) : layers;
    const double side = std::sqrt((shape.parameters_M - shape.largest_tensor_M) * 1e6 / others);
    matrices.push_back({side, side, others});
    if (largest > 0) matrices.push_back({largest, largest, 1});
  }
  for (WeightMatrix& matrix : matrices) matrix.count /= layers;
  return matrices;
}

/// A figure as automatic mixed precision has it, where it was counted and that is in use.
double by_precision(double plain, double mixed, const LayerSharding& cuts) {
  return casts_by_kernels(cuts) && mixed > 0 ? mixed : plain;
}

}  // namespace

LayerWork compact_work(const CompactShape& shape, double micro_batch, const LayerSharding& cuts) {
  const double elements = micro_batch * shape.activation_Melements * 1e6 / shape.layers;
  const double tensor = elements * cuts.bytes_per_element;
  const double joined = cuts.compiled && shape.batch_norms > 0 ? kCompiledPasses : 1;
  const double passes = joined * by_precision(shape.streaming_passes, shape.mixed_precision_passes, cuts);
  LayerWork work;
  stream(work.backward_input, passes * (1 - kForwardPasses), elements, true, shape, cuts);
  // A layer's weights as if they were square give its channels; so short a message takes as long with others.
  const LayerStep meeting = synchronize_batch_norm(std::sqrt(shape.parameters_M * 1e6 / shape.layers),
                                                   static_cast<double>(shape.batch_norms) / shape.layers);
  const bool meets = cuts.sync_batch_norm && shape.batch_norms > 0;
  if (meets) work.backward_input.push_back(meeting);
  double launches = 0;
  for (const Part& part : parts_of(shape)) {
    if (part.gflops <= 0) continue;
    convolve(work.forward, part, part.forward, shape, elements, cuts);
    convolve(work.backward_input, part, part.input_gradient, shape, elements, cuts);
    convolve(work.backward_weight, part, part.weight_gradient, shape, elements, cuts);
    if (part.launches) launches += shape.sequential_steps;
  }
  const double kernels = by_precision(shape.kernels_per_layer, shape.mixed_precision_kernels_per_layer, cuts);
  const std::size_t streaming = work.forward.size();
  stream(work.forward, passes * kForwardPasses, elements, false, shape, cuts);
  work.forward[streaming].op.kernels = std::max(1, static_cast<int>(kernels * shape.sequential_steps - launches));
  for (const ElementKernels& kind : shape.element_kernels) {
    const double of_layer = micro_batch * kind.Melements * 1e6 / shape.layers;
    // Their launches are among the layer's.
    work.forward.push_back(element_kernel(kind.kind, of_layer, false, cuts, 0));
    work.backward_input.push_back(element_kernel(kind.kind, of_layer, true, cuts, 0));
  }
  if (meets) work.forward.push_back(meeting);
  work.backward_input.front().op.kernels = work.forward[streaming].op.kernels;
  work.parameters = shape.parameters_M * 1e6 / shape.layers;
  work.matrices = matrices_of(shape);
  // What a product gave, for the norm behind it, and what the layer hands on.
  work.activations = Bytes(2 * tensor);
  work.activations_selective = work.activations;
  work.activation_input = work.output = Bytes(tensor);
  return work;
}

double compact_forward_flops(const CompactShape& shape) {
  double gflops = 0;
  for (const Part& part : parts_of(shape)) gflops += part.gflops;
  return gflops * 1e9;
}

}  // namespace workload
}  // namespace stepcast
