#include "models/workload/recommender.hpp"

#include <cmath>

#include "models/workload/steps.hpp"

// A recommender with embedding tables (DLRM, Naumov et al. 2019, arXiv 1906.00091). Tables are dealt out over all
// devices, by table or by column, with the load even; the MLPs and the interaction are replicated. A device looks up
// its share of the tables for everybody's samples, sends the vectors to where the samples are, and takes the vectors'
// gradients back (all_to_all both ways).
namespace stepcast {
namespace {

constexpr double kMostRows = 1e13, kMostLookups = 1e6;

}  // namespace

const FieldTable<EmbeddingTables>& EmbeddingTables::fields() {
  using S = EmbeddingTables;
  static const FieldTable<S> table = [] {
    FieldTable<S> t("embedding tables", "Embedding tables of one size");
    t.field("count", &S::count, "Tables of this size", {.min = 1, .max = 1e6})
        .field("rows", &S::rows, "Rows of each", {.required = true, .min = 1, .max = kMostRows})
        .field("lookups", &S::lookups, "Rows that one sample looks up in each; they are added up",
               {.min = 0, .max = kMostLookups, .above_min = true});
    return t;
  }();
  return table;
}

const FieldTable<RecommenderShape>& RecommenderShape::fields() {
  using S = RecommenderShape;
  static const FieldTable<S> table = [] {
    const Rules width{.min = 1, .max = 1e7};
    FieldTable<S> t("recommender", "A recommender: embedding tables, two MLPs and the interaction between them");
    t.field("dense_features", &S::dense_features, "Numbers of a sample that enter the bottom MLP",
            {.required = true, .min = 1, .max = 1e7})
        .field("embedding_dim", &S::embedding_dim, "Width of a table's row", {.required = true, .min = 1, .max = 1e6})
        .field("tables", &S::tables, "Embedding tables by size", {.required = true})
        .field("bottom_mlp", &S::bottom_mlp, "Widths of the bottom MLP's layers; the last is embedding_dim", width)
        .field("top_mlp", &S::top_mlp, "Widths of the top MLP's layers", width)
        .field("interaction", &S::interaction, "dot: products of all pairs; cross: low-rank cross layers (DCN-V2)")
        .field("cross_layers", &S::cross_layers, "cross: layers", {.min = 0, .max = 1000})
        .field("cross_rank", &S::cross_rank, "cross: rank of a layer's product", {.min = 0, .max = 1e6})
        .field("table_bytes_per_parameter", &S::table_bytes, "Bytes of a table's parameter", {.min = 0.5, .max = 8})
        .field("table_state_bytes_per_parameter", &S::table_state_bytes,
               "Optimizer state beside it: 0 for SGD, 4 for Adagrad", {.min = 0, .max = 16});
    return t;
  }();
  return table;
}

double RecommenderShape::table_count() const {
  double count = 0;
  for (const EmbeddingTables& group : tables) count += group.count;
  return count;
}

double RecommenderShape::lookups() const {
  double sum = 0;
  for (const EmbeddingTables& group : tables) sum += group.count * group.lookups;
  return sum;
}

double RecommenderShape::table_parameters() const {
  double rows = 0;
  for (const EmbeddingTables& group : tables) rows += group.count * group.rows;
  return rows * embedding_dim;
}

double RecommenderShape::interaction_width() const {
  const double vectors = table_count() + 1;
  if (interaction == Interaction::cross) return vectors * embedding_dim;
  // Each pair once, and the dense vector itself.
  return vectors * (vectors - 1) / 2 + embedding_dim;
}

namespace workload {
namespace {

/// An index on the wire and in memory: 64-bit integers in PyTorch, TensorFlow and HugeCTR alike.
constexpr double kIndexBytes = 8;
/// Sorting an update's indices with their places: a radix sort of 32-bit keys and 32-bit values in four passes, each of
/// which reads and writes both (CUB's DeviceRadixSort, 8 bits a pass).
constexpr double kSortBytes = 4 * 2 * 8.0;

class Recommender {
 public:
  Recommender(const RecommenderShape& shape, double micro_batch, const LayerSharding& cuts)
      : shape_(shape), cuts_(cuts), batch_(micro_batch), element_(cuts.bytes_per_element) {}

  /// Tables and bottom MLP.
  LayerWork entrance() {
    LayerWork work;
    const double vectors = batch_ * shape_.table_count() * shape_.embedding_dim * element_;
    const double indices = batch_ * shape_.lookups() * kIndexBytes;
    const bool apart = cuts_.ep > 1;
    if (apart) work.forward.push_back(exchange("indices", indices, false));
    work.forward.push_back(streaming("embedding_lookup", touched_rows() * row_bytes() + indices + vectors));
    // The vectors travel beside the bottom MLP's first product.
    if (apart) work.forward.push_back(exchange("embeddings", vectors, true));
    double in = shape_.dense_features;
    std::vector<LayerStep> backward;
    for (const int out : shape_.bottom_mlp) {
      add_layer(work, backward, in, out, in != shape_.dense_features);
      in = out;
    }
    if (apart) work.backward_input.push_back(exchange("embedding_gradients", vectors, true));
    work.backward_input.insert(work.backward_input.end(), backward.begin(), backward.end());
    // A row is read and written with its state; rows that several samples looked up once.
    const double state = 1 + shape_.table_state_bytes / shape_.table_bytes;
    work.backward_input.push_back(streaming("embedding_update", touched_rows() * 2 * row_bytes() * state + vectors +
                                                                    batch_ * shape_.lookups() * kSortBytes));
    // No dense gradient is made of tables, and no optimizer passes over them.
    work.frozen_expert_parameters = shape_.table_parameters() / cuts_.ep;
    work.activations += Bytes(vectors + indices);
    return finished(work, shape_.dense_features, (shape_.table_count() + 1) * shape_.embedding_dim);
  }

  LayerWork interaction() {
    LayerWork work;
    const double vectors = shape_.table_count() + 1, dim = shape_.embedding_dim;
    const double whole = batch_ * vectors * dim * element_;
    work.forward.push_back(memory("concatenate", 2 * whole, cuts_));
    if (shape_.interaction == Interaction::dot) {
      const double pairs = batch_ * shape_.interaction_width() * element_;
      work.forward.push_back(gemm("interaction", vectors, vectors, dim, element_, batch_));
      work.forward.push_back(memory("pairs", 2 * pairs, cuts_));
      work.backward_input.push_back(memory("pairs_backward", 2 * pairs, cuts_));
      // Every vector meets every other twice: as the left and as the right factor, whose gradients are added first.
      work.backward_input.push_back(gemm("interaction_dgrad", vectors, dim, vectors, element_, batch_));
      work.activations += Bytes(whole + pairs);
    } else {
      cross(work, vectors * dim, whole);
    }
    work.backward_input.push_back(memory("split", 2 * whole, cuts_));
    return finished(work, vectors * dim, shape_.interaction_width());
  }

  LayerWork top(std::size_t index) {
    LayerWork work;
    const double in = index == 0 ? shape_.interaction_width() : shape_.top_mlp[index - 1];
    const double out = shape_.top_mlp[index];
    std::vector<LayerStep> backward;
    add_layer(work, backward, in, out, true);
    work.backward_input = std::move(backward);
    if (index + 1 == shape_.top_mlp.size()) {
      const double logits = 2 * batch_ * out * sizeof(float);
      work.forward.push_back(memory("loss", logits, cuts_));
      work.backward_input.insert(work.backward_input.begin(), memory("loss_backward", logits, cuts_));
    }
    return finished(work, in, out);
  }

 private:
  [[nodiscard]] double row_bytes() const { return shape_.embedding_dim * shape_.table_bytes; }

  /// Rows that a step touches on one device, each counted once: of n lookups in a table of r rows, drawn evenly,
  /// r·(1 − (1 − 1/r)ⁿ). What is looked up again lies in the cache.
  [[nodiscard]] double touched_rows() const {
    double rows = 0;
    for (const EmbeddingTables& group : shape_.tables) {
      const double lookups = batch_ * cuts_.ep * group.lookups;
      rows += group.count * group.rows * -std::expm1(lookups * std::log1p(-std::min(1.0 / group.rows, 1 - 1e-12)));
    }
    return rows / cuts_.ep;
  }

  [[nodiscard]] LayerStep exchange(std::string_view name, double bytes, bool beside) const {
    return communicate(name, LayerCommunication::expert, LayerCollective::all_to_all, Bytes(bytes), beside);
  }

  /// One kernel in every library: no framework's passes are added.
  [[nodiscard]] LayerStep streaming(std::string_view name, double bytes) const {
    LayerStep step = memory(name, 0, cuts_);
    step.op.bytes = Bytes(bytes);
    return step;
  }

  /// A fully connected layer with its ReLU. Its backward steps come before those of the layers below it.
  void add_layer(LayerWork& work, std::vector<LayerStep>& backward, double in, double out, bool input_gradient) {
    const double tensor = batch_ * out * element_;
    work.forward.push_back(gemm("fully_connected", batch_, out, in, element_));
    work.forward.push_back(memory("relu", 2 * tensor, cuts_));
    std::vector<LayerStep> own{memory("relu_backward", 3 * tensor, cuts_)};
    if (input_gradient) own.push_back(gemm("fully_connected_dgrad", batch_, in, out, element_));
    backward.insert(backward.begin(), own.begin(), own.end());
    work.backward_weight.push_back(weight_gradient("fully_connected_wgrad", in, out, batch_, cuts_));
    work.parameters += in * out + out;
    work.activations += Bytes(tensor);
  }

  /// x′ = x₀ ∘ (V·(U·x) + b) + x, layer after layer (Wang et al. 2020, section 3.3).
  void cross(LayerWork& work, double width, double whole) {
    const double rank = shape_.cross_rank;
    for (int layer = 0; layer < shape_.cross_layers; ++layer) {
      work.forward.push_back(gemm("cross_down", batch_, rank, width, element_));
      work.forward.push_back(gemm("cross_up", batch_, width, rank, element_));
      // x₀, product and x read, x′ written; backward: three read, gradients of x₀ and of the product written.
      work.forward.push_back(memory("cross_multiply", 4 * whole, cuts_));
      work.backward_input.push_back(memory("cross_multiply_backward", 5 * whole, cuts_));
      work.backward_input.push_back(gemm("cross_up_dgrad", batch_, rank, width, element_));
      work.backward_input.push_back(gemm("cross_down_dgrad", batch_, width, rank, element_));
      work.backward_weight.push_back(weight_gradient("cross_up_wgrad", rank, width, batch_, cuts_));
      work.backward_weight.push_back(weight_gradient("cross_down_wgrad", width, rank, batch_, cuts_));
      work.parameters += 2 * width * rank + width;
      work.activations += Bytes(2 * whole + batch_ * rank * element_);
    }
  }

  LayerWork finished(LayerWork& work, double in, double out) const {
    work.activations_selective = work.activations;
    work.activation_input = Bytes(batch_ * in * element_);
    work.output = Bytes(batch_ * out * element_);
    return std::move(work);
  }

  const RecommenderShape& shape_;
  const LayerSharding& cuts_;
  double batch_, element_;
};

double chain_flops(double in, const std::vector<int>& widths) {
  double flops = 0;
  for (const int out : widths) {
    flops += 2 * in * out;
    in = out;
  }
  return flops;
}

}  // namespace

int recommender_layers(const RecommenderShape& shape) { return 2 + static_cast<int>(shape.top_mlp.size()); }

LayerWork recommender_work(const RecommenderShape& shape, int index, double micro_batch, const LayerSharding& cuts) {
  Recommender recommender(shape, micro_batch, cuts);
  if (index == 0) return recommender.entrance();
  if (index == 1) return recommender.interaction();
  return recommender.top(static_cast<std::size_t>(index) - 2);
}

double recommender_forward_flops(const RecommenderShape& shape) {
  const double vectors = shape.table_count() + 1, dim = shape.embedding_dim;
  const double meeting = shape.interaction == Interaction::dot
                             ? 2 * vectors * vectors * dim
                             : shape.cross_layers * 4 * vectors * dim * shape.cross_rank;
  return chain_flops(shape.dense_features, shape.bottom_mlp) + meeting +
         chain_flops(shape.interaction_width(), shape.top_mlp);
}

double recommender_dense_parameters(const RecommenderShape& shape) {
  const LayerSharding whole;
  double total = 0;
  for (int layer = 0; layer < recommender_layers(shape); ++layer)
    total += recommender_work(shape, layer, 1, whole).parameters;
  return total;
}

}  // namespace workload
}  // namespace stepcast
