#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"
#include "hardware-catalog/parts.hpp"
#include "models/workload/compressed_attention.hpp"
#include "models/workload/diffusion.hpp"
#include "models/workload/linear_attention.hpp"
#include "models/workload/recommender.hpp"
#include "models/workload/sparse_attention.hpp"
#include "models/workload/workload_kind.hpp"
#include "units/quantity.hpp"

namespace stepcast {

enum class ModelFamily { decoder, encoder, diffusion, cnn, compact, recommender };
template <>
struct EnumNames<ModelFamily> {
  static constexpr std::array names{"decoder", "encoder", "diffusion", "cnn", "compact", "recommender"};
};
enum class PositionKind { learned, rotary, alibi, none };
template <>
struct EnumNames<PositionKind> {
  static constexpr std::array names{"learned", "rotary", "alibi", "none"};
};
enum class NormKind { layer_norm, rms_norm };
template <>
struct EnumNames<NormKind> {
  static constexpr std::array names{"layer_norm", "rms_norm"};
};

/// What a local attention layer sees of the past: the last `window` tokens, or its own chunk of `window` tokens.
enum class WindowKind { sliding, chunked };
template <>
struct EnumNames<WindowKind> {
  static constexpr std::array names{"sliding", "chunked"};
};

/// Whose keys and values a layer attends over: its own; its own, which layers behind it have too; an earlier layer's.
enum class KeyHolding { own, lent, borrowed };

/// Most blocks of a transformer, or rows of a CNN with repeats, that a description may have.
inline constexpr int kMostLayers = 10000;

/// A transformer's shape.
struct TransformerShape {
  int layers = 0;
  int hidden = 0;
  int ffn_hidden = 0;  ///< width of the MLP (of one gate of a gated one)
  int heads = 0;
  int kv_heads = 0;  ///< 0: as heads
  int head_dim = 0;  ///< 0: hidden / heads
  int vocab = 0;     ///< 0: of a diffusion transformer
  /// Width of the embeddings where it is not the layers', which are projected then (ELECTRA, ALBERT; OPT's
  /// word_embed_proj_dim): an encoder's sum of embeddings, a decoder's words. 0: as hidden.
  int embedding_size = 0;
  /// Groups of consecutive layers, each of which has the weights of one (ALBERT's num_hidden_groups; Lan et al. 2019,
  /// arXiv 1909.11942, section 3.1). 0: every layer has its own.
  int hidden_groups = 0;
  bool gated_mlp = false;
  bool biases = false;    ///< linear layers have biases
  bool qkv_bias = false;  ///< only the QKV projection has (Qwen)
  bool qk_norm = false;   ///< each head's query and key are normalised
  /// What attention gives is multiplied, element by element, by a gate that comes with the queries (Qiu et al. 2025,
  /// arXiv 2505.06708; Qwen3-Next).
  bool attention_output_gate = false;
  bool tied_embeddings = false;
  PositionKind positions = PositionKind::rotary;
  NormKind norm = NormKind::rms_norm;
  int max_positions = 0;          ///< rows of a learned position table, and the default sequence length
  int token_types = 0;            ///< BERT's segment embeddings
  bool pooler_and_heads = false;  ///< BERT's pooler, MLM transform and NSP head
  double predicted_share = 1;     ///< share of the tokens that the output layer sees (masked tokens of BERT)
  double dropout = 0;             ///< >0: dropout masks are stored and applied
  int experts = 0;                ///< 0: dense
  int top_k = 0;
  int moe_ffn_hidden = 0;
  int shared_expert_ffn = 0;
  int dense_layers = 0;  ///< first layers that are dense in an MoE model
  /// The router's choice is among the experts of `groups_per_token` of so many equal groups, consecutive ones; 1: among
  /// all (node-limited routing, DeepSeek-V3, arXiv 2412.19437, section 2.1.2).
  int expert_groups = 1, groups_per_token = 1;
  int moe_every = 1;  ///< after those, every so many-th layer has experts
  /// Multi-latent attention (DeepSeek-V2, arXiv 2405.04434): keys and values, and with q_lora_rank queries, come from
  /// a narrow latent; a head's query and key have a part without positions and a rotary part. kv_lora_rank 0: usual.
  int q_lora_rank = 0, kv_lora_rank = 0;
  int qk_nope_head_dim = 0, qk_rope_head_dim = 0;
  int v_head_dim = 0;  ///< size of a head's value, also of usual attention; there 0: as its key
  std::optional<SparseAttentionShape> sparse_attention;  ///< with multi-latent attention; nothing: tokens see all
  /// With a window, which every layer has then: entries that stand for several tokens beside it.
  std::optional<CompressedAttentionShape> compressed_attention;
  int window = 0;  ///< tokens that local attention layers see; 0: every layer sees all
  WindowKind window_kind = WindowKind::sliding;
  int global_every = 0;  ///< every so many-th layer sees all; 0: none does (with a window)
  /// Of those layers beside local ones: heads, their size and heads of keys, 0: as the others'; and whether their
  /// values are their keys, so that no product gives them (Gemma 4).
  int global_heads = 0, global_head_dim = 0, global_kv_heads = 0;
  bool global_keys_are_values = false;
  /// The last so many layers have no keys and values but those of the last layer before them that sees as much (Gemma
  /// 3n and 4: num_kv_shared_layers); and the width of their MLP, 0: as ffn_hidden.
  int shared_kv_layers = 0, shared_kv_ffn_hidden = 0;
  /// Each layer has an embedding of so many elements of its own for each token, which a gate of the layer's hidden
  /// state multiplies before it is projected and added (Gemma 3n and 4: hidden_size_per_layer_input); 0: none.
  int per_layer_embedding = 0;
  int residual_streams = 1;  ///< streams that hyper-connections mix; 1: one, to which every half adds
  int mtp_layers = 0;  ///< multi-token-prediction blocks behind the last layer, each with the output layer once more
  int moe_latent = 0;  ///< width to which tokens are projected for the routed experts, and back; 0: they see hidden
  /// Layers of one half each, by letter as Megatron-Core names them (hybrid_layer_pattern): "M" a Mamba-2 mixer,
  /// "G" linear attention, "*" attention, "-" an MLP, "E" a mixture of experts. Empty: every layer is attention and an
  /// MLP (or experts).
  std::string layer_pattern;
  std::optional<LinearAttentionShape> linear_attention;  ///< of the layers G
  int ssm_heads = 0, ssm_head_dim = 0;                   ///< of a Mamba-2 mixer
  int ssm_state = 0;                                     ///< states of each channel of a head
  int ssm_groups = 1;                                    ///< of heads that share B and C
  int ssm_conv = 4;                                      ///< tokens that the convolution sees
  /// The first so many layers are an encoder's: its tokens, the source, see one another. The others are a decoder's:
  /// its tokens, the target, see those before them, and by cross attention the encoder's result. 0: no encoder.
  int encoder_layers = 0;
  double target_share = 1;                  ///< tokens of the target for one of the source, whose length seq_len is
  std::optional<DiffusionShape> diffusion;  ///< of a model of that family
  [[nodiscard]] int kv() const { return kv_heads > 0 ? kv_heads : heads; }
  [[nodiscard]] int head_size() const { return head_dim > 0 ? head_dim : hidden / heads; }
  /// Width of the words' table: embedding_size, or hidden.
  [[nodiscard]] int embedding_width() const { return embedding_size > 0 ? embedding_size : hidden; }
  /// Whether products stand between the embeddings' width and the layers'.
  [[nodiscard]] bool projects_embeddings() const { return embedding_width() != hidden; }
  /// Whether a layer's weights are counted with it: of a group that shares them, with its first layer.
  [[nodiscard]] bool holds_weights(int layer) const {
    return hidden_groups == 0 || layer % std::max(1, layers / hidden_groups) == 0;
  }
  /// The letter of a layer; 0 of a whole block.
  [[nodiscard]] char half(int layer) const {
    return layer_pattern.empty() ? '\0' : layer_pattern[static_cast<std::size_t>(layer)];
  }
  [[nodiscard]] bool has_half(char letter) const { return layer_pattern.find(letter) != std::string::npos; }
  /// Whether heads of mixers and of linear attention, as far as there are any, can be dealt out to so many
  /// context-parallel ranks of tensor-parallel ones. A rank has whole groups of B and C, or ranks share one.
  [[nodiscard]] bool deals_out_mixers(long ranks) const {
    const bool mixers =
        !has_half('M') || (ssm_heads % ranks == 0 && (ssm_groups % ranks == 0 || ranks % ssm_groups == 0));
    return mixers && (!linear_attention || linear_attention->key_heads % ranks == 0);
  }
  [[nodiscard]] bool is_moe(int layer) const {
    if (!layer_pattern.empty()) return half(layer) == 'E';
    return experts > 0 && layer >= dense_layers && (layer - dense_layers) % moe_every == moe_every - 1;
  }
  /// Whether the blocks of multi-token prediction, which are whole, have experts: those of a pattern do where it has
  /// any.
  [[nodiscard]] bool predicts_with_experts() const {
    return layer_pattern.empty() ? is_moe(layers - 1) : has_half('E');
  }
  [[nodiscard]] bool is_windowed(int layer) const {
    return window > 0 && (global_every == 0 || (layer + 1) % global_every != 0);
  }
  /// Whether a layer sees all beside others with a window.
  [[nodiscard]] bool is_global(int layer) const { return window > 0 && !is_windowed(layer); }
  [[nodiscard]] KeyHolding keys_of(int layer) const;
  /// Width of a layer's MLP that is no expert's.
  [[nodiscard]] int mlp_width(KeyHolding keys) const {
    return keys == KeyHolding::borrowed && shared_kv_ffn_hidden > 0 ? shared_kv_ffn_hidden : ffn_hidden;
  }
  [[nodiscard]] bool is_encoder(int layer) const { return layer < encoder_layers; }
  /// Whether a layer's tokens attend to others beside its own: an encoder's result, or a text.
  [[nodiscard]] bool crosses(int layer) const {
    if (diffusion) return context_tokens() > 0 && diffusion->context == ContextKind::cross_attention;
    return encoder_layers > 0 && !is_encoder(layer);
  }
  [[nodiscard]] int context_tokens() const { return diffusion ? diffusion->context_tokens : 0; }
  /// Tokens of a text that go through a diffusion transformer's blocks beside those of the latent.
  [[nodiscard]] int joint_tokens() const {
    return diffusion && diffusion->context == ContextKind::joint_attention ? diffusion->context_tokens : 0;
  }
  [[nodiscard]] bool has_two_streams(int layer) const { return diffusion && layer < diffusion->two_stream_layers; }
  /// Length of the target of a source of so many tokens; of a model without an encoder the sequence itself.
  [[nodiscard]] double target_tokens(double source) const {
    return encoder_layers > 0 ? std::max(1.0, std::round(source * target_share)) : source;
  }
  [[nodiscard]] bool is_latent() const { return kv_lora_rank > 0; }
  /// Whether products of attention go through latents that norms follow.
  [[nodiscard]] bool has_latents() const { return is_latent() || compressed_attention; }
  /// Tokens to an entry of compressed attention that a layer sees; 0: it sees none.
  [[nodiscard]] int entry_tokens(int layer) const {
    const auto at = static_cast<std::size_t>(layer);
    return compressed_attention && at < compressed_attention->ratios.size() ? compressed_attention->ratios[at] : 0;
  }
  /// Heads that all layers' queries can be dealt out to.
  [[nodiscard]] int common_heads() const { return std::gcd(heads, global_heads > 0 ? global_heads : heads); }
  /// Sizes of a layer's heads: of a query and key, and of a value; how many of keys; whether values are those; whose
  /// both are; and how many of queries.
  struct Heads {
    int key_size = 0, value_size = 0, kv = 0;
    bool keys_are_values = false;
    KeyHolding keys = KeyHolding::own;
    int queries = 0;
  };
  /// `global`: of a layer that sees all beside others with a window.
  [[nodiscard]] Heads heads_of(bool global, KeyHolding keys = KeyHolding::own) const {
    if (is_latent()) return {qk_nope_head_dim + qk_rope_head_dim, v_head_dim, kv(), false, keys, heads};
    const int size = global && global_head_dim > 0 ? global_head_dim : head_size();
    return {size,
            v_head_dim > 0 ? v_head_dim : size,
            global && global_kv_heads > 0 ? global_kv_heads : kv(),
            global && global_keys_are_values,
            keys,
            global && global_heads > 0 ? global_heads : heads};
  }
  static const FieldTable<TransformerShape>& fields();
};

enum class CnnLayerKind { convolution, pool, average_pool, global_pool, fully_connected };
template <>
struct EnumNames<CnnLayerKind> {
  static constexpr std::array names{"convolution", "pool", "average_pool", "global_pool", "fully_connected"};
};
/// One row of a CNN's layer table. Sizes are of the input; `repeat` copies the row (readers put the copies in place of
/// it, so that a model that was read has one row per layer).
struct CnnLayer {
  std::string name;
  CnnLayerKind kind = CnnLayerKind::convolution;
  int in_channels = 0, out_channels = 0;
  int height = 0, width = 0;  ///< of the input
  int kernel_height = 1, kernel_width = 1, stride = 1;
  int out_height = 0, out_width = 0;  ///< 0: ceil(input / stride), as "same" padding gives
  int groups = 1;
  bool batch_norm = true;
  bool activation = true;
  bool residual_add = false;
  bool bias = false;
  int repeat = 1;
  /// Size of the output: as given, or ceil(input / stride).
  [[nodiscard]] int result_height() const { return out_height > 0 ? out_height : (height + stride - 1) / stride; }
  [[nodiscard]] int result_width() const { return out_width > 0 ? out_width : (width + stride - 1) / stride; }
  static const FieldTable<CnnLayer>& fields();
};
/// A CNN as the list of its rows in order of execution; parallel branches follow one another.
struct CnnShape {
  int image_height = 224, image_width = 224, image_channels = 3;
  int classes = 1000;
  std::vector<CnnLayer> layers;
  static const FieldTable<CnnShape>& fields();
};

/// Trained weight tensors of one shape, each laid out as a matrix: of a convolution, output channels × the rest.
struct WeightMatrix {
  double rows = 0, columns = 0, count = 1;
  static const FieldTable<WeightMatrix>& fields();
};

/// The windows of a network whose results have so many channels, fewer than wide matrix units can be kept busy with.
struct NarrowWindows {
  double channels = 0;
  double GFLOPs = 0;  ///< of the forward pass
  static const FieldTable<NarrowWindows>& fields();
};

/// Kernels that find the place of each element for themselves, by what an element takes. `strided`: permutations, and
/// factors that are repeated over a tensor; `roll`: shifts that wrap around.
enum class ElementKernelKind { strided, roll, max_pool, average_pool, nearest_resize, linear_resize };
template <>
struct EnumNames<ElementKernelKind> {
  static constexpr std::array names{"strided", "roll", "max_pool", "average_pool", "nearest_resize", "linear_resize"};
};
/// What a network's kernels of one such kind read and write.
struct ElementKernels {
  ElementKernelKind kind = ElementKernelKind::strided;
  double Melements = 0;  ///< in the forward pass; as many backward
  static const FieldTable<ElementKernels>& fields();
};

/// A network by its totals for one sample, in equal layers: what a planner needs of a network whose layer table is not
/// at hand. FLOPs count a multiply-add as two.
struct CompactShape {
  int layers = 0;                             ///< with weights
  double parameters_M = 0;                    ///< trained
  double largest_tensor_M = 0;                ///< of them, in the largest tensor; 0: in none that stands out
  double gemm_GFLOPs = 0;                     ///< of the forward pass, by kind of product; at least one is given
  double pointwise_GFLOPs = 0;                ///< 1×1 convolutions
  double three_by_three_GFLOPs = 0;           ///< 3×3 convolutions with stride 1
  double window_GFLOPs = 0;                   ///< convolutions with other windows, strides or dimensions
  double grouped_GFLOPs = 0;                  ///< grouped convolutions
  double grouped_channels = 9.3;              ///< of a group of theirs, harmonic mean by FLOPs (ResNeXt-50 32x4d's)
  double depthwise_GFLOPs = 0;                ///< channel by channel
  std::vector<NarrowWindows> narrow_windows;  ///< of the 3×3 and other windows; empty: all wide, or not counted
  double activation_Melements = 0;            ///< that the weighted layers give, whole
  double streaming_passes = 0;                ///< over them, forward and backward, by norms, activations and additions
  std::vector<ElementKernels> element_kernels;  ///< beside those; empty: among them, or not counted
  /// The same where norms, softmax and what follows them run in fp32 (PyTorch's automatic mixed precision, which widens
  /// all norms but batch norms); 0: as streaming_passes.
  double mixed_precision_passes = 0;
  int batch_norms = 0;            ///< 0: none, or not counted
  std::optional<int> image_side;  ///< pixels, of images that all of it is counted at; null: kUsualImageSide
  double kernels_per_layer = 3;   ///< launches of a layer's forward pass
  /// The same with the casts of automatic mixed precision; 0: as kernels_per_layer.
  double mixed_precision_kernels_per_layer = 0;
  int sequential_steps = 1;  ///< of a recurrent layer: each is a launch of its own
  /// Empty: not counted.
  std::vector<WeightMatrix> weight_matrices;
  static const FieldTable<CompactShape>& fields();
};

/// Pixels of a side of the images that networks for ImageNet are counted at, unless they say otherwise.
inline constexpr int kUsualImageSide = 224;

/// A model to train. Presets are JSON files in models/workload/presets/.
struct Model {
  std::string id;
  std::string title;
  ModelFamily family = ModelFamily::decoder;
  std::optional<TransformerShape> transformer;
  std::optional<CnnShape> cnn;
  std::optional<CompactShape> compact;
  std::optional<RecommenderShape> recommender;
  std::optional<double> published_parameters;  ///< for the test, with its source
  int default_seq_len = 0;                     ///< 0 for CNNs; of a compact network: tokens (frames …) of one sample
  double dataset_samples = 0;                  ///< of the usual data set (0: none), for epochs
  Bytes sample_bytes;                          ///< sample_kB: stored size of one sample, for data loading
  std::map<std::string, std::string> sources;
  std::string note;
  std::optional<WorkloadKind> kind;  ///< where the operators do not show it; else workload_kind() goes by them
  [[nodiscard]] bool is_transformer() const { return transformer.has_value(); }
  static const FieldTable<Model>& fields();
};

/// Puts the copies that `repeat` asks for into a CNN's table. Readers call it; a model made in code must.
void expand_layers(Model& model);

/// Model of a preset id; null with a fault at `pointer` (nearest ids suggested) if unknown.
std::shared_ptr<const Model> find_model(std::string_view id, const std::string& pointer, Diagnostics& diagnostics);
/// Ids of all presets, sorted.
std::vector<std::string> model_ids();
/// Faults of a model description that is not usable (missing shape, heads that do not divide …), at `pointer`.
void check_model(const Model& model, const std::string& pointer, Diagnostics& diagnostics);

/// Batch norms of a model, where they are told or counted; else 0.
int batch_norms(const Model& model);

/// Whether a model convolves, as far as its description tells.
bool has_convolutions(const Model& model);

/// Pixels of a side of the images that a network's figures hold for: of a CNN its height; of what reads no images
/// kUsualImageSide.
int image_side(const Model& model);

/// What messages call a model that is no transformer: "a CNN", "a compact network", "a recommender".
std::string_view kind_in_words(const Model& model);

/// A scenario's `workload.model`: a preset's id (string) or an explicit model (object).
struct ModelChoice {
  std::string preset;
  std::shared_ptr<const Model> described;
};
template <>
struct Codec<ModelChoice> {
  static void read(ModelChoice& out, const Json& in, const std::string& at, std::string_view key, const Rules& rules,
                   Diagnostics& d);
  static Json write(const ModelChoice& v, std::string_view key);
  static Json schema(std::string_view key, const Rules& rules);
};

}  // namespace stepcast
