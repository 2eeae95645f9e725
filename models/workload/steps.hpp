#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast::workload {

/// What one device holds of one micro-batch in one layer: sizes as doubles, since a cut need not be even.
struct Cut {
  /// `causal`: tokens see those before them only.
  /// `windowed`: of a layer with the shape's window; `global`: of one that sees all beside such; `keys`: whose it has;
  /// `entry_tokens`: of one with entries of compressed attention.
  Cut(const TransformerShape& shape, bool causal, double micro_batch, double sequence, const LayerSharding& sharding,
      bool windowed = false, bool global = false, KeyHolding keys = KeyHolding::own, int entry_tokens = 0);

  const TransformerShape& shape;
  const LayerSharding& sharding;
  bool causal;
  double micro_batch;
  double sequence;        ///< tokens of a sequence
  double local_sequence;  ///< tokens of it on this device (context parallel)
  double tokens;          ///< of the micro-batch inside the tensor-parallel regions: b·s/cp
  double resident;        ///< outside them: tokens/tp with sequence parallelism
  double hidden;
  TransformerShape::Heads head;  ///< sizes of one
  double heads;                  ///< query heads on the device
  double query;                  ///< width of Q on the device: heads·d/tp
  double key;                    ///< width of K: kv_heads·d/tp, never less than one head
  double value;                  ///< width of V, alike
  double attended;               ///< width of the result: heads·(size of a value)/tp
  double entry;                  ///< width of the product that gives Q, K, V and the gate: without V where that is K,
                                 ///< without both where an earlier layer's are taken
  double tp;
  double element;   ///< bytes of an activation
  double residual;  ///< the same of what blocks add up: fp32 under automatic mixed precision
  /// Keys that a query sees on average where windows or the ends of packed documents hide more than a causal mask; 0:
  /// they do not.
  double seen;
  int ratio;  ///< tokens to an entry of compressed attention; 0: the layer has none

  [[nodiscard]] Bytes hidden_tensor() const { return Bytes(tokens * hidden * element); }
  [[nodiscard]] Bytes resident_tensor() const { return Bytes(resident * hidden * element); }
  [[nodiscard]] Bytes residual_tensor() const { return Bytes(resident * hidden * residual); }
  [[nodiscard]] bool borrows_keys() const { return head.keys == KeyHolding::borrowed; }
  /// What layers hand on: all streams.
  [[nodiscard]] Bytes stream_tensor() const { return residual_tensor() * shape.residual_streams; }
  /// Whether an indexer picks what a query sees.
  [[nodiscard]] bool indexes() const {
    return shape.sparse_attention || (shape.compressed_attention && shape.compressed_attention->indexes(ratio));
  }
  /// Whether each product that reads a norm's result casts it for itself, and keeps that copy.
  [[nodiscard]] bool casts_operands() const { return residual > element && !sharding.compiled; }
  /// Bytes of a dropout mask (one an element) over `elements`, none without dropout.
  [[nodiscard]] double mask(double elements) const { return shape.dropout > 0 ? elements : 0; }
};

/// A linear layer's three products, by name. x[tokens, in] · w[in, out].
struct Linear {
  std::string_view forward, input_gradient, weight_gradient;
  double in = 0, out = 0;
};

/// C[m,n] = A[m,k]·B[k,n], `batch` times: 2·m·n·k FLOPs, and A, B and C once through memory.
LayerStep gemm(std::string_view name, double m, double n, double k, double element, double batch = 1,
               OperatorKind kind = OperatorKind::gemm);
/// dW[in,out] = xᵀ·dy over `rows`; with fp32 main gradients C is read and written in fp32 (accumulated).
LayerStep weight_gradient(std::string_view name, double in, double out, double rows, const LayerSharding& sharding,
                          double batch = 1, OperatorKind kind = OperatorKind::gemm);
LayerStep forward_product(const Linear& linear, double rows, double element);
LayerStep input_gradient(const Linear& linear, double rows, double element);
/// A row-parallel product, after the cast of its input where its format needs one.
void add_row_parallel_product(std::vector<LayerStep>& steps, const Linear& linear, const Cut& cut);
/// Casts `elements` to the products' format and its transpose; nothing in 16 bit and wider.
void add_cast(std::vector<LayerStep>& steps, std::string_view name, double elements, const LayerSharding& sharding);
LayerStep weight_gradient(const Linear& linear, double rows, const LayerSharding& sharding);
/// Whether automatic mixed precision casts by kernels of their own: in 16 bit, where nothing compiles these into
/// others.
bool casts_by_kernels(const LayerSharding& sharding);
/// A streaming kernel over `bytes` of least traffic, times the framework's passes.
LayerStep memory(std::string_view name, double bytes, const LayerSharding& sharding);
/// The same of kernels that are counted one by one, or stream well whatever the framework: none of its passes.
LayerStep counted_memory(std::string_view name, double bytes);
/// A kernel of many small products, which multiprocessors limit: so many bytes a cycle of each, whatever the framework.
LayerStep chunked(std::string_view name, double bytes_per_token, double multiply_adds_per_token, double bytes_per_cycle,
                  const Cut& cut);
/// A kernel that finds the place of each element for itself, either way: of PyTorch's own multiprocessors take a stated
/// time for each of its `elements`, of other frameworks' it streams (models/workload/element_kernels.cpp).
LayerStep element_kernel(ElementKernelKind kind, double elements, bool backward, const LayerSharding& sharding,
                         int launches = 1);
/// A batch norm of `bytes` of least traffic over `elements`, read and written in the forward pass.
LayerStep batch_norm(double bytes, double elements, bool backward, const LayerSharding& sharding);
/// What a convolution does to images with channels first before and after its product: `elements` read and written by
/// kernels among its own.
LayerStep layout_conversion(double elements, const LayerSharding& sharding);
/// A kernel that the memory's rate bounds; its multiply-adds count as executed and take no time beside that.
LayerStep streamed(std::string_view name, double bytes_per_token, double multiply_adds_per_token, const Cut& cut);
LayerStep communicate(std::string_view name, LayerCommunication over, LayerCollective collective, Bytes payload,
                      bool overlappable = false);

/// Batch norms over all replicas: each sums two figures a channel, mean and mean square forward, their gradients'
/// sums backward, and what follows waits (torch.nn.SyncBatchNorm gathers forward, of the same size).
LayerStep synchronize_batch_norm(double channels, double norms = 1);

using Steps = std::vector<LayerStep>;

/// Context parallelism of what takes a sequence from its first token on: an all_to_all turns a cut of the sequence into
/// one of the heads, of `width` elements a token, or back (Megatron-Core, core/ssm/mamba_context_parallel.py).
void exchange_heads(Steps& steps, std::string_view name, double width, const Cut& cut);

/// Collectives of the tensor-parallel regions (Narayanan et al. 2021 §2.3; Korthikanti et al. 2022 §4.2). Without
/// sequence parallelism a region starts with nothing and ends with an all-reduce; with it, all-gather and
/// reduce-scatter. The backward pass mirrors both.
void enter_tensor_region(Steps& steps, const Cut& cut);           ///< before a product in 16 bit, forward or backward
void leave_tensor_region(Steps& steps, const Cut& cut);           ///< forward, after a row-parallel product
void leave_tensor_region_backward(Steps& steps, const Cut& cut);  ///< after the column-parallel product's gradient
/// Hands a hidden state, or with `cast` "cast_gradient" its gradient, to the product that follows: gathered, and cast,
/// by each rank for itself before where less than 16 bit are gathered, else by all in full.
void gather_operand(Steps& steps, std::string_view cast, const Cut& cut);
/// What of leave_tensor_region_backward's sum or scatter runs beside that product's weight gradient, which is to
/// follow.
void collect_beside_weights(Steps& weights, const Cut& cut);
/// The saved input gathered again for the column-parallel weight gradient, where it was not kept whole and there is
/// one (not under adapters); beside the input gradient that follows. `element`: bytes of what was saved.
void regather_input(Steps& steps, const Cut& cut, double element);
/// What a gathered input holds above the device's part of it, where it is kept.
Bytes gathered_and_kept(const Cut& cut);

/// Tokens that the scan of a state-space layer takes at once (chunk_size of Megatron-Core and of published models).
inline constexpr double kScanChunk = 128;

/// The halves of a block, each from its norm to its residual addition: two of them, or one (TransformerShape::
/// layer_pattern).
void add_attention_half(LayerWork& work, const Cut& cut);
void add_attention_backward(LayerWork& work, const Cut& cut);
/// The part of a decoder's block between its attention and its MLP: from its norm to its residual addition, attention
/// of its tokens over the encoder's result, whose cut is `source`.
void add_cross_attention(LayerWork& work, const Cut& cut, const Cut& source);
void add_cross_attention_backward(LayerWork& work, const Cut& cut, const Cut& source);
void add_mlp_half(LayerWork& work, const Cut& cut);
void add_mlp_backward(LayerWork& work, const Cut& cut);
void add_moe_half(LayerWork& work, const Cut& cut);
void add_moe_backward(LayerWork& work, const Cut& cut);
/// What a mixer of tokens other than attention holds on the device.
struct MixerHoldings {
  double parameters = 0;
  double kept = 0;        ///< elements of a token that the backward pass needs, beside the layer's input
  double last_input = 0;  ///< and for the last product's weight gradient, so not under adapters
};
/// A half behind its mixer's own steps, to its residual addition.
void finish_mixer_half(LayerWork& work, const Cut& cut, const MixerHoldings& mixer);
/// The same of its backward pass, with the weight gradients of `out`, the last product, and of `others` in order.
void finish_mixer_backward(LayerWork& work, const Cut& cut, const Linear& out, std::span<const Linear> others);
void add_mamba_half(LayerWork& work, const Cut& cut);
void add_mamba_backward(LayerWork& work, const Cut& cut);
/// Multiply-adds of a state-space layer for one token: its products, the scan's within and between chunks, and the
/// convolution's.
double mamba_multiply_adds(const TransformerShape& shape);
void add_linear_attention_half(LayerWork& work, const Cut& cut);
void add_linear_attention_backward(LayerWork& work, const Cut& cut);
/// The same of a layer of linear attention.
double linear_attention_multiply_adds(const TransformerShape& shape);

/// The indexer of sparse and of compressed attention, in front of the core (Cut::indexes).
void add_indexer(Steps& steps, const Cut& cut);
void add_indexer_backward(LayerWork& work, const Cut& cut);
/// Its parameters, and what its backward pass needs.
void count_indexer(LayerWork& work, const Cut& cut);
/// Size of the key that all heads share under it: the latent and the rotary part (section 2.1, "under MLA").
double shared_key(const TransformerShape& shape);
/// Multiply-adds of its products for one token.
double indexer_products(const TransformerShape& shape);

/// The part of a block behind its MLP that takes in the layer's own embedding (TransformerShape::per_layer_embedding):
/// a gate of the hidden state multiplies it, and what a product makes of both is normed and added.
void add_per_layer_part(LayerWork& work, const Cut& cut);
void add_per_layer_part_backward(LayerWork& work, const Cut& cut);
/// All layers' embeddings, which the first layer makes: rows of a table, added to a product of the words' embeddings.
void add_per_layer_table(LayerWork& work, const Cut& cut);
/// Multiply-adds of the parts of all layers and of that product for one token.
double per_layer_multiply_adds(const TransformerShape& shape);
/// Of compressed attention (TransformerShape::compressed_attention): the product to entries' contents and the weights
/// of their tokens, of a layer that has entries.
Linear compressor(const Cut& cut);
/// The pooling of tokens to entries, of `width` elements a token to `entry` elements an entry.
void add_pooling(Steps& steps, std::string_view name, double width, double entry, bool backward, const Cut& cut);
/// That of a layer's entries; nothing where it has none.
void add_compression(Steps& steps, bool backward, const Cut& cut);
/// Entries before a query, and that it attends to, on average.
double entries_before(const Cut& cut);
double entries_seen(const Cut& cut);
/// Width of what context-parallel ranks gather of a token, of entries and of the keys that index them.
double exchanged_of_entries(const Cut& cut);
/// The first product of the output, by groups of heads, and the width of what it gives.
void add_output_groups(Steps& steps, bool backward, const Cut& cut);
void add_output_groups_weights(Steps& steps, const Cut& cut);
double mixed_width(const Cut& cut);
/// What neither other products of attention nor the indexer hold.
void count_compressed(LayerWork& work, const Cut& cut);
/// Multiply-adds of the products of a layer of such a ratio for one token, without the indexer's.
double compressed_products(const TransformerShape& shape, int ratio);

/// Parts of a half that all kinds share. `readers`: products that read what the norm gives.
void add_norm(LayerWork& work, const Cut& cut, double readers = 1);
/// RMS norms of `elements` of queries and keys, one scale for all heads (Henry et al. 2020, arXiv 2010.04245; Dehghani
/// et al. 2023, arXiv 2302.05442). One kernel reads and writes; backward it reads input and gradient and writes a
/// gradient.
LayerStep head_norms(std::string_view name, double elements, bool backward, const Cut& cut);
/// What they keep for their backward pass, their input included.
Bytes kept_by_head_norms(double elements, const Cut& cut);
void add_residual(LayerWork& work, const Cut& cut);
/// A norm's backward pass, and the residual branch's gradient added to it.
void add_norm_backward(LayerWork& work, const Cut& cut, double readers = 1);
void add_residual_backward(LayerWork& work, const Cut& cut);
/// Of a norm beside which nothing is added, in front of the output layer or of what has no streams.
void add_last_norm(LayerWork& work, const Cut& cut);
void add_last_norm_backward(LayerWork& work, const Cut& cut, double readers = 1);

/// A whole block: attention, over `source` too where that is not null, and an MLP or a mixture of experts.
LayerWork block_work(const Cut& cut, const Cut* source, bool moe);

/// A layer of a diffusion transformer, alike (diffusion.cpp).
LayerWork diffusion_work(const TransformerShape& shape, LayerRole role, int index, double micro_batch, int seq_len,
                         const LayerSharding& sharding);

LayerWork embedding_work(const Cut& cut);
LayerWork output_work(const Cut& cut, ModelFamily family);
/// Adds the multi-token-prediction blocks to the output layer: each a projection of two hidden states to one, a block
/// like the model's last, and the output layer once more (DeepSeek-V3, arXiv 2412.19437, section 2.2).
void add_prediction_blocks(LayerWork& output, const LayerWork& block, const Cut& cut);
/// Turns a layer that is trained into one that is frozen under low-rank adapters (Hu et al. 2021, arXiv 2106.09685).
/// `block`: it is no embedding or output layer; `attends`: it has attention.
void freeze_under_adapters(LayerWork& work, const Cut& cut, bool block, bool attends);
LayerWork cnn_work(const CnnShape& shape, int index, double micro_batch, const LayerSharding& sharding);

/// One of a compact network's equal layers.
LayerWork compact_work(const CompactShape& shape, double micro_batch, const LayerSharding& sharding);
/// FLOPs of a compact network's forward pass for one sample.
double compact_forward_flops(const CompactShape& shape);

/// A recommender's layers: 0, its tables with the bottom MLP; 1, the interaction; then the top MLP one by one.
int recommender_layers(const RecommenderShape& shape);
LayerWork recommender_work(const RecommenderShape& shape, int index, double micro_batch, const LayerSharding& sharding);
/// FLOPs of a recommender's forward pass for one sample; lookups are none.
double recommender_forward_flops(const RecommenderShape& shape);
/// Parameters of everything but the tables.
double recommender_dense_parameters(const RecommenderShape& shape);

/// Weights of a norm over the layers' width: scale, and shift where linear layers have biases too.
double norm_parameters(const TransformerShape& shape);
/// The same over another width.
double norm_parameters(const TransformerShape& shape, double width);
/// FLOPs of a CNN row's forward pass for one sample: 2 × multiply-adds of a convolution or fully connected row.
double cnn_forward_flops(const CnnLayer& row);
double cnn_parameters(const CnnLayer& row);

/// First products of an MLP: with a gate two.
inline double gates(const TransformerShape& shape) { return shape.gated_mlp ? 2 : 1; }

}  // namespace stepcast::workload
