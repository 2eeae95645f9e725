#pragma once

#include <string_view>
#include <vector>

#include "models/workload/context_method.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

enum class OperatorKind { gemm, grouped_gemm, attention, convolution, memory };

/// Kinds of convolutions by the rates that libraries reach.
/// `three_by_three`: with stride 1 and one group, as Winograd's algorithm
/// wants; `window`: any other with one group.
enum class ConvolutionKind { window, three_by_three, pointwise, grouped, depthwise };

/// One kernel launch (or a fixed handful) on one device: what it computes and moves, not yet how long it takes.
struct Operator {
  std::string_view name;  ///< static storage: "qkv", "attention", "mlp_up", "norm" …
  OperatorKind kind = OperatorKind::memory;
  double m = 0, n = 0,
         k = 0;      ///< gemm: C[m,n] = A[m,k]·B[k,n]; attention: m = query tokens, n = key tokens, k = head size
  double batch = 1;  ///< equal products (grouped: experts on the device; attention: sequences × heads on the device)
  bool causal = false;     ///< attention
  bool backward = false;   ///< attention: backward kernel (2.5 × forward work fused, 2 × unfused); gemm: of weights
  bool eight_bit = false;  ///< attention: its products are in 8 bit
  bool fused = true;       ///< attention: one flash kernel; false: products and softmax one by one over stored scores
  double rows = 0;         ///< grouped_gemm: tokens of each expert, whichever dimension they are
  ConvolutionKind convolution = ConvolutionKind::window;
  double width = 0;  ///< channels of a convolution's result, of a grouped one those of a group; 0: wide, not known
  bool fp32_output = false;      ///< gemm that accumulates into fp32 (weight gradients)
  bool sixteen_bit = false;      ///< gemm that stays in 16 bit where others are in 8 or 4 (output layer, router)
  bool output_layer = false;     ///< gemm by the output layer's own weights
  bool separate_rotary = false;  ///< rotary positions that run operator by operator
  Flops flops;                   ///< executed, causal halves counted as executed by a fused kernel
  Bytes bytes;                   ///< least traffic
  Bytes again;                   ///< of it, of tensors that the rest counts already: what each query gathers for itself
  /// memory: bytes that a multiprocessor moves in a cycle, of a kernel whose small products it waits for; 0: memory
  /// alone limits it.
  double bytes_per_cycle = 0;
  int kernels = 1;  ///< launches
};

/// The frozen products that low-rank adapters stand beside: those in front of the attention core, these and the one
/// behind it, or every product of a block but routers' and experts'.
enum class AdapterTargets { qkv, attention, all_linear };
template <>
struct EnumNames<AdapterTargets> {
  static constexpr std::array names{"qkv", "attention", "all-linear"};
};

/// How one layer is cut over devices, for the operators' shapes.
struct LayerSharding {
  int tp = 1, cp = 1, ep = 1;
  int etp = 1;                                         ///< tensor ranks that share one expert (Degrees::etp)
  ContextMethod context_method = ContextMethod::ring;  ///< how cp > 1 exchanges keys and values
  bool sequence_parallel = false;
  bool fused_attention = true;
  bool eight_bit_attention = false;        ///< StrategySpec::fp8_dot_product_attention
  bool fused_activation = true;            ///< a gated activation keeps nothing inside
  bool fused_expert_biases = true;         ///< experts' results get their biases without passes of their own
  bool fused_norm = true;                  ///< an RMS norm is one kernel that keeps its input alone
  bool keeps_wide_norms = false;           ///< FrameworkProfile::keeps_wide_norms
  double rotary_passes = 0;                ///< FrameworkProfile::rotary_passes
  bool compiled = false;                   ///< StrategySpec::torch_compile
  bool automatic_mixed_precision = false;  ///< FrameworkProfile::automatic_mixed_precision
  bool kernels_by_element = false;         ///< FrameworkProfile::kernels_by_element, not compiled
  bool channels_first = false;             ///< order of images' elements, where kernels' rates depend on it
  bool converts_layouts = false;           ///< convolutions convert such images for matrix units, and back
  bool keeps_gathered_inputs = false;      ///< FrameworkProfile::keeps_gathered_inputs
  bool fused_loss = false;
  double score_traffic = 0.6;            ///< FrameworkProfile::score_traffic
  int fused_softmax_multiple = 0;        ///< FrameworkProfile::fused_softmax_multiple
  double tensor_exposed = 1;             ///< of a tensor-parallel gather or scatter; 1: no overlap
  bool input_gradients_overlap = false;  ///< FrameworkProfile::overlap_input_gradients
  double bytes_per_element = 2;          ///< of activations
  double gathered_bytes = 2;  ///< of an element that tensor-parallel ranks gather for a product: less than the
                              ///< above where they cast it to 8 or 4 bit before
  double cast_bytes = 0;      ///< traffic to cast an element of a product's input or gradient; 0: needs none
  bool main_gradients_fp32 = false;
  double memory_passes = 1;      ///< FrameworkProfile::memory_efficiency
  double expert_passes = 1;      ///< FrameworkProfile::expert_memory_efficiency
  double expert_imbalance = 1;   ///< WorkloadSpec::expert_imbalance
  bool sync_batch_norm = false;  ///< batch norms take their statistics over all replicas
  int adapter_rank = 0;          ///< >0: only low-rank adapters are trained
  AdapterTargets adapter_targets = AdapterTargets::attention;
  double packed_weight_bytes = 0;  ///< of a frozen weight that is unpacked for each product; 0: none is packed
  /// Whether a frozen product's input is kept for the adapter beside it.
  [[nodiscard]] bool keeps_inputs_of_all() const {
    return adapter_rank == 0 || adapter_targets == AdapterTargets::all_linear;
  }
  int document_len = 0;  ///< >0: mean tokens of the documents packed into a sequence; attention stays inside one
};

/// Communication that a layer's own forward or backward needs: inside the model replica, or (data) with the others.
enum class LayerCommunication { none, tensor, context, expert, data };
enum class LayerCollective { all_reduce, all_gather, reduce_scatter, all_to_all, send_recv };

/// A step of a layer: an operator, or a collective that the next operator waits for. `payload` of a collective is per
/// rank as NCCL counts it (all_gather: gathered size; reduce_scatter: size before; all_to_all: what a rank holds;
/// send_recv: what it sends).
struct LayerStep {
  Operator op;
  LayerCommunication communication = LayerCommunication::none;
  LayerCollective collective = LayerCollective::all_reduce;
  Bytes payload;
  /// A collective that runs beside the one operator that follows it; what comes after that operator waits for both
  /// (the chunks of ring attention; the gather of a weight gradient's input).
  bool overlappable = false;
  double calls = 1;  ///< of a collective, each of `payload`; a share of one where not every layer has it
};

/// Work of one layer for one micro-batch on one device.
struct LayerWork {
  std::vector<LayerStep> forward;
  std::vector<LayerStep> backward_input;   ///< input gradients, with everything needed for them
  std::vector<LayerStep> backward_weight;  ///< weight gradients; may be delayed (zero-bubble)
  /// Forward steps that `selective`/`modules` recompute: the attention core, and by module.
  std::vector<LayerStep> recompute_attention_core, recompute_attention, recompute_mlp, recompute_norm, recompute_moe;
  /// Trained weights where the products of the backward pass do not show them: tables that are looked up in, and all of
  /// a compact network's.
  std::vector<WeightMatrix> matrices;
  double parameters = 0;  ///< on this device (sharded by tp), without experts
  double tied_parameters =
      0;  ///< the embedding table again, where a tied output layer lies on another stage (not in `parameters`)
  double expert_parameters = 0;  ///< on this device (sharded by ep and etp)
  /// Held and used but not trained, in the same cuts: everything but the adapters where there are some.
  double frozen_parameters = 0, frozen_expert_parameters = 0;
  Bytes activations;            ///< kept from forward to backward without recompute
  Bytes activations_selective;  ///< with the attention core recomputed
  /// What recomputing one module frees of `activations`. The attention core is part of attention; the others are apart.
  Bytes freed_attention_core, freed_attention, freed_mlp, freed_norm, freed_moe;
  Bytes activation_input;  ///< the layer's input alone (kept under full recompute)
  Bytes output;            ///< what the layer hands to the next (pipeline send), per device after tp/sp/cp
};

/// Kinds of layers that a pipeline stage can hold.
/// `cnn`: a row of a CNN, or a layer of a compact network.
enum class LayerRole { embedding, dense_block, moe_block, output, cnn };

/// Work of one layer. `index` picks the row of a CNN's expanded layer table, and says which of a transformer's blocks
/// it is (whether its attention is local). `micro_batch` in samples.
/// Formulas in docs/models/workload.md: Korthikanti et al. 2022 for activations, Narayanan et al. 2021 (SC21) for
/// FLOPs.
LayerWork layer_work(const Model& model, LayerRole role, int index, double micro_batch, int seq_len,
                     const LayerSharding& sharding);

/// The CNN's rows with repeats expanded.
const std::vector<CnnLayer>& expanded_layers(const Model& model);
/// Layers that a pipeline distributes: transformer blocks, CNN rows, or layers of a compact network.
int layer_count(const Model& model);

/// Number of trainable parameters of the whole model, exactly (embeddings, norms, biases, heads).
double parameter_count(const Model& model);
/// Those of low-rank adapters beside a frozen transformer.
double adapter_parameter_count(const Model& model, int rank, AdapterTargets targets);
/// Trained parameters of a transformer's hidden matrices, experts' included (hidden_matrices); of its adapters alone
/// where they have a rank.
double hidden_parameter_count(const Model& model, int adapter_rank, AdapterTargets targets);
/// Parameters that one token uses (= all, but top_k of the experts).
double active_parameter_count(const Model& model);

/// FLOPs of the model per sample for forward and backward (3 × forward) without recomputation.
struct ModelFlopsOptions {
  bool causal_halved = true;
  bool output_layer = true;
  int document_len = 0;  ///< >0: mean tokens of the documents packed into a sequence; attention stays inside one
  bool frozen = false;   ///< only adapters are trained: products have no weight gradients (2 × forward)
};
Flops model_flops_per_sample(const Model& model, int seq_len, ModelFlopsOptions options);
/// The convention of Narayanan et al. 2021 (recomputation counted): 96·B·s·l·h²·(1 + s/6h + V/16lh).
Flops sc21_flops_per_sample(const TransformerShape& shape, int seq_len);

}  // namespace stepcast
