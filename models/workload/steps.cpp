#include "models/workload/steps.hpp"

#include <algorithm>

namespace stepcast::workload {
namespace {

LayerStep operation(std::string_view name, OperatorKind kind, double flops, double bytes) {
  LayerStep step;
  step.op.name = name;
  step.op.kind = kind;
  step.op.flops = Flops(flops);
  step.op.bytes = Bytes(bytes);
  return step;
}

LayerStep product(std::string_view name, OperatorKind kind, double m, double n, double k, double batch, double bytes) {
  LayerStep step = operation(name, kind, 2 * batch * m * n * k, bytes);
  step.op.m = m;
  step.op.n = n;
  step.op.k = k;
  step.op.batch = batch;
  return step;
}

LayerStep tensor_collective(const Cut& cut, std::string_view name, LayerCollective collective, double share = 1,
                            bool overlappable = false) {
  return communicate(name, LayerCommunication::tensor, collective, cut.hidden_tensor() * share, overlappable);
}

LayerStep tensor_gather(const Cut& cut, std::string_view name, double element, double share, bool overlappable) {
  return tensor_collective(cut, name, LayerCollective::all_gather, share * element / cut.element, overlappable);
}

/// A mask lets a query see s/2 keys of s on average. Documents and chunks of L tokens are sequences of their own; in a
/// sliding window of w < L tokens the first w queries see half of it: w − w²/2L.
double seen_keys(const TransformerShape& shape, const LayerSharding& cuts, double sequence, bool causal,
                 bool windowed) {
  double span = sequence;
  if (cuts.document_len > 0) span = std::min<double>(span, cuts.document_len);
  if (windowed && shape.window_kind == WindowKind::chunked) span = std::min<double>(span, shape.window);
  // Picked tokens are as many as a window's: all while there are fewer.
  const double most = shape.sparse_attention ? shape.sparse_attention->tokens : shape.window;
  const bool some = shape.sparse_attention || (windowed && shape.window_kind == WindowKind::sliding);
  if (some && most < span) return causal ? most - most / (2 * span) * most : most;
  if (span >= sequence) return 0;
  return causal ? span / 2 : span;
}

}  // namespace

Cut::Cut(const TransformerShape& s, bool masked, double batch, double length, const LayerSharding& cuts, bool windowed,
         bool global, KeyHolding keys, int entry_tokens)
    : shape(s),
      sharding(cuts),
      causal(masked),
      micro_batch(batch),
      sequence(length),
      local_sequence(sequence / cuts.cp),
      tokens(batch * local_sequence),
      resident(cuts.sequence_parallel ? tokens / cuts.tp : tokens),
      hidden(s.hidden),
      head(s.heads_of(global, keys)),
      heads(static_cast<double>(head.queries) / cuts.tp),
      query(heads * head.key_size),
      // With more tensor-parallel ranks than key heads, ranks share a head and each computes it.
      key(std::max(1.0, static_cast<double>(head.kv) / cuts.tp) * head.key_size),
      value(std::max(1.0, static_cast<double>(head.kv) / cuts.tp) * head.value_size),
      attended(heads * head.value_size),
      entry(query + (borrows_keys() ? 0 : key + (head.keys_are_values ? 0 : value)) +
            (s.attention_output_gate ? attended : 0)),
      tp(cuts.tp),
      element(cuts.bytes_per_element),
      residual(cuts.automatic_mixed_precision ? std::max<double>(element, sizeof(float)) : element),
      seen(seen_keys(s, cuts, sequence, causal, windowed)),
      ratio(entry_tokens) {}

LayerStep gemm(std::string_view name, double m, double n, double k, double element, double batch, OperatorKind kind) {
  return product(name, kind, m, n, k, batch, element * batch * (m * k + k * n + m * n));
}

LayerStep weight_gradient(std::string_view name, double in, double out, double rows, const LayerSharding& sharding,
                          double batch, OperatorKind kind) {
  const double accumulate = sharding.main_gradients_fp32 ? 2 * sizeof(float) : sharding.bytes_per_element;
  const double inputs = sharding.bytes_per_element * rows * (in + out);
  LayerStep step = product(name, kind, in, out, rows, batch, batch * (inputs + accumulate * in * out));
  step.op.fp32_output = sharding.main_gradients_fp32;
  step.op.backward = true;
  return step;
}

LayerStep forward_product(const Linear& linear, double rows, double element) {
  return gemm(linear.forward, rows, linear.out, linear.in, element);
}

LayerStep input_gradient(const Linear& linear, double rows, double element) {
  return gemm(linear.input_gradient, rows, linear.in, linear.out, element);
}

void add_cast(Steps& steps, std::string_view name, double elements, const LayerSharding& sharding) {
  if (sharding.cast_bytes > 0) steps.push_back(memory(name, elements * sharding.cast_bytes, sharding));
}

void add_row_parallel_product(Steps& steps, const Linear& linear, const Cut& cut) {
  add_cast(steps, "cast_input", cut.tokens * linear.in, cut.sharding);
  steps.push_back(forward_product(linear, cut.tokens, cut.element));
}

LayerStep weight_gradient(const Linear& linear, double rows, const LayerSharding& sharding) {
  return weight_gradient(linear.weight_gradient, linear.in, linear.out, rows, sharding);
}

bool casts_by_kernels(const LayerSharding& sharding) {
  return sharding.automatic_mixed_precision && !sharding.compiled && sharding.bytes_per_element < sizeof(float);
}

LayerStep memory(std::string_view name, double bytes, const LayerSharding& sharding) {
  return operation(name, OperatorKind::memory, 0, bytes * sharding.memory_passes);
}

LayerStep counted_memory(std::string_view name, double bytes) {
  return operation(name, OperatorKind::memory, 0, bytes);
}

LayerStep streamed(std::string_view name, double bytes_per_token, double multiply_adds_per_token, const Cut& cut) {
  LayerStep step = memory(name, bytes_per_token * cut.tokens, cut.sharding);
  step.op.flops = Flops(2 * multiply_adds_per_token * cut.tokens);
  return step;
}

LayerStep chunked(std::string_view name, double bytes_per_token, double multiply_adds_per_token, double bytes_per_cycle,
                  const Cut& cut) {
  LayerStep step = counted_memory(name, bytes_per_token * cut.tokens);
  step.op.flops = Flops(2 * multiply_adds_per_token * cut.tokens);
  step.op.bytes_per_cycle = bytes_per_cycle;
  return step;
}

void exchange_heads(Steps& steps, std::string_view name, double width, const Cut& cut) {
  if (cut.sharding.cp > 1)
    steps.push_back(communicate(name, LayerCommunication::context, LayerCollective::all_to_all,
                                Bytes(cut.tokens * width * cut.element)));
}

LayerStep communicate(std::string_view name, LayerCommunication over, LayerCollective collective, Bytes payload,
                      bool overlappable) {
  LayerStep step;
  step.op.name = name;
  step.op.kernels = 1;
  step.communication = over;
  step.collective = collective;
  step.payload = payload;
  step.overlappable = overlappable;
  return step;
}

LayerStep synchronize_batch_norm(double channels, double norms) {
  const Bytes statistics(2 * channels * sizeof(float));
  LayerStep step = communicate("sync_batch_norm", LayerCommunication::data, LayerCollective::all_reduce, statistics);
  step.calls = norms;
  return step;
}

namespace {

// The host issues a collective once, whatever share of it its neighbour hides.

/// Gathered in chunks: the product after it begins with the first and runs beside the rest (Transformer Engine's
/// userbuffers, PyTorch's async tensor parallelism).
void enter_in_chunks(Steps& steps, const Cut& cut, double element) {
  if (cut.sharding.tp == 1 || !cut.sharding.sequence_parallel) return;
  const double exposed = cut.sharding.tensor_exposed;
  if (exposed > 0) steps.push_back(tensor_gather(cut, "tp_all_gather", element, exposed, false));
  if (exposed < 1) {
    steps.push_back(tensor_gather(cut, "tp_all_gather", element, 1 - exposed, true));
    if (exposed > 0) steps.back().op.kernels = 0;
  }
}

/// Scattered in chunks beside the product that yields them, which is the last step so far.
void leave_in_chunks(Steps& steps, const Cut& cut) {
  const double exposed = cut.sharding.tensor_exposed;
  constexpr auto kKind = LayerCollective::reduce_scatter;
  if (exposed < 1) {
    LayerStep hidden = tensor_collective(cut, "tp_reduce_scatter", kKind, 1 - exposed, true);
    if (exposed > 0) hidden.op.kernels = 0;
    steps.insert(steps.end() - 1, hidden);
  }
  if (exposed > 0) steps.push_back(tensor_collective(cut, "tp_reduce_scatter", kKind, exposed));
}

}  // namespace

void enter_tensor_region(Steps& steps, const Cut& cut) { enter_in_chunks(steps, cut, cut.element); }

void gather_operand(Steps& steps, std::string_view cast, const Cut& cut) {
  const bool cast_before = cut.sharding.gathered_bytes < cut.element;
  add_cast(steps, cast, (cast_before ? cut.resident : cut.tokens) * cut.hidden, cut.sharding);
  enter_in_chunks(steps, cut, cut.sharding.gathered_bytes);
}

void leave_tensor_region(Steps& steps, const Cut& cut) {
  if (cut.sharding.tp == 1) return;
  if (cut.sharding.sequence_parallel) {
    leave_in_chunks(steps, cut);
  } else {
    steps.push_back(tensor_collective(cut, "tp_all_reduce", LayerCollective::all_reduce));
  }
}

namespace {

/// Share of the input gradient's sum or scatter that is waited for before the weight gradient. A scatter runs beside it
/// where products overlap with collectives (Transformer Engine: ub_bulk_wgrad), either where the framework launches it
/// first (Megatron-LM of 2022: ColumnParallelLinearWithAsyncAllreduce).
double backward_exposed(const Cut& cut) {
  // Without sequence parallelism a routed layer sums once for router and experts, beside no one weight gradient.
  const bool routed = cut.shape.experts > 0 && !cut.sharding.sequence_parallel;
  if (cut.sharding.input_gradients_overlap && !routed) return 0;
  return cut.sharding.sequence_parallel ? cut.sharding.tensor_exposed : 1;
}

LayerStep input_gradient_collective(const Cut& cut, double share, bool overlappable) {
  return cut.sharding.sequence_parallel
             ? tensor_collective(cut, "tp_reduce_scatter", LayerCollective::reduce_scatter, share, overlappable)
             : tensor_collective(cut, "tp_all_reduce", LayerCollective::all_reduce, share, overlappable);
}

}  // namespace

void leave_tensor_region_backward(Steps& steps, const Cut& cut) {
  if (cut.sharding.tp == 1) return;
  // Frozen weights have no gradient to hide a scatter: it goes in chunks beside the product that yields them
  // (Transformer Engine: ub_overlap_rs_dgrad, which MLPerf's LoRA recipes set).
  if (cut.sharding.adapter_rank > 0) return leave_tensor_region(steps, cut);
  const double exposed = backward_exposed(cut);
  if (exposed > 0) steps.push_back(input_gradient_collective(cut, exposed, false));
}

void collect_beside_weights(Steps& weights, const Cut& cut) {
  if (cut.sharding.tp == 1 || cut.sharding.adapter_rank > 0) return;
  const double exposed = backward_exposed(cut);
  if (exposed < 1) weights.push_back(input_gradient_collective(cut, 1 - exposed, true));
}

namespace {

bool gathers_inputs(const Cut& cut) { return cut.sharding.tp > 1 && cut.sharding.sequence_parallel; }

/// Frozen products need no input again, so under adapters none is kept for them.
bool keeps_gathered_inputs(const Cut& cut) {
  return gathers_inputs(cut) && cut.sharding.keeps_gathered_inputs && cut.sharding.adapter_rank == 0;
}

}  // namespace

Bytes gathered_and_kept(const Cut& cut) {
  return keeps_gathered_inputs(cut) ? (cut.tp - 1) * cut.resident_tensor() : Bytes(0);
}

void regather_input(Steps& steps, const Cut& cut, double element) {
  if (gathers_inputs(cut) && !keeps_gathered_inputs(cut) && cut.sharding.adapter_rank == 0)
    steps.push_back(tensor_gather(cut, "tp_regather_input", element, 1, true));
}

double norm_parameters(const TransformerShape& shape, double width) {
  if (shape.diffusion) return 0;  // what would scale and shift comes from the modulation
  const bool shift = shape.norm == NormKind::layer_norm && shape.biases;
  return (shift ? 2.0 : 1.0) * width;
}

double norm_parameters(const TransformerShape& shape) { return norm_parameters(shape, shape.hidden); }

}  // namespace stepcast::workload
