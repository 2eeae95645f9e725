#include "models/workload/hyper_connections.hpp"

// Norms and the sums of a block's halves: what their kernels move and keep, by how far they are fused. Bytes of a token
// and feature; a tensor read or written counts once.
namespace stepcast::workload {
namespace {

constexpr double kWide = sizeof(float);

bool is_rms(const Cut& cut) { return cut.shape.norm == NormKind::rms_norm; }

/// An RMS norm of one kernel for each operator: what PyTorch ran before 2.9, and what models' own code runs (Hugging
/// Face's LlamaRMSNorm).
bool is_separate(const Cut& cut) { return is_rms(cut) && !cut.sharding.fused_norm; }

/// Whether products read what norms give in a narrower format.
bool casts(const Cut& cut) { return cut.residual > cut.element; }

/// Reads one format and writes the other; nothing in one format.
double cast(double from, double to) { return from == to ? 0 : from + to; }

/// Separate kernels, in fp32 inside: widened, squared (2 tensors), averaged (1), scaled (2), narrowed, weighted (2).
double separate_forward(double element) { return 2 * cast(element, kWide) + 5 * kWide + 2 * element; }

/// Their gradients as autograd runs them: of the weighting its input's (2) and its weight's (3 and a sum of 1), of the
/// scaling both factors' (2 and 3 and a sum of 1), of the mean (1), of the square 2·x·gradient (2 + 2 + 3), the sum of
/// both ways into the input (3), and the two casts.
double separate_backward(double element) { return 2 * cast(element, kWide) + 17 * kWide + 6 * element; }

/// What a norm's result, which `readers` products read, costs beside the norm's own kernels.
double casts_forward(const Cut& cut, double readers) {
  return cut.sharding.compiled ? 0 : readers * cast(cut.residual, cut.element);
}

/// Each product's gradient is widened, and they are added up.
double casts_backward(const Cut& cut, double readers) {
  if (!cut.casts_operands()) return 0;
  return readers * cast(cut.element, cut.residual) + (readers - 1) * 3 * cut.residual;
}

/// Of one kernel. Compiled, the addition before it has read its input, and it writes the products' format.
double norm_forward(const Cut& cut) { return cut.sharding.compiled ? cut.element : 2 * cut.residual; }

/// Input and gradient read, gradient written; compiled, each product's gradient in its format.
double norm_backward(const Cut& cut, double readers) {
  if (!cut.sharding.compiled) return 3 * cut.residual;
  return 2 * cut.residual + (casts(cut) ? readers : 1) * cut.element;
}

/// The gradient of the residual branch is added to the norm's: compiled, by the norm's kernel; then narrowed for the
/// products before.
double sum_backward(const Cut& cut) {
  if (cut.sharding.compiled) return cut.residual + (casts(cut) ? cut.element : 0);
  return 3 * cut.residual + cast(cut.residual, cut.element);
}

/// What separate kernels keep more than one kernel, which keeps its input: in 16 bit an fp32 copy of the input and the
/// normalised result instead of the input, in fp32 the normalised result beside the input.
double kept_inside(const Cut& cut) {
  return is_separate(cut) || (is_rms(cut) && cut.sharding.keeps_wide_norms) ? kWide : 0;
}

/// Products give queries and keys in 16 bit; under automatic mixed precision weights are in fp32, and PyTorch's single
/// kernel takes both in one format alone (a trace of 2.11: tests/device/diffusion_steps.py).
bool separate_over_heads(const Cut& cut) { return !cut.sharding.fused_norm || cut.casts_operands(); }

double elements(const Cut& cut) { return cut.resident * cut.hidden; }

LayerStep over_hidden(std::string_view name, double bytes, const Cut& cut) {
  return memory(name, elements(cut) * bytes, cut.sharding);
}

/// Kernels of its own operators are counted one by one; the casts beside them are a framework's passes like others.
void add_norm_steps(Steps& steps, std::string_view name, double one_kernel, double separate, double beside,
                    const Cut& cut) {
  if (is_separate(cut)) {
    steps.push_back(counted_memory(name, elements(cut) * separate));
    if (beside > 0) steps.push_back(over_hidden("norm_casts", beside, cut));
  } else {
    steps.push_back(over_hidden(name, one_kernel + beside, cut));
  }
}

bool has_streams(const Cut& cut) { return cut.shape.residual_streams > 1; }

void add_norm_alone(LayerWork& work, const Cut& cut, double readers) {
  const auto begin = static_cast<std::ptrdiff_t>(work.forward.size());
  add_norm_steps(work.forward, "norm", norm_forward(cut), separate_forward(cut.residual), casts_forward(cut, readers),
                 cut);
  work.recompute_norm.insert(work.recompute_norm.end(), work.forward.begin() + begin, work.forward.end());
  work.parameters += norm_parameters(cut.shape);
  // The norm's input stays; what it hands on is the product's input and is counted there.
  const Bytes inside(elements(cut) * kept_inside(cut));
  work.activations += cut.residual_tensor() + inside;
  work.freed_norm += inside;
}

void add_norm_alone_backward(LayerWork& work, const Cut& cut, double readers) {
  add_norm_steps(work.backward_input, "norm_backward", norm_backward(cut, readers), separate_backward(cut.residual),
                 casts_backward(cut, readers), cut);
}

}  // namespace

void add_norm(LayerWork& work, const Cut& cut, double readers) {
  if (has_streams(cut)) add_stream_input(work, cut);
  add_norm_alone(work, cut, readers);
}

void add_last_norm(LayerWork& work, const Cut& cut) {
  if (has_streams(cut)) add_stream_head(work, cut);
  add_norm_alone(work, cut, 1);
}

LayerStep head_norms(std::string_view name, double elements, bool backward, const Cut& cut) {
  if (!separate_over_heads(cut)) return memory(name, elements * (backward ? 3 : 2) * cut.element, cut.sharding);
  return counted_memory(name, elements * (backward ? separate_backward(cut.element) : separate_forward(cut.element)));
}

Bytes kept_by_head_norms(double elements, const Cut& cut) {
  if (!separate_over_heads(cut)) return Bytes(elements * cut.element);
  return Bytes(elements * (kWide + cut.residual));
}

void add_residual(LayerWork& work, const Cut& cut) {
  const double mask = cut.mask(elements(cut));
  if (has_streams(cut))
    add_stream_output(work, cut, mask);
  else
    work.forward.push_back(memory("residual", elements(cut) * (2 * cut.residual + cut.element) + mask, cut.sharding));
  work.activations += Bytes(mask);
}

void add_residual_backward(LayerWork& work, const Cut& cut) {
  if (has_streams(cut)) add_stream_output_backward(work, cut);
  if (cut.shape.dropout == 0) return;  // the gradient passes through
  work.backward_input.push_back(over_hidden("dropout_backward", 2 * cut.element + 1, cut));
}

void add_last_norm_backward(LayerWork& work, const Cut& cut, double readers) {
  add_norm_alone_backward(work, cut, readers);
  if (has_streams(cut)) add_stream_head_backward(work, cut);
}

void add_norm_backward(LayerWork& work, const Cut& cut, double readers) {
  add_norm_alone_backward(work, cut, readers);
  if (has_streams(cut)) return add_stream_input_backward(work, cut);
  work.backward_input.push_back(over_hidden("residual_backward", sum_backward(cut), cut));
}

}  // namespace stepcast::workload
