#include "models/workload/compressed_attention.hpp"

#include <algorithm>

#include "models/workload/attention_core.hpp"

// Compressed attention: the products that give entries and the weights of their tokens, the pooling of tokens to
// entries, what the core sees, and the output projection by groups of heads.
namespace stepcast {

const FieldTable<CompressedAttentionShape>& CompressedAttentionShape::fields() {
  using S = CompressedAttentionShape;
  static const FieldTable<S> table = [] {
    const Rules count{.min = 0, .max = 1e7};
    FieldTable<S> t("compressed attention", "Attention over a window and entries that stand for several tokens each");
    t.field("ratios", &S::ratios, "tokens to an entry, layer by layer; 0: the layer sees its window alone",
            {.required = true, .min = 0, .max = 1e7})
        .field("indexed_ratio", &S::indexed_ratio,
               "layers of this ratio have entries that overlap, of which an indexer picks; 0: none has", count)
        .field("entries", &S::entries, "entries that a query of such a layer attends to at most", count)
        .field("indexer_heads", &S::indexer_heads, "heads that score the entries", count)
        .field("indexer_head_dim", &S::indexer_head_dim, "size of such a head, and of the one key an entry", count)
        .field("output_groups", &S::output_groups, "groups of heads, each projected for itself before all are mixed",
               {.min = 1, .max = 1e7})
        .field("output_rank", &S::output_rank, "width that a group is projected to; 0: heads are mixed at once", count);
    return t;
  }();
  return table;
}

double CompressedAttentionShape::entries_before(int ratio, double span, bool causal) const {
  if (ratio == 0) return 0;
  return (causal ? span / 2 : span) / ratio;
}

double CompressedAttentionShape::entries_seen(int ratio, double span, bool causal) const {
  const double all = ratio > 0 ? span / ratio : 0;
  if (!indexes(ratio) || entries >= all) return entries_before(ratio, span, causal);
  // As of a window: the first queries have fewer entries before them than they may see.
  return causal ? entries - static_cast<double>(entries) * entries / (2 * all) : entries;
}

namespace workload {
namespace {

const CompressedAttentionShape& compressed(const Cut& cut) { return *cut.shape.compressed_attention; }

/// Tokens among which a query's are: documents that are packed into a sequence are sequences of their own.
double span_of(const Cut& cut) {
  return cut.sharding.document_len > 0 ? std::min<double>(cut.sequence, cut.sharding.document_len) : cut.sequence;
}

/// Elements of a token before pooling: contents, and the weights of the pooling's softmax.
double pooled_width(const Cut& cut) { return 2.0 * compressed(cut).series(cut.ratio) * cut.head.key_size; }

/// The products of the heads' groups.
struct Groups {
  double count, in, out;
};
Groups groups(const Cut& cut) {
  const double count = compressed(cut).output_groups;
  return {count, cut.attended / count, static_cast<double>(compressed(cut).output_rank)};
}

/// In every recipe a plain batched product in 16 bit (Megatron-Core, deepseek_v4_hybrid_attention.py).
LayerStep sixteen_bit(LayerStep step) {
  step.op.sixteen_bit = true;
  return step;
}

}  // namespace

Linear compressor(const Cut& cut) {
  return {"compress", "compress_dgrad", "compress_wgrad", cut.hidden, pooled_width(cut)};
}

double entries_before(const Cut& cut) { return compressed(cut).entries_before(cut.ratio, span_of(cut), cut.causal); }

double entries_seen(const Cut& cut) { return compressed(cut).entries_seen(cut.ratio, span_of(cut), cut.causal); }

void add_pooling(Steps& steps, std::string_view name, double width, double entry, bool backward, const Cut& cut) {
  // Contents and weights read, entries written; backward both and the entries' gradients read, both gradients written.
  const double elements = (backward ? 2 : 1) * width + entry / cut.ratio;
  steps.push_back(memory(name, cut.resident * elements * cut.element, cut.sharding));
}

void add_compression(Steps& steps, bool backward, const Cut& cut) {
  if (cut.ratio == 0) return;
  add_pooling(steps, backward ? "pool_entries_backward" : "pool_entries", pooled_width(cut), cut.head.key_size,
              backward, cut);
}

Core compressed_core(const Cut& cut) {
  const double span = span_of(cut);
  const double window = cut.seen > 0 ? cut.seen : cut.causal ? span / 2 : span;
  const double entries = entries_seen(cut);
  const double keys = cut.sequence + (cut.ratio > 0 ? cut.sequence / cut.ratio : 0);
  const bool picks = compressed(cut).indexes(cut.ratio);
  return {cut.local_sequence, keys, cut.heads, window + entries, cut.causal, picks ? entries : 0};
}

double exchanged_of_entries(const Cut& cut) {
  if (cut.ratio == 0) return 0;
  const double index = compressed(cut).indexes(cut.ratio) ? compressed(cut).indexer_head_dim : 0;
  return (cut.head.key_size + index) / cut.ratio;
}

double mixed_width(const Cut& cut) {
  const Groups of = groups(cut);
  return of.out > 0 ? of.count * of.out : cut.attended;
}

void add_output_groups(Steps& steps, bool backward, const Cut& cut) {
  const Groups of = groups(cut);
  if (of.out == 0) return;
  steps.push_back(sixteen_bit(backward ? gemm("output_groups_dgrad", cut.tokens, of.in, of.out, cut.element, of.count)
                                       : gemm("output_groups", cut.tokens, of.out, of.in, cut.element, of.count)));
}

void add_output_groups_weights(Steps& steps, const Cut& cut) {
  const Groups of = groups(cut);
  if (of.out > 0)
    steps.push_back(
        sixteen_bit(weight_gradient("output_groups_wgrad", of.in, of.out, cut.tokens, cut.sharding, of.count)));
}

void count_compressed(LayerWork& work, const Cut& cut) {
  const Groups of = groups(cut);
  const double key = cut.head.key_size;
  work.parameters += of.count * of.in * of.out + cut.heads;  // a sink each head
  work.activations += Bytes((of.out > 0 ? cut.tokens * mixed_width(cut) * cut.element : 0));
  if (cut.ratio == 0) return;
  // The pooling's product is counted with the others in front of the core: a bias for each place, and the entries'
  // norm.
  work.parameters += cut.ratio * pooled_width(cut) / 2 + key;
  // Contents and weights, and the entries before and after their norm.
  work.activations += Bytes(cut.resident * (pooled_width(cut) + 2 * key / cut.ratio) * cut.element);
}

double compressed_products(const TransformerShape& shape, int ratio) {
  const CompressedAttentionShape& compressed = *shape.compressed_attention;
  const double hidden = shape.hidden, head = shape.head_size(), attended = shape.heads * head;
  const double queries = shape.q_lora_rank > 0 ? shape.q_lora_rank * (hidden + attended) : hidden * attended;
  const double mixed = static_cast<double>(compressed.output_groups) * compressed.output_rank;
  const double output = mixed > 0 ? attended * compressed.output_rank + mixed * hidden : attended * hidden;
  const double entries = ratio > 0 ? 2 * hidden * compressed.series(ratio) * head : 0;
  return queries + hidden * head + entries + output;
}

}  // namespace workload
}  // namespace stepcast
