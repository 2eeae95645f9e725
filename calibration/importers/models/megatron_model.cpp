#include "calibration/importers/models/megatron_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "calibration/importers/models/megatron_compressed.hpp"
#include "calibration/importers/models/megatron_experts.hpp"
#include "calibration/importers/models/megatron_latent.hpp"
#include "calibration/importers/models/megatron_noop.hpp"
#include "calibration/importers/models/megatron_pattern.hpp"
#include "calibration/importers/models/megatron_routed.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

class ModelReader {
 public:
  explicit ModelReader(MegatronArguments& arguments) : in_(arguments) {}

  MegatronModel read() {
    refuse_other_kinds();
    shape();
    attention();
    read_megatron_experts(in_, model_);
    halves();
    linear_blocks();
    refuse_noops_in_patterns();
    rest_of_model();
    return std::move(model_);
  }

 private:
  /// Programs whose arguments describe more than the decoder that would be read from them.
  void refuse_other_kinds() {
    for (const auto& [option, kind] : {std::pair{"--vision-model-type", "a model of images and text"},
                                       std::pair{"--retro-add-retriever", "a model that retrieves (Retro)"}})
      if (in_.list.has(option))
        in_.diagnostics.error("", fmt::format("{}: {} is not described", option, kind),
                              "the arguments of a language model");
    if (in_.list.has("--spec")) {
      const std::string spec = fmt::format("{}", fmt::join(in_.list.values("--spec"), " "));
      if (!contains(spec, "mamba_layer_specs") && !contains(spec, "local"))
        in_.notes.push_back(fmt::format("--spec {}: its own layers are forecast as the other options say", spec));
    }
  }

  [[nodiscard]] bool has_two_sides() {
    return in_.list.has("--decoder-num-layers") || (in_.program && in_.program->file == "pretrain_t5.py");
  }

  /// Layers of T5's encoder and decoder together. In pretrain_t5.py --num-layers stands for either.
  int two_sides() {
    const char* const both = "--num-layers";
    const auto side = [&](const char* option) {
      return in_.required(!in_.list.has(option) && in_.list.has(both) ? both : option);
    };
    const int encoder = side("--encoder-num-layers"), decoder = side("--decoder-num-layers");
    model_.shape["encoder_layers"] = encoder;
    // A model cannot have so many; what reads the description says so.
    return static_cast<int>(std::min(static_cast<long>(encoder) + decoder, 1L << 30));
  }

  void shape() {
    pattern_ = megatron_layer_pattern(in_);
    const int layers = model_.layers = has_two_sides() ? two_sides() : megatron_layers(in_, pattern_);
    const int hidden = in_.required("--hidden-size");
    model_.noops = megatron_noop_layers(in_, layers);
    model_.shape["layers"] = layers - static_cast<int>(model_.noops.size());
    model_.shape["hidden"] = hidden;
    model_.shape["heads"] = in_.required("--num-attention-heads");
    const bool gated = in_.list.has("--swiglu") || in_.list.has("--quick-geglu");
    // Megatron-LM: 4·h, and two thirds of that rounded down to 64 with a gate.
    const int usual = gated ? static_cast<int>(4 * hidden * 2.0 / 3) / 64 * 64 : 4 * hidden;
    model_.shape["ffn_hidden"] = in_.list.whole("--ffn-hidden-size").value_or(usual);
    model_.shape["gated_mlp"] = gated;
    model_.shape["biases"] = !in_.list.has("--disable-bias-linear");
    in_.copy_flag(model_.shape, "qkv_bias", "--add-qkv-bias");
    in_.copy_flag(model_.shape, "qk_norm", "--qk-layernorm");
    in_.copy_flag(model_.shape, "attention_output_gate", "--attention-output-gate");
    model_.shape["tied_embeddings"] = !in_.list.has("--untie-embeddings-and-output-weights");
    model_.shape["vocab"] = vocabulary();
  }

  /// Rows of the table as Megatron-LM pads them: whole multiples of 128 a tensor-parallel rank.
  int vocabulary() {
    for (const char* option : {"--padded-vocab-size", "--pad-vocab-size-to"})
      if (const auto padded = in_.list.whole(option)) {
        for (const char* unpadded : {"--vocab-size", "--make-vocab-size-divisible-by"}) in_.list.ignore(unpadded);
        return *padded;
      }
    int size = in_.list.whole("--vocab-size").value_or(0);
    if (size > 0) note_other_tokenizer(size);
    if (size == 0) size = in_.target.vocab_size.value_or(0);
    if (size == 0) size = usual_vocabulary();
    if (size == 0) {
      in_.diagnostics.error("", "missing: --vocab-size (the tokenizer's own files are not read)",
                            "--vocab-size says it");
      return 1;
    }
    const int unit = in_.list.whole("--make-vocab-size-divisible-by").value_or(128) * in_.degrees.tp;
    return (size + unit - 1) / unit * unit;
  }

  /// Megatron-LM's tokenizers of Hugging Face have their own size, whatever --vocab-size says (build_tokenizer); by its
  /// path alone it need not be what it is called after.
  void note_other_tokenizer(int stated) {
    if (!in_.list.has("--tokenizer-type") || in_.list.text("--tokenizer-type") != "HuggingFaceTokenizer") return;
    const int known = in_.list.has("--tokenizer-model") ? vocabulary_by_name(in_.list.text("--tokenizer-model")) : 0;
    if (known == 0 || known == stated) return;
    in_.notes.push_back(
        fmt::format("--vocab-size {}: Megatron-LM takes the tokenizer's size, which of {} is {}; without "
                    "the option that is taken here",
                    stated, shown(in_.list.text("--tokenizer-model")), known));
  }

  int usual_vocabulary() {
    std::string tokenizer = in_.list.has("--tokenizer-type") ? in_.list.text("--tokenizer-type") : "";
    const bool assumed = tokenizer.empty() && in_.program;
    if (assumed) tokenizer = in_.program->tokenizer;
    // Byte pairs with both of their files are GPT-2's.
    const bool pairs = tokenizer.empty() && in_.list.has("--vocab-file") && in_.list.has("--merge-file");
    if (pairs) tokenizer = "GPT2BPETokenizer";
    int known = vocabulary_of_tokenizer(tokenizer);
    // NeMo's type of Hugging Face's tokenizers is the model that they come from.
    for (const char* option : {"--tokenizer-model", "--tokenizer-name-or-path", "--tokenizer-type"})
      if (known == 0 && in_.list.has(option)) known = vocabulary_by_name(in_.list.text(option));
    if (known == 0) return 0;
    if (assumed || pairs)
      in_.notes.push_back(fmt::format("no vocabulary is named: {} tokens of {}{} (--vocab-size)", known, tokenizer,
                                      assumed ? fmt::format(", which {} uses", in_.program->file) : ""));
    return known + in_.list.whole("--vocab-extra-ids", 0).value_or(0);
  }

  void attention() {
    if (in_.list.has("--group-query-attention")) in_.copy(model_.shape, "kv_heads", "--num-query-groups");
    in_.list.ignore("--num-query-groups");
    in_.copy(model_.shape, "kv_heads", "--num-key-value-heads");  // Megatron-DeepSpeed's
    in_.copy(model_.shape, "head_dim", "--kv-channels");
    if (in_.list.has("--enable-hyper-connections"))
      model_.shape["residual_streams"] = in_.list.whole("--num-residual-streams").value_or(4);
    for (const char* option : {"--mhc-sinkhorn-iterations", "--moe-n-hash-layers", "--csa-compress-rotary-base"})
      in_.list.ignore(option);
    if (has_compressed_attention(in_)) {
      in_.list.ignore("--multi-latent-attention");
      return read_compressed_attention(in_, model_.shape, model_.layers);
    }
    if (has_latent_attention(in_)) read_latent_attention(in_, model_.shape);
    if (in_.list.has("--window-size")) {
      const std::vector<std::string> window = in_.list.values("--window-size");
      int size = 0;
      for (const std::string& value : window) std::from_chars(value.data(), value.data() + value.size(), size);
      if (size <= 0 && !window.empty()) std::from_chars(window[0].data(), window[0].data() + window[0].size(), size);
      if (size > 0) model_.shape["window"] = size;
      if (size > 0) global_layers();
    }
  }

  /// Every so many-th layer sees all tokens.
  void global_layers() {
    const std::string option = "--window-attn-skip-freq";
    if (!in_.list.has(option)) return;
    const std::string text = fmt::format("{}", fmt::join(in_.list.values(option), " "));
    int every = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
    if (error == std::errc() && end == text.data() + text.size() && every > 0)
      model_.shape["global_every"] = every;
    else
      in_.notes.push_back(fmt::format("{} {}: only a number is known, every layer has the window", option, text));
  }

  /// Lists that say of every layer what it is would have to say it of layers that are none.
  void refuse_noops_in_patterns() {
    if (model_.noops.empty()) return;
    for (const char* key : {"layer_pattern", "compressed_attention", "encoder_layers"})
      if (model_.shape.contains(key))
        in_.diagnostics.error("", fmt::format("--noop-layers: has no description beside {}", key),
                              "a model whose layers are alike, but for dense ones in front");
  }

  /// Letters of the layers, which an option names or shares of them make.
  void halves() {
    in_.list.ignore("--is-hybrid-model");
    const std::string pattern = pattern_.empty() ? pattern_by_shares() : pattern_;
    if (pattern.empty()) return;
    model_.shape["layer_pattern"] = pattern;
    if (pattern.find('G') != std::string::npos) linear_attention();
    if (pattern.find('M') == std::string::npos) return;
    const int head = in_.list.whole("--mamba-head-dim").value_or(64);  // defaults of TransformerConfig
    model_.shape["ssm_head_dim"] = head;
    model_.shape["ssm_heads"] =
        in_.list.whole("--mamba-num-heads").value_or(2 * model_.shape["hidden"].get<int>() / head);
    model_.shape["ssm_state"] = in_.list.whole("--mamba-state-dim").value_or(128);
    model_.shape["ssm_groups"] = in_.list.whole("--mamba-num-groups").value_or(8);
  }

  /// Of a hybrid whose halves are told by their shares; without any, pretrain_mamba.py has scans alone.
  std::string pattern_by_shares() {
    const auto share = [&](const char* option) { return in_.list.number(option).value_or(0); };
    const double attention = share("--hybrid-attention-ratio"), mlp = share("--hybrid-mlp-ratio");
    const bool hybrid = attention > 0 || mlp > 0 || (in_.program && in_.program->file == "pretrain_mamba.py");
    if (!hybrid || model_.layers > kMostLayers) return {};
    if (attention >= 0 && mlp >= 0 && attention + mlp <= 1)
      return megatron_hybrid_layers(model_.layers, attention, mlp);
    in_.diagnostics.error("",
                          fmt::format("--hybrid-attention-ratio {:g} and --hybrid-mlp-ratio {:g} are no shares of "
                                      "the layers",
                                      attention, mlp),
                          "two numbers of at least 0 that come to at most 1");
    return {};
  }

  /// Sizes of gated delta rule, whose options have no defaults (core/transformer/transformer_config.py).
  void linear_attention() {
    Json& linear = model_.shape["linear_attention"] = {{"kind", "gated_delta"}};
    linear["key_heads"] = in_.required("--linear-num-key-heads");
    linear["value_heads"] = in_.required("--linear-num-value-heads");
    linear["key_head_dim"] = in_.required("--linear-key-head-dim");
    linear["value_head_dim"] = in_.required("--linear-value-head-dim");
    if (const auto tokens = in_.list.whole("--linear-conv-kernel-dim", 0); tokens && *tokens != 4)
      linear["convolution"] = *tokens;
  }

  /// Blocks of gated delta rule among those of attention: every half becomes a layer, so that a pattern can say it.
  void linear_blocks() {
    const std::string variant = "--experimental-attention-variant";
    // Specifications of a program's own take the same sizes without the variant's name.
    const bool by_sizes = in_.list.has("--linear-num-value-heads") && in_.list.has("--linear-attention-freq");
    const bool named = in_.list.has(variant);
    if ((!named && !by_sizes) || model_.shape.contains("sparse_attention") ||
        model_.shape.contains("compressed_attention"))
      return;
    if (const std::string found = named ? in_.list.text(variant) : "gated_delta_net"; found != "gated_delta_net")
      return in_.notes.push_back(fmt::format("{} {}: forecast as attention that sees all", variant, found));
    if (model_.shape.contains("layer_pattern") || model_.layers > kMostLayers) return;
    const std::string mixing = linear_letters();
    if (mixing.find('G') == std::string::npos) return;
    linear_attention();
    const bool routed = model_.shape.contains("experts");
    const int dense = model_.shape.value("dense_layers", 0), every = model_.shape.value("moe_every", 1);
    std::string pattern;
    for (int layer = 0; layer < model_.layers; ++layer) {
      const bool experts = routed && layer >= dense && (layer - dense) % every == every - 1;
      pattern += {mixing[static_cast<std::size_t>(layer)], experts ? 'E' : '-'};
    }
    for (const char* said : {"dense_layers", "moe_every"}) model_.shape.erase(said);
    model_.shape["layer_pattern"] = pattern;
    model_.shape["layers"] = pattern.size();
    model_.halves = 2;
    in_.notes.push_back(
        fmt::format("attention and MLP of a layer are layers of their own, {} in all; pipeline stages "
                    "and stage_layers count these",
                    pattern.size()));
  }

  /// --linear-attention-freq: every so many-th layer has full attention, or a list with 1 for linear ones; G and * for
  /// each. Empty, with a fault, where it is neither.
  std::string linear_letters() {
    const std::string option = "--linear-attention-freq";
    if (!in_.list.has(option)) {
      in_.diagnostics.error("", option + ": missing", "every how many-th layer has full attention");
      return {};
    }
    const std::vector<std::string> said = in_.list.values(option);
    const std::string text = fmt::format("{}", fmt::join(said, ","));
    std::string out(static_cast<std::size_t>(model_.layers), 'G');
    int every = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), every);
    if (error == std::errc() && end == text.data() + text.size() && every > 0) {
      for (int layer = every - 1; layer < model_.layers; layer += every) out[static_cast<std::size_t>(layer)] = '*';
      return out;
    }
    if (const auto list = megatron_layer_list(text, model_.layers)) {
      std::transform(list->begin(), list->end(), out.begin(), [](char c) { return c == '1' ? 'G' : '*'; });
      return out;
    }
    in_.diagnostics.error("", fmt::format("{}: found {}", option, shown(text)),
                          is_unknown(text)
                              ? kCallSaysIt
                              : fmt::format("a number, or a list like [1,1,1,0]*12 with 1 for each of the {} layers "
                                            "that has linear attention",
                                            model_.layers));
    return {};
  }

  void rest_of_model() {
    const std::string kind = in_.list.has("--position-embedding-type") ? in_.list.text("--position-embedding-type")
                             : in_.list.has("--use-rotary-position-embeddings") || in_.list.has("--enable-gpt-oss")
                                 ? "rope"
                                 : "learned_absolute";
    const std::map<std::string, std::string> kinds{{"learned_absolute", "learned"},
                                                   {"rope", "rotary"},
                                                   {"yarn", "rotary"},
                                                   {"mrope", "rotary"},
                                                   {"none", "none"},
                                                   {"alibi", "alibi"}};
    in_.list.ignore("--use-rotary-position-embeddings");
    if (!kinds.contains(kind))
      in_.diagnostics.error("", fmt::format("--position-embedding-type: found {}", shown(kind)),
                            "learned_absolute, rope, yarn, mrope or none");
    else
      model_.shape["positions"] = kinds.at(kind);
    const char* const length = in_.list.has("--encoder-seq-length") ? "--encoder-seq-length" : "--seq-length";
    model_.length = !in_.list.has(length) && in_.target.seq_len ? *in_.target.seq_len : in_.required(length);
    in_.list.ignore("--seq-length");
    if (has_two_sides())
      model_.shape["target_share"] =
          static_cast<double>(in_.required("--decoder-seq-length")) / std::max(1, model_.length);
    const int positions = in_.list.whole("--max-position-embeddings").value_or(model_.length);
    if (kind == "learned_absolute") model_.shape["max_positions"] = positions;
    const std::string norm = in_.choice(
        "--normalization", {"layernorm", "rmsnorm", "layernorm1p", "low_precision_layernorm"});  // the last two: NeMo's
    const bool rms = norm == "rmsnorm";
    model_.shape["norm"] = rms ? "rms_norm" : "layer_norm";
    const double dropout = in_.list.number("--hidden-dropout").value_or(0.1);
    in_.list.ignore("--attention-dropout");
    if (dropout > 0) model_.shape["dropout"] = dropout;
    if (const auto layers = in_.first_of({"--mtp-num-layers", "--num-mtp-predictor"}, 0))
      model_.shape["mtp_layers"] = *layers;
    if (is_bert()) masked_language();
  }

  /// By the program; a list without one is BERT's where it masks words and has no decoder beside its encoder, as T5
  /// has.
  [[nodiscard]] bool is_bert() {
    if (in_.program) return in_.program->file == "pretrain_bert.py";
    return !has_two_sides() && in_.list.has("--mask-prob");
  }

  /// pretrain_bert.py: both ways, with segments, pooler and both heads (Devlin et al. 2018).
  void masked_language() {
    model_.family = "encoder";
    model_.shape["token_types"] = 2;
    model_.shape["pooler_and_heads"] = true;
    model_.shape["predicted_share"] = in_.list.number("--mask-prob").value_or(0.15);
  }

  MegatronArguments& in_;
  MegatronModel model_;
  std::string pattern_;  ///< of layers, as an option names it
};

}  // namespace

MegatronModel read_megatron_model(MegatronArguments& arguments) { return ModelReader(arguments).read(); }

}  // namespace stepcast
