#include "models/workload/model.hpp"

namespace stepcast {
namespace {

/// Far above any model, and low enough that counts stay exact in a double and a description cannot ask for all memory.
constexpr double kWidest = 1e7, kLongestSequence = 1e8;

}  // namespace

KeyHolding TransformerShape::keys_of(int layer) const {
  if (shared_kv_layers == 0) return KeyHolding::own;
  const int borrowing = layers - shared_kv_layers;
  if (layer >= borrowing) return KeyHolding::borrowed;
  for (int later = layer + 1; later < borrowing; ++later)
    if (is_windowed(later) == is_windowed(layer)) return KeyHolding::own;
  for (int later = borrowing; later < layers; ++later)
    if (is_windowed(later) == is_windowed(layer)) return KeyHolding::lent;
  return KeyHolding::own;
}

const FieldTable<TransformerShape>& TransformerShape::fields() {
  using S = TransformerShape;
  static const FieldTable<S> table = [] {
    const Rules size{.required = true, .min = 1, .max = kWidest};
    const Rules count{.min = 0, .max = kWidest};
    FieldTable<S> t("transformer", "A transformer's shape");
    t.field("layers", &S::layers, "transformer blocks", {.required = true, .min = 1, .max = kMostLayers})
        .field("hidden", &S::hidden, "width of the residual stream", size)
        .field("ffn_hidden", &S::ffn_hidden, "width of the MLP, of one gate of a gated one", size)
        .field("heads", &S::heads, "attention heads", size)
        .field("kv_heads", &S::kv_heads, "heads of keys and values; 0: as heads", count)
        .field("head_dim", &S::head_dim, "size of a head; 0: hidden / heads", count)
        .field("vocab", &S::vocab, "rows of the embedding table; a diffusion transformer has none", count)
        .field("embedding_size", &S::embedding_size,
               "width of the embeddings, which are projected where it is not hidden; 0: as hidden", count)
        .field(
            "hidden_groups", &S::hidden_groups,
            "equal groups of consecutive blocks, each with the weights of one block (ALBERT); 0: every block has its "
            "own",
            {.min = 0, .max = kMostLayers})
        .field("gated_mlp", &S::gated_mlp, "the MLP multiplies by a gate (SwiGLU)")
        .field("biases", &S::biases, "linear layers and norms have biases")
        .field("qkv_bias", &S::qkv_bias, "only the QKV projection has a bias")
        .field("qk_norm", &S::qk_norm, "each head's query and key are normalised before the core")
        .field("attention_output_gate", &S::attention_output_gate,
               "what attention gives is multiplied by a gate of its width, which comes with the queries")
        .field("tied_embeddings", &S::tied_embeddings, "the output layer uses the embedding table")
        .field("positions", &S::positions, "how positions are encoded")
        .field("norm", &S::norm, "kind of normalisation")
        .field("max_positions", &S::max_positions, "rows of a learned position table", count)
        .field("token_types", &S::token_types, "rows of a segment embedding (BERT)", count)
        .field("pooler_and_heads", &S::pooler_and_heads, "BERT's pooler, masked-token transform and next-sentence head")
        .field("predicted_share", &S::predicted_share, "share of the tokens that the output layer sees",
               {.min = 0, .max = 1, .above_min = true})
        .field("dropout", &S::dropout, "dropout probability; above 0 its masks are stored and applied",
               {.min = 0, .max = 1})
        .field("experts", &S::experts, "experts of a mixture-of-experts block; 0: dense", count)
        .field("top_k", &S::top_k, "experts that one token visits", count)
        .field("expert_groups", &S::expert_groups,
               "equal groups of consecutive experts, of which a token's experts lie in groups_per_token",
               {.min = 1, .max = kWidest})
        .field("groups_per_token", &S::groups_per_token, "groups in which a token's experts lie at most",
               {.min = 1, .max = kWidest})
        .field("moe_ffn_hidden", &S::moe_ffn_hidden, "width of one expert; 0: as ffn_hidden", count)
        .field("shared_expert_ffn", &S::shared_expert_ffn, "width of the expert that every token visits; 0: none",
               count)
        .field("dense_layers", &S::dense_layers, "first blocks that are dense in a mixture-of-experts model", count)
        .field("moe_every", &S::moe_every, "after the dense first blocks every so many-th block has experts",
               {.min = 1, .max = kMostLayers})
        .field("q_lora_rank", &S::q_lora_rank,
               "multi-latent or compressed attention: width of the queries' latent; 0: none", count)
        .field("kv_lora_rank", &S::kv_lora_rank,
               "multi-latent attention: width of the latent of keys and values; 0: usual attention", count)
        .field("qk_nope_head_dim", &S::qk_nope_head_dim,
               "multi-latent attention: part of a head's query and key without positions", count)
        .field("qk_rope_head_dim", &S::qk_rope_head_dim,
               "multi-latent or compressed attention: rotary part of a head's query and key", count)
        .field("v_head_dim", &S::v_head_dim, "size of a head's value; 0: of usual attention as its key", count)
        .field("sparse_attention", &S::sparse_attention,
               "multi-latent attention over the tokens that an indexer picks (DeepSeek-V3.2, GLM-5)")
        .field("compressed_attention", &S::compressed_attention,
               "beside a window that every layer has, attention over entries that stand for several tokens each "
               "(DeepSeek-V4)")
        .field("window", &S::window, "tokens that local attention layers see; 0: every layer sees all", count)
        .field("window_kind", &S::window_kind,
               "sliding: the last `window` tokens; chunked: the own chunk of so many tokens")
        .field("global_every", &S::global_every, "with a window: every so many-th block sees all tokens; 0: none does",
               count)
        .field("global_heads", &S::global_heads, "attention heads of those blocks; 0: as of the others", count)
        .field("global_head_dim", &S::global_head_dim, "size of a head of those blocks; 0: as of the others", count)
        .field("global_kv_heads", &S::global_kv_heads, "their heads of keys and values; 0: as the others'", count)
        .field("global_keys_are_values", &S::global_keys_are_values,
               "their values are their keys, which no product gives")
        .field("shared_kv_layers", &S::shared_kv_layers,
               "last blocks that have no keys and values but those of the last block before them that sees as much",
               {.min = 0, .max = kMostLayers})
        .field("shared_kv_ffn_hidden", &S::shared_kv_ffn_hidden, "width of the MLP of those blocks; 0: as ffn_hidden",
               count)
        .field("per_layer_embedding", &S::per_layer_embedding,
               "width of an embedding that each block has of its own for each token (Gemma 3n and 4); 0: none", count)
        .field("residual_streams", &S::residual_streams,
               "streams of the residual stream that hyper-connections mix; 1: every half adds to one",
               {.min = 1, .max = 100})
        .field("mtp_layers", &S::mtp_layers,
               "multi-token-prediction blocks behind the last one, each with the output layer once more",
               {.min = 0, .max = 100})
        .field("moe_latent", &S::moe_latent,
               "width to which tokens are projected for the routed experts, and back; 0: they see hidden", count)
        .field("layer_pattern", &S::layer_pattern,
               "layers of one half each, by letter: M a Mamba-2 mixer, G linear attention, * attention, - an MLP, E a "
               "mixture of experts; default: every layer is attention and an MLP or experts")
        .field("linear_attention", &S::linear_attention, "sizes of the layers G of a layer_pattern")
        .field("ssm_heads", &S::ssm_heads, "heads of a Mamba-2 mixer", count)
        .field("ssm_head_dim", &S::ssm_head_dim, "size of such a head", count)
        .field("ssm_state", &S::ssm_state, "states of each channel of such a head", count)
        .field("ssm_groups", &S::ssm_groups, "groups of such heads, each with B and C of its own",
               {.min = 1, .max = kWidest})
        .field("ssm_conv", &S::ssm_conv, "tokens that a Mamba-2 mixer's convolution sees", {.min = 1, .max = 1000})
        .field("encoder_layers", &S::encoder_layers,
               "the first so many layers are an encoder's; those behind them, a decoder's, attend to its result too; "
               "0: no encoder",
               count)
        .field("target_share", &S::target_share,
               "of an encoder-decoder: tokens of the target for one of the source, whose length seq_len is",
               {.min = 0, .max = 100, .above_min = true})
        .field("diffusion", &S::diffusion, "of a diffusion transformer: its patches, its text and its modulation");
    return t;
  }();
  return table;
}

const FieldTable<CnnLayer>& CnnLayer::fields() {
  using S = CnnLayer;
  static const FieldTable<S> table = [] {
    const Rules size{.required = true, .min = 1, .max = kWidest};
    const Rules positive{.min = 1, .max = kWidest};
    FieldTable<S> t("cnn layer", "One row of a CNN's layer table");
    t.field("name", &S::name, "name of the row", {.required = true})
        .field("kind", &S::kind, "what the row computes")
        .field("in_channels", &S::in_channels, "channels of the input", size)
        .field("out_channels", &S::out_channels, "channels of the output", size)
        .field("height", &S::height, "height of the input", size)
        .field("width", &S::width, "width of the input", size)
        .field("kernel_height", &S::kernel_height, "height of the kernel or window", positive)
        .field("kernel_width", &S::kernel_width, "width of the kernel or window", positive)
        .field("stride", &S::stride, "stride in both directions", positive)
        .field("out_height", &S::out_height, "height of the output; 0: ceil(height / stride)",
               {.min = 0, .max = kWidest})
        .field("out_width", &S::out_width, "width of the output; 0: ceil(width / stride)", {.min = 0, .max = kWidest})
        .field("groups", &S::groups, "groups of a grouped convolution", positive)
        .field("batch_norm", &S::batch_norm, "a convolution is followed by batch normalisation")
        .field("activation", &S::activation, "a convolution or fully connected row is followed by an activation")
        .field("residual_add", &S::residual_add, "a shortcut is added before the activation")
        .field("bias", &S::bias, "the row has a bias")
        .field("repeat", &S::repeat, "copies of the row", {.min = 1, .max = kMostLayers});
    return t;
  }();
  return table;
}

const FieldTable<CnnShape>& CnnShape::fields() {
  using S = CnnShape;
  static const FieldTable<S> table = [] {
    const Rules positive{.min = 1};
    FieldTable<S> t("cnn", "A CNN as its layer table");
    t.field("image_height", &S::image_height, "height of an image", positive)
        .field("image_width", &S::image_width, "width of an image", positive)
        .field("image_channels", &S::image_channels, "channels of an image", positive)
        .field("classes", &S::classes, "classes of the last row", positive)
        .field("layers", &S::layers, "rows in order of execution; parallel branches follow one another",
               {.required = true});
    return t;
  }();
  return table;
}

const FieldTable<Model>& Model::fields() {
  using S = Model;
  static const FieldTable<S> table = [] {
    FieldTable<S> t("model", "A model to train");
    t.field("id", &S::id, "name by which scenarios refer to it")
        .field("title", &S::title, "name for people")
        .field("family", &S::family, "kind of model", {.required = true})
        .field("kind", &S::kind,
               "kind of workload, for how far to trust a prediction; default: by the model's operators")
        .field("transformer", &S::transformer, "shape of a decoder or encoder")
        .field("cnn", &S::cnn, "layer table of a CNN")
        .field("compact", &S::compact, "totals of a network")
        .field("recommender", &S::recommender, "embedding tables and MLPs of a recommender")
        .field("published_parameters", &S::published_parameters, "parameter count as published, for checking",
               {.min = 0, .above_min = true})
        .field(
            "default_seq_len", &S::default_seq_len,
            "tokens of a sequence, unless workload.seq_len says so; 0 for a CNN; tokens or frames of one sample of a "
            "compact network",
            {.min = 0, .max = kLongestSequence})
        .field("dataset_samples", &S::dataset_samples, "samples of the usual data set; 0: none", {.min = 0})
        .field("sample_kB", &S::sample_bytes, "stored size of one sample", {.min = 0, .max = 1e9})
        .field("sources", &S::sources, "where each figure comes from")
        .field("note", &S::note, "what else to know");
    return t;
  }();
  return table;
}

}  // namespace stepcast
