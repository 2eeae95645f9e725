#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"
#include "models/workload/linear_attention.hpp"

namespace stepcast {

/// How the file of a type says which of its layers are of one half each (TransformerShape::layer_pattern).
enum class LayerHalves {
  none,          ///< blocks are whole
  letters,       ///< hybrid_override_pattern: a letter a layer
  indices,       ///< attn_layer_indices: blocks with attention, the others have a Mamba-2 mixer; each has an MLP
  kinds,         ///< layer_types: "mamba" or "attention" a block; each has an MLP or experts
  linear,        ///< blocks of linear and of full attention (huggingface_linear.hpp); each has an MLP or experts
  side_by_side,  ///< every block has both, and an MLP
  mixers         ///< Mamba-2 mixers alone
};

/// What a `model_type` of Hugging Face transformers means beyond the sizes in its file: what its modelling code always
/// does, and the defaults of its configuration class. Source: modeling_<type>.py and configuration_<type>.py of
/// transformers 4.5x.
struct HuggingFaceType {
  std::string_view name;
  std::string_view when = {};        ///< key that tells files of this layout from others of the same name
  std::string_view defaults = "{}";  ///< of absent keys that matter here, as JSON
  std::string_view part = "{}";      ///< sizes that the class sets, of a type that others have as their text_config
  std::string_view names = "{}";     ///< its keys that are called otherwise than Llama's, as JSON: theirs to the usual
  std::string_view left_out = {};    ///< note of what its network has and the shape does not
  bool encoder = false;
  bool pooler = true;       ///< of encoders: BERT's pooler and heads
  bool two_sides = false;   ///< an encoder and its decoder
  double target_share = 1;  ///< of those: tokens of the target for one of the source in their task
  bool brief = false;       ///< its sizes have short names: GPT-2's n_layer, n_embd …, T5's num_layers, d_ff …
  bool gated = true;        ///< the MLP has a gate
  bool layer_norm = false;  ///< else RMSNorm
  bool biases = false;      ///< every linear layer has a bias
  bool qkv_bias = false;    ///< the QKV projections alone have
  std::string_view positions = "rotary";   ///< as a model's shape calls them
  bool sliding = false;                    ///< sliding_window counts when it is there
  bool query_norms = false;                ///< norms of queries and keys
  bool post_norms = false;                 ///< norms behind attention and MLP, too
  bool side_by_side = false;               ///< attention and MLP of one layer read the same input
  bool sinks = false;                      ///< attention has a learned sink a head
  LayerHalves halves = LayerHalves::none;  ///< how it says which layers are of one half
  LinearAttentionKind linear = LinearAttentionKind::gated_delta;  ///< of linear attention, where it has such
  bool output_gate = false;                                       ///< attention's result is multiplied by a gate
  bool shared_layers = false;                                     ///< layers of a group share their weights
  bool compressed = false;          ///< attention over entries that stand for several tokens (deepseek_v4)
  bool mlp_beside_experts = false;  ///< every layer with experts has an MLP that all tokens visit, too
  bool gate_in_width = false;       ///< its intermediate_size counts the gate and what it gates together
};

/// The type of a file's model_type, of those with one name the one whose layout the file has. Null where none is known.
const HuggingFaceType* huggingface_type(std::string_view name, const Json& config);
std::vector<std::string_view> huggingface_type_names();
/// What models of a type that is known and refused have and no description here; empty for other types.
std::string_view huggingface_refusal(std::string_view name);
/// Keys that change neither time nor memory, or are read elsewhere.
std::span<const std::string_view> huggingface_harmless_keys();

}  // namespace stepcast
