#include <cmath>

#include "models/workload/steps.hpp"

// Rows of a CNN for data-parallel training. A convolution is an implicit matrix product (Chetlur et al. 2014, arXiv
// 1410.0759): m = samples × output pixels, n = output channels, k = input channels × kernel, per group.
namespace stepcast::workload {
namespace {

struct Row {
  double input, output;  ///< elements of one micro-batch
  double pixels;         ///< samples × output pixels
  double window;         ///< k of the product
  double groups;
  double channels;  ///< n of the product
};

Row row_of(const CnnLayer& layer, double micro_batch) {
  const double height = layer.result_height(), width = layer.result_width();
  const bool whole = layer.kind == CnnLayerKind::global_pool;
  const double pixels = micro_batch * (whole ? 1.0 : height * width);
  return {micro_batch * layer.in_channels * layer.height * layer.width,
          pixels * layer.out_channels,
          pixels,
          static_cast<double>(layer.in_channels) / layer.groups * layer.kernel_height * layer.kernel_width,
          static_cast<double>(layer.groups),
          static_cast<double>(layer.out_channels) / layer.groups};
}

/// 5×5 windows with stride 1 count as 3×3 ones: libraries transform both (Winograd's algorithm, Fourier transforms).
ConvolutionKind kind_of(const CnnLayer& layer) {
  if (layer.groups > 1)
    return layer.groups == layer.in_channels ? ConvolutionKind::depthwise : ConvolutionKind::grouped;
  if (layer.kernel_height * layer.kernel_width == 1) return ConvolutionKind::pointwise;
  const bool square = layer.kernel_height == layer.kernel_width;
  const bool small = layer.kernel_height == 3 || layer.kernel_height == 5;
  const bool transforms = square && small && layer.stride == 1;
  return transforms ? ConvolutionKind::three_by_three : ConvolutionKind::window;
}

bool has_weights(const CnnLayer& layer) {
  return layer.kind == CnnLayerKind::convolution || layer.kind == CnnLayerKind::fully_connected;
}

double weights(const CnnLayer& layer) {
  return static_cast<double>(layer.out_channels) * layer.in_channels / layer.groups * layer.kernel_height *
         layer.kernel_width;
}

/// The product of a row in one of its three forms, whose result has `channels`. Its traffic is the tensors themselves:
/// the implicit form never stores the unfolded windows.
LayerStep product(std::string_view name, const CnnLayer& layer, const Row& row, double m, double n, double k,
                  int channels, const LayerSharding& sharding) {
  const OperatorKind kind = layer.kind == CnnLayerKind::convolution ? OperatorKind::convolution : OperatorKind::gemm;
  LayerStep step = gemm(name, m, n, k, sharding.bytes_per_element, row.groups, kind);
  step.op.convolution = kind_of(layer);
  if (step.op.convolution != ConvolutionKind::depthwise) step.op.width = static_cast<double>(channels) / layer.groups;
  step.op.bytes = Bytes((row.input + row.output + weights(layer)) * sharding.bytes_per_element);
  return step;
}

/// Launches beside a forward product where mixed precision keeps weights in fp32: a cast of each of its tensors.
int casts_of_weights(const CnnLayer& layer, const LayerSharding& cuts) {
  return casts_by_kernels(cuts) ? 1 + (layer.bias ? 1 : 0) : 0;
}

/// Tensor cores read 16 bytes at a time: the product of a 1×1 convolution with stride 1 takes images with channels
/// first as they are where a plane is whole such words (calibration/data/convolution-layouts.csv). One channel's window
/// runs on other units.
bool converts(const CnnLayer& layer, const LayerSharding& cuts) {
  constexpr double kWord = 16;
  if (layer.kind != CnnLayerKind::convolution || !cuts.converts_layouts) return false;
  const ConvolutionKind kind = kind_of(layer);
  if (kind == ConvolutionKind::depthwise) return false;
  const double plane = static_cast<double>(layer.result_height()) * layer.result_width() * cuts.bytes_per_element;
  return kind != ConvolutionKind::pointwise || layer.stride > 1 || std::fmod(plane, kWord) != 0;
}

/// The conversions of one of a convolution's products, which each read two tensors and write a third.
void convert(std::vector<LayerStep>& steps, const CnnLayer& layer, const Row& row, const LayerSharding& cuts) {
  if (converts(layer, cuts)) steps.push_back(layout_conversion(2 * (row.input + row.output), cuts));
}

void weighted_row(LayerWork& work, const CnnLayer& layer, const Row& row, bool first, const LayerSharding& cuts) {
  const bool convolves = layer.kind == CnnLayerKind::convolution;
  convert(work.forward, layer, row, cuts);
  work.forward.push_back(product(convolves ? "convolution" : "fully_connected", layer, row, row.pixels, row.channels,
                                 row.window, layer.out_channels, cuts));
  work.forward.back().op.kernels += casts_of_weights(layer, cuts);
  // Nothing asks for the gradient of the image.
  if (!first) {
    convert(work.backward_input, layer, row, cuts);
    work.backward_input.push_back(product(convolves ? "convolution_dgrad" : "fully_connected_dgrad", layer, row,
                                          row.pixels, row.window, row.channels, layer.in_channels, cuts));
  }
  convert(work.backward_weight, layer, row, cuts);
  work.backward_weight.push_back(product(convolves ? "convolution_wgrad" : "fully_connected_wgrad", layer, row,
                                         row.window, row.channels, row.pixels, layer.out_channels, cuts));
}

/// Streaming operators behind a product, in tensors of the output. Batch norm: statistics read, then read and write;
/// backward: input and gradient read twice, gradient written. ReLU in place: read and write; backward one more read.
/// The shortcut: two reads and a write; its gradient is added once more where the branches part. Compiled, activation
/// and shortcut join the norm's kernels: what they wrote is read once more in each of its two backward passes, the
/// shortcut once either way.
void streaming(LayerWork& work, const CnnLayer& layer, const Row& row, const LayerSharding& cuts) {
  const double tensor = row.output * cuts.bytes_per_element;
  const bool normalises = layer.kind == CnnLayerKind::convolution && layer.batch_norm;
  if (normalises) work.forward.push_back(batch_norm(3 * tensor, 2 * row.output, false, cuts));
  const bool meets = normalises && cuts.sync_batch_norm;
  if (meets) work.forward.push_back(synchronize_batch_norm(layer.out_channels));
  const bool joins = normalises && cuts.compiled;
  const double sum_passes = joins ? 1 : 3;
  if (layer.residual_add) work.forward.push_back(memory("residual", sum_passes * tensor, cuts));
  if (layer.activation && !joins) work.forward.push_back(memory("relu", 2 * tensor, cuts));

  std::vector<LayerStep> backward;
  if (layer.activation) backward.push_back(memory("relu_backward", (joins ? 2 : 3) * tensor, cuts));
  if (layer.residual_add) backward.push_back(memory("residual_backward", sum_passes * tensor, cuts));
  if (normalises) backward.push_back(batch_norm(5 * tensor, 2 * row.output, true, cuts));
  if (meets) backward.push_back(synchronize_batch_norm(layer.out_channels));
  work.backward_input.insert(work.backward_input.begin(), backward.begin(), backward.end());

  // Kept: what the product gave (for batch norm), and what the row hands on (ReLU works in place).
  work.activations += Bytes((normalises ? 2 : 1) * tensor);
}

/// Means of whole images stream; windows are found element by element.
void pooling(LayerWork& work, const CnnLayer& layer, const Row& row, const LayerSharding& cuts) {
  const double elements = row.input + row.output;
  if (layer.kind == CnnLayerKind::global_pool) {
    work.forward.push_back(memory("pool", elements * cuts.bytes_per_element, cuts));
    work.backward_input.push_back(memory("pool_backward", elements * cuts.bytes_per_element, cuts));
  } else {
    const bool averages = layer.kind == CnnLayerKind::average_pool;
    const ElementKernelKind kind = averages ? ElementKernelKind::average_pool : ElementKernelKind::max_pool;
    work.forward.push_back(element_kernel(kind, elements, false, cuts));
    work.backward_input.push_back(element_kernel(kind, elements, true, cuts));
  }
  work.activations += Bytes(row.output * cuts.bytes_per_element);
}

void loss(LayerWork& work, const Row& row, const LayerSharding& cuts) {
  const double bytes = 2 * row.output * sizeof(float);
  work.forward.push_back(memory("loss", bytes, cuts));
  work.backward_input.insert(work.backward_input.begin(), memory("loss_backward", bytes, cuts));
}

}  // namespace

LayerWork cnn_work(const CnnShape& shape, int index, double micro_batch, const LayerSharding& cuts) {
  const CnnLayer& layer = shape.layers.at(static_cast<std::size_t>(index));
  const Row row = row_of(layer, micro_batch);
  LayerWork work;
  if (has_weights(layer)) {
    weighted_row(work, layer, row, index == 0, cuts);
    streaming(work, layer, row, cuts);
  } else {
    pooling(work, layer, row, cuts);
  }
  if (index + 1 == static_cast<int>(shape.layers.size())) loss(work, row, cuts);
  work.parameters = cnn_parameters(layer);
  work.activations_selective = work.activations;
  work.activation_input = Bytes(row.input * cuts.bytes_per_element);
  work.output = Bytes(row.output * cuts.bytes_per_element);
  return work;
}

double cnn_forward_flops(const CnnLayer& layer) {
  if (!has_weights(layer)) return 0;
  return 2 * weights(layer) * layer.result_height() * layer.result_width();
}

double cnn_parameters(const CnnLayer& layer) {
  if (!has_weights(layer)) return 0;
  double parameters = weights(layer);
  if (layer.bias) parameters += layer.out_channels;
  if (layer.kind == CnnLayerKind::convolution && layer.batch_norm) parameters += 2.0 * layer.out_channels;
  return parameters;
}

}  // namespace stepcast::workload

namespace stepcast {

int image_side(const Model& model) {
  if (model.cnn) return model.cnn->image_height;
  return model.compact ? model.compact->image_side.value_or(kUsualImageSide) : kUsualImageSide;
}

bool has_convolutions(const Model& model) {
  if (model.cnn) return true;
  if (!model.compact) return false;
  const CompactShape& shape = *model.compact;
  return shape.pointwise_GFLOPs + shape.three_by_three_GFLOPs + shape.window_GFLOPs + shape.grouped_GFLOPs +
             shape.depthwise_GFLOPs >
         0;
}

int batch_norms(const Model& model) {
  if (model.compact) return model.compact->batch_norms;
  if (!model.cnn) return 0;
  const std::vector<CnnLayer>& layers = model.cnn->layers;
  return static_cast<int>(std::count_if(layers.begin(), layers.end(), [](const CnnLayer& layer) {
    return layer.kind == CnnLayerKind::convolution && layer.batch_norm;
  }));
}

}  // namespace stepcast
