#include "calibration/importers/models/huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>

#include "calibration/importers/models/config_reader.hpp"
#include "calibration/importers/models/diffusers.hpp"
#include "calibration/importers/models/huggingface_compressed.hpp"
#include "calibration/importers/models/huggingface_experts.hpp"
#include "calibration/importers/models/huggingface_halves.hpp"
#include "calibration/importers/models/huggingface_layers.hpp"
#include "calibration/importers/models/huggingface_layout.hpp"
#include "calibration/importers/models/huggingface_params.hpp"
#include "calibration/importers/models/huggingface_part.hpp"
#include "calibration/importers/models/huggingface_types.hpp"
#include "calibration/importers/python_json.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"
#include "models/workload/model.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// Any of these tells a config.json of transformers or diffusers from a description in our own keys.
constexpr std::array kSigns{"model_type", "architectures", "text_config", "num_hidden_layers", "_class_name"};

class HuggingFaceReader {
 public:
  HuggingFaceReader(const HuggingFacePart& part, std::string id, Diagnostics& diagnostics)
      : layout_(usual_layout(part.config, *part.type, !part.pointer.empty(), notes_)),
        reader_(config_, part.pointer, diagnostics),
        diagnostics_(diagnostics),
        pointer_(part.pointer),
        id_(std::move(id)),
        type_(*part.type),
        is_guess_(!part.note.empty()) {}

  ImportedModel read(std::optional<int> seq_len) {
    sizes();
    if (type_.two_sides)
      feed_forward();
    else if (type_.encoder)
      pretraining();
    else
      decoder();
    common();
    const int length = seq_len.value_or(std::min(positions_, kAssumedSequence));
    if (!seq_len && positions_ > kAssumedSequence)
      notes_.push_back(fmt::format(
          "the model takes {} tokens; steps of {} are assumed (--seq-len and workload.seq_len say otherwise)",
          positions_, length));
    return finish(length);
  }

 private:
  void sizes() {
    shape_["layers"] = type_.two_sides ? two_sides() : sized("num_hidden_layers", "n_layer");
    shape_["hidden"] = hidden_ =
        type_.two_sides ? reader_.required({"d_model"}) : sized("hidden_size", "n_embd", "n_embed");
    shape_["heads"] = heads_ =
        type_.two_sides ? sized("encoder_attention_heads", "num_heads") : sized("num_attention_heads", "n_head");
    shape_["vocab"] = reader_.required({"vocab_size"});
    positions_ = sized("max_position_embeddings", "n_positions", "seq_length");
    shape_["gated_mlp"] = type_.gated;
    shape_["norm"] = type_.layer_norm ? "layer_norm" : "rms_norm";
    shape_["positions"] = reader_.flag("alibi", false) ? "alibi" : type_.positions;
    if (config_.value("position_embedding_type", Json()) == "nope") shape_["positions"] = "none";
    if (shape_["positions"] == "learned") shape_["max_positions"] = positions_;
    bool biases = reader_.flag("bias", type_.biases);
    for (const char* key : {"use_bias", "enable_bias"}) biases = reader_.flag(key, biases);
    if (biases) shape_["biases"] = true;
    for (const char* key :
         {"resid_pdrop", "hidden_dropout_prob", "hidden_dropout", "residual_dropout", "dropout", "dropout_rate"})
      if (const auto dropout = reader_.number(key); dropout && *dropout > 0) shape_["dropout"] = *dropout;
  }

  /// Layers of an encoder and its decoder together.
  long two_sides() {
    const int encoder = sized("encoder_layers", "num_layers");
    int decoder = encoder;
    for (const char* key : {"num_decoder_layers", "decoder_layers"}) decoder = reader_.whole(key).value_or(decoder);
    shape_["encoder_layers"] = encoder;
    if (type_.target_share != 1) {
      shape_["target_share"] = type_.target_share;
      notes_.emplace_back(
          "pre-training: 114 of 512 tokens are asked for (spans of three, 15 %); target_share says how many");
    } else {
      notes_.emplace_back("source and target are taken to be of one length; target_share says otherwise");
    }
    for (const char* key : {"decoder_attention_heads", "decoder_ffn_dim"}) reader_.ignore({key});
    return static_cast<long>(encoder) + decoder;
  }

  /// Of an encoder-decoder: widths, T5's gate, and what of it is not described.
  void feed_forward() {
    if (const auto size = reader_.whole("d_kv")) shape_["head_dim"] = *size;
    shape_["ffn_hidden"] = sized("encoder_ffn_dim", "d_ff");
    const std::string gate = reader_.text("feed_forward_proj");
    if (!gate.empty()) shape_["gated_mlp"] = gate.starts_with("gated");
    if (type_.brief) notes_.emplace_back("relative position biases are not counted");
    for (const auto& [encoder, decoder] : {std::pair{"encoder_attention_heads", "decoder_attention_heads"},
                                           std::pair{"encoder_ffn_dim", "decoder_ffn_dim"}})
      if (config_.contains(decoder) && config_.contains(encoder) && config_.at(decoder) != config_.at(encoder))
        diagnostics_.error(child_pointer(pointer_, decoder),
                           fmt::format("found {}, but the encoder has {}", describe(config_.at(decoder)),
                                       describe(config_.at(encoder))),
                           "both sides have the same sizes here");
    reader_.ignore({"relative_attention_num_buckets",
                    "relative_attention_max_distance",
                    "dense_act_fn",
                    "is_gated_act",
                    "is_encoder_decoder",
                    "decoder_start_token_id",
                    "n_positions",
                    "max_position_embeddings",
                    "scale_embedding",
                    "encoder_layerdrop",
                    "decoder_layerdrop",
                    "classif_dropout",
                    "initializer_factor",
                    "forced_eos_token_id",
                    "forced_bos_token_id",
                    "early_stopping",
                    "num_beams",
                    "no_repeat_ngram_size",
                    "normalize_before",
                    "normalize_embedding",
                    "add_bias_logits",
                    "add_final_layer_norm",
                    "static_position_embeddings",
                    "num_hidden_layers",
                    "gradient_checkpointing",
                    "force_bos_token_to_be_generated"});
  }

  /// A size that the file may name in the type's way or in the other, or as `older`, which a type's first files had; a
  /// missing one is called as the type calls it.
  int sized(std::string_view usual, std::string_view brief, std::string_view older = {}) {
    return type_.brief ? reader_.required({brief, usual, older}) : reader_.required({usual, brief, older});
  }

  /// Width of the MLP; four times hidden where a type without gates leaves it out.
  long width() {
    for (const char* key : {"intermediate_size_mlp", "ffn_dim", "ffn_hidden_size", "n_inner"})
      if (const auto size = reader_.whole(key)) return *size;
    reader_.ignore({"intermediate_size"});
    if (!type_.gated && !reader_.has("intermediate_size")) return 4L * hidden_;
    return reader_.required({"intermediate_size"});
  }

  void decoder() {
    if (type_.compressed)
      read_compressed_attention({config_, reader_, shape_, notes_, diagnostics_, pointer_});
    else if (reader_.has("kv_lora_rank"))
      latent_attention();
    else
      attention();
    const bool has_halves = type_.halves != LayerHalves::none;
    if (has_halves) read_halves({config_, reader_, shape_, notes_, diagnostics_, pointer_}, type_);
    // Of a family by patterns the class has experts where its file shows none of these layers, too.
    const bool routed = !has_halves || shape_["layer_pattern"].get<std::string>().find('E') != std::string::npos;
    if (routed && has_experts(reader_))
      experts();
    else
      dense(routed);
    if (const auto layers = reader_.whole("num_nextn_predict_layers", 0); layers && *layers > 0)
      notes_.push_back(fmt::format(
          "num_nextn_predict_layers {}: left out, as checkpoints count the main model; mtp_layers trains them too",
          *layers));
    for (const char* key : {"mtp_num_layers", "num_mtp_modules", "mtp_num_hidden_layers"})
      if (const auto layers = reader_.whole(key, 0); layers && *layers > 0)
        notes_.push_back(fmt::format("{} {}: left out; mtp_layers trains them too", key, *layers));
  }

  void dense(bool may_have_experts) {
    shape_["ffn_hidden"] = width();
    if (!may_have_experts || states_no_experts(config_)) ignore_expert_sizes(reader_);
  }

  void attention() {
    // Falcon's and StarCoder's flag of one key and value for all heads; Falcon's later files count groups instead.
    const bool counted = reader_.flag("new_decoder_architecture", false);
    if (reader_.flag("multi_query", false) && !counted)
      shape_["kv_heads"] = 1;
    else
      for (const char* key : {"num_key_value_heads", "num_kv_heads"})
        if (const auto groups = reader_.whole(key); groups && *groups != heads_) shape_["kv_heads"] = *groups;
    reader_.ignore({"num_key_value_heads", "num_kv_heads"});
    if (const auto size = reader_.whole("head_dim")) shape_["head_dim"] = *size;
    if (const auto size = reader_.whole("v_head_dim")) shape_["v_head_dim"] = *size;
    const bool bias = reader_.flag("attention_bias", false);
    const bool qkv = reader_.flag("use_qkv_bias", reader_.flag("qkv_bias", false));
    if (!type_.biases) {
      if (type_.qkv_bias || bias || qkv) shape_["qkv_bias"] = true;
      if (bias && !type_.qkv_bias) notes_.emplace_back("attention_bias: the output projection's bias is not counted");
      if (reader_.flag("mlp_bias", false)) notes_.emplace_back("mlp_bias: the biases of the MLP are not counted");
    }
    if (type_.output_gate && type_.halves == LayerHalves::none) shape_["attention_output_gate"] = true;
    refuse_uneven_heads();
    shared_keys();
    layer_inputs();
    if (reader_.has("attention_chunk_size"))
      chunks();
    else
      window();
  }

  void window() {
    const auto window = reader_.whole("sliding_window");
    const bool used = reader_.flag("use_sliding_window", type_.sliding || lists_windows());
    const auto full_layers = reader_.whole("max_window_layers", 0);
    const std::optional<int> pattern = full_layer_every({"sliding_window_pattern", "_sliding_window_pattern"});
    // Layers from max_window_layers on have the window.
    const bool none = full_layers && *full_layers >= shape_["layers"].get<long>();
    if (!window || !used || pattern == 1 || none) return;
    shape_["window"] = *window;
    if (pattern) shape_["global_every"] = *pattern;
    if (pattern) global_heads();
    if (pattern) window_heads();
    if (full_layers && *full_layers > 0)
      notes_.push_back(fmt::format("max_window_layers {}: every layer is taken to have the window", *full_layers));
  }

  /// Gemma 4: layers that see all have larger heads, and fewer of keys, which are their values.
  void global_heads() {
    if (const auto size = reader_.whole("global_head_dim")) shape_["global_head_dim"] = *size;
    const bool shared = reader_.flag("attention_k_eq_v", false);
    if (shared) shape_["global_keys_are_values"] = true;
    if (const auto heads = reader_.whole("num_global_key_value_heads"); heads && shared)
      shape_["global_kv_heads"] = *heads;
  }

  /// Layers with a window may have heads of their own beside the model's, which then are of those that see all.
  void window_heads() {
    if (const auto local = reader_.whole("num_sliding_attention_heads"); local && *local != heads_) {
      shape_["global_heads"] = heads_;
      shape_["heads"] = *local;
    }
    if (const auto local = reader_.whole("swa_num_key_value_heads")) {
      const long others = shape_.value("kv_heads", static_cast<long>(heads_));
      if (*local == others) return;
      shape_["global_kv_heads"] = others;
      shape_["kv_heads"] = *local;
    }
  }

  /// A list of every layer's heads is of one number here.
  void refuse_uneven_heads() {
    constexpr const char* kKey = "num_attention_heads_per_layer";
    reader_.ignore({kKey});
    const auto list = config_.find(kKey);
    if (list == config_.end() || !list->is_array()) return;
    for (std::size_t layer = 0; layer < list->size(); ++layer) {
      if ((*list)[layer] == heads_) continue;
      return diagnostics_.error(child_pointer(child_pointer(pointer_, kKey), std::to_string(layer)),
                                fmt::format("found {}, expected {} as in num_attention_heads: layers of unlike numbers "
                                            "of heads have no description here",
                                            (*list)[layer].dump(), heads_));
    }
  }

  /// Gemma 4's smallest models: layers that take an earlier one's keys and values, in E2B with a wider MLP.
  void shared_keys() {
    const bool wide = reader_.flag("use_double_wide_mlp", false);
    const auto layers = reader_.whole("num_kv_shared_layers", 0);
    if (!layers || *layers == 0) return;
    shape_["shared_kv_layers"] = *layers;
    if (wide) shape_["shared_kv_ffn_hidden"] = 2 * width();
  }

  /// Embeddings of every layer; their table has as many words as the other wherever it is known.
  void layer_inputs() {
    const auto size = reader_.whole("hidden_size_per_layer_input", 0);
    const auto words = reader_.whole("vocab_size_per_layer_input");
    reader_.ignore({"enable_moe_block"});
    if (!size || *size == 0) return;
    shape_["per_layer_embedding"] = *size;
    if (words && *words != shape_["vocab"].get<int>())
      diagnostics_.error(child_pointer(pointer_, "vocab_size_per_layer_input"),
                         fmt::format("found {}, expected {} as vocab_size: embeddings of every layer are of all words",
                                     *words, shape_["vocab"].get<int>()));
  }

  /// Llama 4: local layers see their own chunk; every fourth one, without rotary positions, sees all.
  void chunks() {
    constexpr int kUsual = 4;
    shape_["window"] = reader_.required({"attention_chunk_size"});
    shape_["window_kind"] = "chunked";
    const std::optional<int> pattern = full_layer_every({"no_rope_layer_interval"});
    shape_["global_every"] = pattern.value_or(kUsual);
    reader_.ignore({"no_rope_layers"});
  }

  /// A number, or the letters of one period: L for a local layer, G for one that sees all.
  std::optional<int> pattern(const char* key) {
    if (!config_.contains(key) || !config_.at(key).is_string()) return reader_.whole(key);
    const std::string letters = reader_.text(key);
    const auto all = letters.find('G');
    if (all != std::string::npos && letters.find_first_not_of('L') == all && all + 1 == letters.size())
      return static_cast<int>(letters.size());
    diagnostics_.error(child_pointer(pointer_, key), fmt::format("found {}", shown(letters)),
                       "a number, or letters L and a last G");
    return std::nullopt;
  }

  /// Whether the file says layer by layer which of them have the window.
  [[nodiscard]] bool lists_windows() const {
    const auto types = config_.find("layer_types");
    return types != config_.end() && types->is_array() &&
           std::find(types->begin(), types->end(), Json("sliding_attention")) != types->end();
  }

  /// Whether all layers are of attention; another kind is a fault.
  bool are_attention(const Json& types) {
    for (std::size_t layer = 0; layer < types.size(); ++layer) {
      const Json& type = types[layer];
      if (type == "full_attention" || type == "sliding_attention" || type == "chunked_attention") continue;
      diagnostics_.error(child_pointer(child_pointer(pointer_, "layer_types"), std::to_string(layer)),
                         fmt::format("found {}, a kind of layer that is not described here", describe(type)),
                         "full_attention, sliding_attention or chunked_attention");
      return false;
    }
    return true;
  }

  /// Every how many-th layer sees all, by the list of the layers' types or else by the first of `keys` that is there; 1
  /// where all do, nothing where the file does not say.
  std::optional<int> full_layer_every(std::initializer_list<const char*> keys) {
    std::optional<int> every;
    for (const char* key : keys)
      if (const auto stated = pattern(key); stated && !every) every = stated;
    reader_.ignore({"layer_types"});
    // Of layers of one half the list says which are mixers, and is read there.
    if (type_.halves == LayerHalves::kinds || type_.halves == LayerHalves::linear) return every;
    if (!config_.contains("layer_types") || !config_.at("layer_types").is_array()) return every;
    const Json& types = config_.at("layer_types");
    if (!are_attention(types)) return every;
    const int layers = static_cast<int>(types.size());
    std::vector<bool> full;
    for (const Json& type : types) full.push_back(type == "full_attention");
    const auto count = std::count(full.begin(), full.end(), true);
    if (count == 0) return std::nullopt;
    const auto others_at = [&](int period) {
      int others = 0;
      for (int layer = 0; layer < layers; ++layer)
        others += full[static_cast<std::size_t>(layer)] != ((layer + 1) % period == 0) ? 1 : 0;
      return others;
    };
    // As many layers as see all, in the places that differ least.
    const auto distance = [&](int period) {
      const auto at = period * static_cast<int>(count);
      return std::tuple(std::abs(layers / period - static_cast<int>(count)), others_at(period), std::abs(layers - at));
    };
    every = 1;
    for (int period = 2; period <= layers; ++period)
      if (distance(period) < distance(*every)) every = period;
    const int others = others_at(*every);
    if (others > 0)
      notes_.push_back(fmt::format("layer_types: every {}th layer is taken to see all; {} of {} do otherwise", *every,
                                   others, types.size()));
    return every;
  }

  void latent_attention() {
    reader_.ignore({"num_key_value_heads", "attention_bias", "head_dim"});
    for (const char* key : {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim"})
      shape_[key] = reader_.required({key});
    shape_["v_head_dim"] = reader_.whole("v_head_dim").value_or(hidden_ / std::max(1, heads_));
    if (const auto rank = reader_.whole("q_lora_rank")) shape_["q_lora_rank"] = *rank;
    if (const auto tokens = reader_.whole("index_topk"))
      shape_["sparse_attention"] = {{"tokens", *tokens},
                                    {"indexer_heads", reader_.required({"index_n_heads"})},
                                    {"indexer_head_dim", reader_.required({"index_head_dim"})}};
    if (const auto every = reader_.whole("index_topk_freq"); every && *every > 1 && shape_.contains("sparse_attention"))
      shape_["sparse_attention"]["layers_per_indexer"] = *every;
  }

  /// DeepSeek's node-limited routing: of equal groups a token's experts lie in some.
  void expert_groups() {
    const auto groups = reader_.whole("n_group", 1), some = reader_.whole("topk_group", 1);
    if (!groups || !some || *groups < 2) return;
    shape_["expert_groups"] = *groups;
    shape_["groups_per_token"] = *some;
  }

  void experts() {
    shape_["experts"] = reader_.required({"n_routed_experts", "num_local_experts", "num_experts"});
    shape_["top_k"] = reader_.required({"num_experts_per_tok"});
    reader_.ignore({"experts_per_token"});
    expert_groups();
    // Llama 4's intermediate_size is an expert's, and its shared expert is as wide.
    const bool shared_as_wide = reader_.has("intermediate_size_mlp");
    const int wide = reader_.required({"moe_intermediate_size", "intermediate_size"});
    shape_["ffn_hidden"] = reader_.has("intermediate_size") ? width() : wide;
    shape_["moe_ffn_hidden"] = wide;
    if (shared_as_wide) shape_["shared_expert_ffn"] = wide;
    if (type_.mlp_beside_experts) shape_["shared_expert_ffn"] = shape_["ffn_hidden"];
    if (const auto shared = reader_.whole("n_shared_experts", 0); shared && *shared > 0)
      shape_["shared_expert_ffn"] = static_cast<long>(*shared) * wide;
    for (const char* key :
         {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"})
      if (const auto width = reader_.whole(key, 0); width && *width > 0) shape_["shared_expert_ffn"] = *width;
    if (const auto width = reader_.whole("moe_latent_size", 0); width && *width > 0) shape_["moe_latent"] = *width;
    if (const auto first = reader_.whole("first_k_dense_replace", 0); first && *first > 0)
      shape_["dense_layers"] = *first;
    refuse_early_end(reader_, shape_["layers"].get<long>(), pointer_, diagnostics_);
    for (const auto& [key, sparse] :
         {std::pair{"moe_layer_freq", Json(1)}, std::pair{"mlp_layer_types", Json("sparse")}})
      if (config_.contains(key) && config_.at(key).is_array()) return sparse_layers(key, sparse);
    for (const char* key : {"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"})
      if (const auto every = reader_.whole(key); every && *every > 1) shape_["moe_every"] = *every;
    reader_.ignore({"mlp_only_layers", "moe_layers"});
    if (!reader_.has("mlp_only_layers")) return;
    const Json& single = config_.at("mlp_only_layers");
    if (!single.is_array())
      diagnostics_.error(child_pointer(pointer_, "mlp_only_layers"),
                         fmt::format("found {}, expected a list of layers", describe(single)));
    else if (!single.empty())
      diagnostics_.error(child_pointer(pointer_, "mlp_only_layers"),
                         "lists single layers without experts, which a model here cannot have",
                         "dense_layers and moe_every are what a model has");
  }

  /// A list of which layers have experts, behind dense ones: `sparse` for each such layer.
  void sparse_layers(const char* key, const Json& sparse) {
    reader_.ignore({"moe_layer_freq", "mlp_layer_types", "mlp_only_layers", "moe_layers"});
    const Json& list = config_.at(key);
    const auto first = std::find(list.begin(), list.end(), sparse);
    if (list.size() != shape_["layers"].get<std::size_t>() ||
        std::count(first, list.end(), sparse) != list.end() - first)
      return diagnostics_.error(
          child_pointer(pointer_, key),
          fmt::format("found {} entries, expected dense layers and then {}, one for each of {} layers", list.size(),
                      sparse.dump(), shape_["layers"].get<std::size_t>()));
    shape_.erase("dense_layers");
    if (first != list.begin()) shape_["dense_layers"] = first - list.begin();
  }

  void pretraining() {
    family_ = "encoder";
    shape_["ffn_hidden"] = width();
    shape_["token_types"] = reader_.whole("type_vocab_size", 0).value_or(0);
    if (type_.sliding) window();
    if (type_.pooler) shape_["pooler_and_heads"] = true;
    if (type_.shared_layers) shared_layers();
    // Masked tokens: 15 % of the sequence (Devlin et al. 2018, section 3.1).
    shape_["predicted_share"] = 0.15;
    notes_.push_back(fmt::format("pre-training: {}; 15 % of the tokens are predicted",
                                 type_.pooler ? "pooler and both heads are counted" : "the head is not counted"));
    reader_.ignore(
        {"attention_probs_dropout_prob", "position_embedding_type", "classifier_dropout", "gradient_checkpointing"});
  }

  /// ALBERT: groups of layers with the weights of one each.
  void shared_layers() {
    shape_["hidden_groups"] = reader_.whole("num_hidden_groups").value_or(1);
    if (const auto inner = reader_.whole("inner_group_num"); inner && *inner > 1)
      diagnostics_.error(child_pointer(pointer_, "inner_group_num"),
                         fmt::format("found {}: layers of several blocks are not described here", *inner), "1");
    reader_.ignore({"gap_size", "net_structure_type", "num_memory_blocks", "down_scale_factor",
                    "classifier_dropout_prob", "layers_to_keep"});
  }

  /// Keys that all types have.
  void common() {
    if (reader_.flag("tie_word_embeddings", false)) shape_["tied_embeddings"] = true;
    bool norms = type_.query_norms;
    for (const char* key : {"use_qk_norm", "qk_layernorm", "qk_norm"}) norms = reader_.flag(key, false) || norms;
    if (norms) shape_["qk_norm"] = true;
    if (type_.post_norms) notes_.emplace_back("norms behind attention and MLP are not counted");
    if (type_.side_by_side && reader_.flag("use_parallel_residual", reader_.flag("parallel_attn", true)))
      notes_.emplace_back("attention and MLP, side by side in this model, are taken to follow one another");
    for (const char* key : {"word_embed_proj_dim", "embedding_size"})
      if (const auto width = reader_.whole(key); width && *width != hidden_) shape_["embedding_size"] = *width;
    if (reader_.flag("use_cla", false))
      notes_.emplace_back("use_cla: keys and values that several layers share are counted for each");
    // Text attends to what is before it; "all", or true, makes an encoder of a decoder.
    if (const Json both = config_.value("use_bidirectional_attention", Json()); both == "vision" || both == false)
      reader_.ignore({"use_bidirectional_attention"});
    loop_layers(reader_, shape_, notes_);
    if (!type_.left_out.empty()) notes_.emplace_back(type_.left_out);
    if (type_.sinks) notes_.emplace_back("attention's sinks are not counted");
    reader_.ignore(huggingface_harmless_keys());
  }

  ImportedModel finish(int length) {
    ImportedModel out;
    out.model = {{"id", id_},
                 {"title", id_},
                 {"family", family_},
                 {"transformer", shape_},
                 {"default_seq_len", length},
                 // Megatron-LM's indexed data sets: 16 bits a token while the vocabulary fits, else 32.
                 {"sample_kB", length * (shape_["vocab"].get<int>() <= 65536 ? 2 : 4) / 1000.0},
                 {"sources", {{"transformer", "config.json of " + id_}}}};
    reader_.refuse_misspelt(layout_.stated);
    refuse_unread_experts(config_, reader_.unknown(), pointer_, diagnostics_);
    const std::vector<std::string> unread = unread_key_notes(config_, reader_.unknown(), is_guess_);
    notes_.insert(notes_.end(), unread.begin(), unread.end());
    out.notes = std::move(notes_);
    return out;
  }

  std::vector<std::string> notes_;
  const UsualLayout layout_;
  const Json& config_ = layout_.config;
  ConfigReader reader_;
  Diagnostics& diagnostics_;
  std::string pointer_, id_;
  const HuggingFaceType& type_;
  const bool is_guess_;  ///< the type is not known, and taken for another
  Json shape_ = Json::object();
  std::string family_ = "decoder";
  int hidden_ = 0, heads_ = 0, positions_ = 0;
};

/// What a file is called where it does not say: by its own name, or its folder's where that is config.json or
/// params.json.
std::string id_by_place(const std::filesystem::path& file) {
  if (file.stem() != "config" && file.stem() != "params") return file.stem().string();
  const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
  return folder.empty() ? "model" : folder;
}

std::string id_of(const Json& config, const std::string& otherwise) {
  if (config.contains("_name_or_path") && config.at("_name_or_path").is_string())
    if (std::string name = config.at("_name_or_path").get<std::string>(); !name.empty()) return name;
  return otherwise;
}

ImportedModel import_transformers(const Json& config, const HuggingFaceName& name, std::optional<int> seq_len,
                                  Diagnostics& diagnostics) {
  const HuggingFacePart found = language_model_of(config, diagnostics);
  diagnostics.throw_if_faulty();
  ImportedModel out = HuggingFaceReader(found, id_of(config, name.id), diagnostics).read(seq_len);
  if (!found.note.empty()) out.notes.push_back(found.note);
  if (found.is_part())
    out.notes.emplace_back("the language model alone: what sees images or hears is left out, and so are its tokens");
  return out;
}

}  // namespace

Json parse_huggingface(const std::string& text, Diagnostics& diagnostics) {
  return parse_json(without_infinities(text), diagnostics);
}

bool is_huggingface(const Json& document) {
  return is_params(document) ||
         (document.is_object() &&
          std::any_of(kSigns.begin(), kSigns.end(), [&](const char* key) { return document.contains(key); }));
}

ImportedModel import_huggingface(const Json& config, const HuggingFaceName& name, std::optional<int> seq_len) {
  Diagnostics diagnostics(name.file);
  if (!config.is_object())
    throw InputError({{name.file, "", fmt::format("found {}, expected an object", describe(config)),
                       "a config.json of Hugging Face transformers"}});
  if (is_params(config)) {
    std::vector<std::string> notes;
    const Json same = config_of_params(config, notes);
    ImportedModel out = import_huggingface(same, name, seq_len);
    out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
    return out;
  }
  ImportedModel out = is_diffusers(config) ? import_diffusers(config, id_of(config, name.id), seq_len, diagnostics)
                                           : import_transformers(config, name, seq_len, diagnostics);
  diagnostics.throw_if_faulty();
  Model model;
  Model::fields().read(model, out.model, "", diagnostics);
  if (diagnostics.ok()) check_model(model, "", diagnostics);
  diagnostics.throw_if_faulty();
  out.parameters = parameter_count(model);
  out.active_parameters = active_parameter_count(model);
  return out;
}

ImportedModel import_huggingface(const std::filesystem::path& file, std::optional<int> seq_len) {
  Diagnostics diagnostics(file.string());
  const std::string text = read_utf8_description(file, diagnostics);
  diagnostics.throw_if_faulty();
  const Json config = parse_huggingface(text, diagnostics);
  diagnostics.throw_if_faulty();
  return import_huggingface(config, {file.string(), id_by_place(file)}, seq_len);
}

}  // namespace stepcast
