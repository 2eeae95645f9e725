#include "models/workload/hyper_connections.hpp"

// The first and last layers of a transformer: embedding; final norm, logits and loss. Both tables are cut by rows of
// the vocabulary over the tensor-parallel ranks (Narayanan et al. 2021; Megatron-LM's VocabParallelEmbedding and
// vocab_parallel_cross_entropy).
namespace stepcast::workload {
namespace {

/// The same device's part at the width of the words' table.
Cut at_words(const Cut& cut) {
  Cut words = cut;
  words.hidden = cut.shape.embedding_width();
  return words;
}

/// At the width of positions and segments: an encoder projects its sum of embeddings (ELECTRA, ALBERT), a decoder its
/// words before it adds positions (OPT).
Cut at_sum(const Cut& cut) { return cut.causal ? cut : at_words(cut); }

double table_parameters(const Cut& cut) { return cut.shape.vocab / cut.tp * cut.shape.embedding_width(); }

/// Between the widths of embeddings and layers, whole on every tensor-parallel rank. Encoders' have a bias.
Linear entry(const Cut& cut) {
  return {"embedding_in", "embedding_in_dgrad", "embedding_in_wgrad", at_words(cut).hidden, cut.hidden};
}
Linear exit(const Cut& cut) {
  return {"embedding_out", "embedding_out_dgrad", "embedding_out_wgrad", cut.hidden, at_words(cut).hidden};
}
double projection_parameters(const Cut& cut, const Linear& linear) {
  const bool bias = cut.shape.biases && !cut.causal;
  return linear.in * linear.out + (bias ? linear.out : 0);
}

double embedding_parameters(const Cut& cut) {
  const TransformerShape& shape = cut.shape;
  const double width = at_sum(cut).hidden;
  double parameters = table_parameters(cut) + shape.token_types * width;
  // An encoder and its decoder have tables of their own.
  const int sides = shape.encoder_layers > 0 ? 2 : 1;
  if (shape.positions == PositionKind::learned) parameters += sides * shape.max_positions * width;
  if (!cut.causal) parameters += norm_parameters(shape, width);
  return parameters;
}

std::vector<WeightMatrix> embedding_tables(const Cut& cut) {
  const TransformerShape& shape = cut.shape;
  const double width = at_sum(cut).hidden;
  std::vector<WeightMatrix> tables{{static_cast<double>(shape.vocab) / cut.tp, at_words(cut).hidden, 1}};
  if (shape.token_types > 0) tables.push_back({static_cast<double>(shape.token_types), width, 1});
  const double sides = shape.encoder_layers > 0 ? 2 : 1;
  if (shape.positions == PositionKind::learned)
    tables.push_back({static_cast<double>(shape.max_positions), width, sides});
  return tables;
}

/// Widens the embeddings to the layers' width.
void add_entry(LayerWork& work, const Cut& cut) {
  const Linear linear = entry(cut);
  work.forward.push_back(forward_product(linear, cut.resident, cut.element));
  work.parameters += projection_parameters(cut, linear);
  work.matrices.push_back({linear.out, linear.in, 1});
  work.activations += Bytes(cut.resident * linear.in * cut.element);
}

void add_entry_backward(LayerWork& work, const Cut& cut) {
  // Frozen tables ask for no gradient.
  if (cut.sharding.adapter_rank == 0)
    work.backward_input.push_back(input_gradient(entry(cut), cut.resident, cut.element));
  work.backward_weight.push_back(weight_gradient(entry(cut), cut.resident, cut.sharding));
}

/// Pooler, transform with its norm, bias of the vocabulary and next-sentence head (Devlin et al. 2018).
double bert_head_parameters(const Cut& cut) {
  const double h = cut.hidden, e = at_words(cut).hidden;
  return (h * h + h) + (h * e + e) + norm_parameters(cut.shape, e) + cut.shape.vocab / cut.tp + (2 * h + 2);
}

Linear logits(const Cut& cut) {
  return {"logits", "logits_dgrad", "logits_wgrad", at_words(cut).hidden, cut.shape.vocab / cut.tp};
}
Linear transform(const Cut& cut) {
  return {"mlm_transform", "mlm_transform_dgrad", "mlm_transform_wgrad", cut.hidden, at_words(cut).hidden};
}
Linear pooler(const Cut& cut) { return {"pooler", "pooler_dgrad", "pooler_wgrad", cut.hidden, cut.hidden}; }

/// Vocabulary-parallel cross-entropy: maximum, own logit and sum of exponentials, each one fp32 a token.
void loss_reductions(Steps& steps, const Cut& cut, double rows) {
  if (cut.sharding.tp == 1) return;
  for (const std::string_view name : {"tp_loss_max", "tp_loss_logit", "tp_loss_sum"})
    steps.push_back(
        communicate(name, LayerCommunication::tensor, LayerCollective::all_reduce, Bytes(rows * sizeof(float))));
}

/// Loss, bytes an element of the logits. Forward: logits read and widened; log-softmax reads them twice and writes
/// (PyTorch's cross_entropy); fused: read, and exponentials written in fp32.
double loss_forward_bytes(const Cut& cut) {
  return cut.sharding.fused_loss ? cut.element + sizeof(float) : cut.element + 4 * sizeof(float);
}
/// Backward: gradient of the picked rows written whole; log-softmax's backward reads it and its result and writes;
/// narrowed to 16 bit. Fused: exponentials read, gradient written.
double loss_backward_bytes(const Cut& cut) { return cut.element + (cut.sharding.fused_loss ? 1 : 5) * sizeof(float); }

/// The output layer stays in 16 bit in every 8- and 4-bit recipe (Transformer Engine; Micikevicius et al. 2022).
LayerStep of_output_layer(LayerStep product) {
  product.op.sixteen_bit = product.op.output_layer = true;
  return product;
}

void bert_heads(LayerWork& work, const Cut& cut, double rows) {
  const double width = at_words(cut).hidden;
  work.forward.push_back(forward_product(transform(cut), rows, cut.element));
  work.forward.push_back(memory("mlm_activation_norm", 4 * rows * width * cut.element, cut.sharding));
  work.forward.push_back(forward_product(pooler(cut), cut.micro_batch, cut.element));
  work.activations += Bytes(3 * rows * width * cut.element + 2 * cut.micro_batch * cut.hidden * cut.element);
}

void bert_heads_backward(LayerWork& work, const Cut& cut, double rows) {
  work.backward_input.push_back(input_gradient(pooler(cut), cut.micro_batch, cut.element));
  work.backward_input.push_back(memory("mlm_backward", 6 * rows * at_words(cut).hidden * cut.element, cut.sharding));
  work.backward_input.push_back(input_gradient(transform(cut), rows, cut.element));
  work.backward_weight.push_back(weight_gradient(transform(cut), rows, cut.sharding));
  work.backward_weight.push_back(weight_gradient(pooler(cut), cut.micro_batch, cut.sharding));
}

/// Of a model without BERT's heads: between the layers' result and the logits where embeddings have another width.
void add_exit(LayerWork& work, const Cut& cut, double rows) {
  const Linear linear = exit(cut);
  work.forward.push_back(forward_product(linear, rows, cut.element));
  work.parameters += projection_parameters(cut, linear);
  work.activations += Bytes(rows * linear.out * cut.element);
}

void add_exit_backward(LayerWork& work, const Cut& cut, double rows) {
  work.backward_input.push_back(input_gradient(exit(cut), rows, cut.element));
  work.backward_weight.push_back(weight_gradient(exit(cut), rows, cut.sharding));
}

}  // namespace

LayerWork embedding_work(const Cut& cut) {
  LayerWork work;
  const Cut words = at_words(cut), sum = at_sum(cut);
  const double elements = sum.resident * sum.hidden;
  // Rows of the table read and written, positions added: read, read, write.
  const double added = (cut.shape.positions == PositionKind::learned ? 2 : 0) + (cut.shape.token_types > 0 ? 2 : 0);
  work.forward.push_back(
      memory("embedding", 2 * words.hidden_tensor().value() + added * sum.hidden_tensor().value(), cut.sharding));
  leave_tensor_region(work.forward, words);
  if (cut.shape.dropout > 0)
    work.forward.push_back(memory("embedding_dropout", 2 * elements * cut.element + elements, cut.sharding));
  if (cut.shape.projects_embeddings()) add_entry_backward(work, cut);
  if (!cut.causal) {
    add_last_norm(work, sum);  // BERT normalises the sum of its embeddings
    work.parameters = 0;       // counted below with the tables
    work.recompute_norm.clear();
    add_last_norm_backward(work, sum);
  }
  work.matrices = embedding_tables(cut);
  if (cut.shape.projects_embeddings()) add_entry(work, cut);
  if (cut.shape.per_layer_embedding > 0) add_per_layer_table(work, cut);

  // Scattered additions into the table's gradient: gradient read, rows read and written.
  if (cut.sharding.sequence_parallel) enter_tensor_region(work.backward_weight, words);
  work.backward_weight.push_back(memory("embedding_wgrad", 3 * words.hidden_tensor().value(), cut.sharding));
  work.parameters += embedding_parameters(cut);
  work.activations += Bytes(cut.mask(elements));
  if (cut.shape.residual_streams > 1) add_stream_copies(work, cut);
  work.output = cut.stream_tensor();
  work.activations_selective = work.activations;
  return work;
}

LayerWork output_work(const Cut& cut, ModelFamily family) {
  LayerWork work;
  const TransformerShape& shape = cut.shape;
  const double rows = cut.tokens * shape.predicted_share;
  const double entries = rows * shape.vocab / cut.tp;
  if (family == ModelFamily::decoder) add_last_norm(work, cut);
  work.recompute_norm.clear();  // only blocks recompute
  enter_tensor_region(work.forward, cut);
  const bool projects = shape.projects_embeddings() && !shape.pooler_and_heads;  // BERT's transform does
  if (shape.pooler_and_heads) bert_heads(work, cut, rows);
  if (projects) add_exit(work, cut, rows);
  work.forward.push_back(of_output_layer(forward_product(logits(cut), rows, cut.element)));
  work.forward.push_back(counted_memory("loss", loss_forward_bytes(cut) * entries));
  loss_reductions(work.forward, cut, rows);

  work.backward_input.push_back(counted_memory("loss_backward", loss_backward_bytes(cut) * entries));
  regather_input(work.backward_input, cut, cut.element);
  work.backward_input.push_back(of_output_layer(input_gradient(logits(cut), rows, cut.element)));
  if (shape.pooler_and_heads) bert_heads_backward(work, cut, rows);
  if (projects) add_exit_backward(work, cut, rows);
  leave_tensor_region_backward(work.backward_input, cut);
  if (family == ModelFamily::decoder) add_last_norm_backward(work, cut);
  collect_beside_weights(work.backward_weight, cut);
  work.backward_weight.push_back(of_output_layer(weight_gradient(logits(cut), rows, cut.sharding)));

  (shape.tied_embeddings ? work.tied_parameters : work.parameters) += table_parameters(cut);
  if (shape.pooler_and_heads) work.parameters += bert_head_parameters(cut);
  // Input of the logits. The logits themselves come and go with the loss (models/memory/moment.cpp).
  work.activations += Bytes(cut.resident * shape.predicted_share * cut.hidden * cut.element) + gathered_and_kept(cut);
  work.activations_selective = work.activations;
  work.activation_input = cut.stream_tensor();
  return work;
}

}  // namespace stepcast::workload
