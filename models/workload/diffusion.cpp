#include "models/workload/diffusion.hpp"

#include "models/workload/steps.hpp"

// A diffusion transformer (Peebles & Xie 2022, arXiv 2212.09748): blocks of usual attention, all of whose tokens see
// one another, with a modulation of what they read and give; a text by cross attention (Chen et al. 2023, arXiv
// 2310.00426) or in one sequence with the latent (Esser et al. 2024, arXiv 2403.03206).
namespace stepcast {

const FieldTable<DiffusionShape>& DiffusionShape::fields() {
  using S = DiffusionShape;
  static const FieldTable<S> table = [] {
    constexpr double kMost = 1e7;
    const Rules count{.min = 0, .max = kMost};
    FieldTable<S> t("diffusion", "A diffusion transformer's patches, text and modulation");
    t.field("patch_elements", &S::patch_elements, "values of the latent in one token",
            {.required = true, .min = 1, .max = kMost})
        .field("context_tokens", &S::context_tokens, "tokens of a sample's text; 0: none", count)
        .field("context_width", &S::context_width, "width of what the frozen text encoder gives for each", count)
        .field("context", &S::context, "how tokens see the text: each block by cross attention, or in one sequence")
        .field("two_stream_layers", &S::two_stream_layers,
               "the first so many blocks have weights of their own for the text's tokens (MM-DiT)", count)
        .field("modulation_vectors", &S::modulation_vectors,
               "vectors by which the time of the noise changes a block, of each stream: three for each norm", count)
        .field("single_stream_vectors", &S::single_stream_vectors,
               "the same of blocks behind the two-stream ones; 0: as modulation_vectors", count)
        .field("shared_modulation", &S::shared_modulation,
               "one projection gives the vectors for all blocks, which add tables of their own (adaLN-single)");
    return t;
  }();
  return table;
}

namespace workload {
namespace {

/// Sines and cosines that a time is written in (Dhariwal & Nichol 2021, and all that follow it).
constexpr double kTimeFeatures = 256;
/// Shift and scale of the last norm.
constexpr double kLastVectors = 2;
/// Shift, scale and gate of a norm and of what follows it.
constexpr double kVectorsOfNorm = 3;

double block_vectors(const DiffusionShape& diffusion, bool two_streams) {
  if (two_streams) return 2.0 * diffusion.modulation_vectors;
  return diffusion.single_stream_vectors > 0 ? diffusion.single_stream_vectors : diffusion.modulation_vectors;
}

/// The projection of the time, and of what a sample shows, to `vectors`.
Linear modulation(const Cut& cut, double vectors) {
  return {"modulation", "modulation_dgrad", "modulation_wgrad", cut.hidden, vectors * cut.hidden / cut.tp};
}

/// One vector of a sample enters; tensor-parallel ranks hold columns each, and gather what they give.
void add_projection(LayerWork& work, const Cut& cut, double vectors) {
  const Linear linear = modulation(cut, vectors);
  const double rows = cut.micro_batch;
  work.forward.push_back(forward_product(linear, rows, cut.element));
  if (cut.tp > 1)
    work.forward.push_back(communicate("tp_gather_modulation", LayerCommunication::tensor, LayerCollective::all_gather,
                                       Bytes(rows * vectors * cut.hidden * cut.element)));
  work.backward_input.push_back(input_gradient(linear, rows, cut.element));
  work.backward_weight.push_back(weight_gradient(linear, rows, cut.sharding));
  work.parameters += linear.in * linear.out + linear.out;
}

/// Tensors read and written where a norm's result is scaled and shifted, and where a half's result is gated.
struct ModulationPasses {
  double modulate, gate, gate_backward, modulate_backward;
};
constexpr ModulationPasses kOneKernel{2, 2, 3, 3};
/// One operator after another: scaled (2), shifted (2), gated (2). Backward the sum of each vector's gradient reads its
/// input (1), a factor's gradient is a product of two tensors (3), and the gradient is scaled on (2).
constexpr ModulationPasses kByOperator{4, 2, 6, 7};

/// What a norm gives is scaled and shifted, and what its half adds to the stream is gated: by kernels of their own,
/// which keep what they read for the gradients of the vectors. Compiled, the norm's and the sum's do it.
void add_modulated_norms(LayerWork& work, const Cut& cut, double norms) {
  const double half = norms * cut.resident * cut.hidden * cut.element;
  if (cut.sharding.compiled) {
    work.backward_input.push_back(memory("modulation_gradients", 2 * half, cut.sharding));
    work.activations += Bytes(half);
    return;
  }
  const ModulationPasses& passes = cut.sharding.fused_activation ? kOneKernel : kByOperator;
  const double normed = norms * cut.residual_tensor().value();
  work.forward.push_back(memory("modulate", passes.modulate * normed, cut.sharding));
  work.forward.push_back(memory("gate", passes.gate * half, cut.sharding));
  work.backward_input.push_back(memory("gate_backward", passes.gate_backward * half, cut.sharding));
  work.backward_input.push_back(memory("modulate_backward", passes.modulate_backward * normed, cut.sharding));
  work.activations += Bytes(normed + half);
}

void add_modulation(LayerWork& work, const Cut& cut, bool two_streams) {
  const DiffusionShape& diffusion = *cut.shape.diffusion;
  const double vectors = block_vectors(diffusion, two_streams);
  if (vectors == 0) return;
  if (diffusion.shared_modulation)
    work.parameters += vectors * cut.hidden;
  else
    add_projection(work, cut, vectors);
  // Of two streams each has norms over its own tokens.
  add_modulated_norms(work, cut, vectors / kVectorsOfNorm / (two_streams ? 2 : 1));
}

/// Queries, keys and values of both streams are put together for the core, and its result taken apart: each read and
/// written, and so are their gradients.
void add_joining(LayerWork& work, const Cut& cut) {
  const double bytes = 2 * cut.tokens * (cut.query + cut.key + cut.value + cut.attended) * cut.element;
  work.forward.push_back(memory("join_streams", bytes, cut.sharding));
  work.backward_input.push_back(memory("join_streams_backward", bytes, cut.sharding));
}

/// `step`, a product over all tokens, over a share of them: its weights, or their gradient, move whole.
LayerStep over_share(LayerStep step, double share, double element) {
  Operator& op = step.op;
  const double whole = op.backward ? op.bytes.value() - element * op.k * (op.m + op.n) : element * op.k * op.n;
  op.bytes = Bytes(whole + share * (op.bytes.value() - whole));
  op.flops = op.flops * share;
  (op.backward ? op.k : op.m) *= share;
  return step;
}

/// Products over two streams of tokens, the first of which has `share` of them, by weights of its own.
void split(Steps& steps, double share, double element) {
  Steps out;
  out.reserve(steps.size() + 4);
  for (const LayerStep& step : steps) {
    if (step.op.kind != OperatorKind::gemm) {
      out.push_back(step);
      continue;
    }
    out.push_back(over_share(step, share, element));
    out.push_back(over_share(step, 1 - share, element));
  }
  steps = std::move(out);
}

void split_streams(LayerWork& work, double share, double element) {
  for (Steps* steps :
       {&work.forward, &work.backward_input, &work.backward_weight, &work.recompute_attention, &work.recompute_mlp})
    split(*steps, share, element);
  work.parameters *= 2;
}

Linear patches(const Cut& cut) {
  const double elements = cut.shape.diffusion->patch_elements;
  return {"patch_embedding", "", "patch_embedding_wgrad", elements, cut.hidden};
}
Linear context(const Cut& cut) {
  const double width = cut.shape.diffusion->context_width;
  return {"context_embedding", "", "context_embedding_wgrad", width, cut.hidden};
}
Linear time_features(const Cut& cut) {
  return {"time_embedding", "time_embedding_dgrad", "time_embedding_wgrad", kTimeFeatures, cut.hidden};
}
Linear time_hidden(const Cut& cut) {
  return {"time_hidden", "time_hidden_dgrad", "time_hidden_wgrad", cut.hidden, cut.hidden};
}
Linear last(const Cut& cut) {
  return {"unpatch", "unpatch_dgrad", "unpatch_wgrad", cut.hidden, cut.shape.diffusion->patch_elements * 1.0};
}

/// A product whose input needs no gradient, held whole by every tensor-parallel rank.
void embed(LayerWork& work, const Linear& linear, double rows, const Cut& cut) {
  work.forward.push_back(forward_product(linear, rows, cut.element));
  work.backward_weight.push_back(weight_gradient(linear, rows, cut.sharding));
  work.parameters += linear.in * linear.out + linear.out;
  work.activations += Bytes(rows * linear.in * cut.element);
}

LayerWork first_layer(const Cut& cut, const Cut& text) {
  const DiffusionShape& diffusion = *cut.shape.diffusion;
  LayerWork work;
  embed(work, patches(cut), cut.tokens, cut);
  if (diffusion.context_tokens > 0) embed(work, context(cut), text.tokens, cut);
  embed(work, time_features(cut), cut.micro_batch, cut);
  embed(work, time_hidden(cut), cut.micro_batch, cut);
  work.backward_input.push_back(input_gradient(time_hidden(cut), cut.micro_batch, cut.element));
  if (diffusion.shared_modulation) add_projection(work, cut, diffusion.modulation_vectors);
  // The text waits for the backward pass of every block that attends to it.
  if (cut.shape.crosses(0)) work.activations += text.resident_tensor();
  work.output = cut.residual_tensor();
  return work;
}

/// The last norm, its modulation, the latent's patches and the mean square of their error, in fp32.
LayerWork last_layer(const Cut& cut) {
  LayerWork work;
  add_last_norm(work, cut);
  work.recompute_norm.clear();  // only blocks recompute
  if (cut.shape.diffusion->shared_modulation)
    work.parameters += kLastVectors * cut.hidden;
  else
    add_projection(work, cut, kLastVectors);
  const Linear linear = last(cut);
  enter_tensor_region(work.forward, cut);
  work.forward.push_back(forward_product(linear, cut.tokens, cut.element));
  const double result = cut.tokens * linear.out * sizeof(float);
  work.forward.push_back(counted_memory("loss", 2 * result));
  work.backward_input.push_back(counted_memory("loss_backward", 3 * result));
  work.backward_input.push_back(input_gradient(linear, cut.tokens, cut.element));
  leave_tensor_region_backward(work.backward_input, cut);
  add_last_norm_backward(work, cut);
  collect_beside_weights(work.backward_weight, cut);
  work.backward_weight.push_back(weight_gradient(linear, cut.tokens, cut.sharding));
  work.backward_weight.back().op.output_layer = true;
  work.parameters += linear.in * linear.out + linear.out;
  work.activations += cut.resident_tensor() + Bytes(2 * result);
  work.activation_input = cut.residual_tensor();
  return work;
}

LayerWork block(const Cut& cut, const Cut& text, int index) {
  const TransformerShape& shape = cut.shape;
  const bool two_streams = shape.has_two_streams(index);
  LayerWork work = block_work(cut, shape.crosses(index) ? &text : nullptr, false);
  if (two_streams) {
    split_streams(work, 1 - shape.joint_tokens() / cut.sequence, cut.element);
    add_joining(work, cut);
  }
  const Bytes core = work.activations - work.activations_selective;
  add_modulation(work, cut, two_streams);
  work.activations_selective = work.activations - core;
  return work;
}

}  // namespace

LayerWork diffusion_work(const TransformerShape& shape, LayerRole role, int index, double micro_batch, int seq_len,
                         const LayerSharding& sharding) {
  const bool in_block = role == LayerRole::dense_block;
  const Cut cut(shape, false, micro_batch, seq_len + (in_block ? shape.joint_tokens() : 0), sharding);
  // Ranks that share out a sequence hold the text that its blocks attend to whole.
  LayerSharding whole = sharding;
  if (shape.joint_tokens() == 0) whole.cp = 1;
  const Cut text(shape, false, micro_batch, shape.context_tokens(), whole);
  LayerWork work = role == LayerRole::embedding ? first_layer(cut, text)
                   : role == LayerRole::output  ? last_layer(cut)
                                                : block(cut, text, index);
  if (!in_block) work.activations_selective = work.activations;
  if (sharding.adapter_rank > 0) freeze_under_adapters(work, cut, in_block, in_block);
  return work;
}

}  // namespace workload
}  // namespace stepcast
