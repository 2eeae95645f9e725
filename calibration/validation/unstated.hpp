#pragma once

#include <string>
#include <string_view>

#include "calibration/validation/measured_run.hpp"
#include "hardware-catalog/catalog.hpp"

namespace stepcast {

/// What runs of one framework generation do where their source does not say.
struct FrameworkDefaults {
  std::string_view name;           ///< words by which the data name it
  std::string_view profile;        ///< models/frameworks/profiles
  std::string_view precision;      ///< workload.precision
  std::string_view recompute;      ///< strategy.recompute
  int vocab = 0;                   ///< 0: rows state it
  int seq_len = 0;                 ///< 0: rows state it
  int vocab_multiple = 1;          ///< the vocabulary of every tensor-parallel rank is padded to a multiple of it
  bool sequence_parallel = false;  ///< with tensor parallelism
  std::string_view sharding;       ///< strategy.sharding; empty: the profile's first
  bool interleaves = false;        ///< its pipelines run several chunks a stage where that pays
  /// Its recipes recompute what memory does not take. NVIDIA's (and those that follow them) name what they recompute,
  /// and offload activations to the host where they do not fit (Megatron-Bridge recipes: activation offload of 5 to 40
  /// layers).
  bool recomputes_to_fit = false;
  bool batch_per_device = false;            ///< its micro-batch is per device and not per replica
  bool causal_halved = false;               ///< in its TFLOP/s, where the row does not say
  double predicted_share = 1;               ///< share of an encoder's tokens that its output layer sees
  std::string_view context_method;          ///< empty: the model's usual one
  std::string_view adapter_context_method;  ///< where adapters are trained
  std::string_view adapter_profile = {};    ///< the same; empty: `profile`
  /// Its recipes compute attention in 8 bit, too, where products are in 4 bit, or in 8 under adapters.
  bool narrow_attention = false;
  std::string_view attention_kernel = {};             ///< strategy.attention_kernel; empty: the profile's
  bool compiles_loss = true;                          ///< where layers are compiled
  MemoryCount memory_count = MemoryCount::allocated;  ///< what its peaks count
  std::string_view since = {};  ///< first release of the generation, as its containers are numbered; empty: any
};

/// The one table of what rows leave out: the first entry whose words the name holds and whose generation the release is
/// of; null where none is. An empty release is older than every other. Programs that only start another's engine
/// (Hugging Face's Trainer, Lightning) have the engine's entry that the words on sharding choose ("ZeRO-3", "FSDP";
/// blank: none).
const FrameworkDefaults* find_defaults(std::string_view framework, std::string_view release = {},
                                       std::string_view sharding = {});
/// Why a row of a framework without such a line is refused, with the nearest name.
std::string no_profile(std::string_view framework);
/// The same as find_defaults; throws std::logic_error for a name that it does not have.
const FrameworkDefaults& defaults_of(std::string_view framework);

/// Tokens of a step where a data-parallel run does not state its batch: GPT-3 of 1.3 B parameters was trained with 1 M,
/// smaller ones with half of it (Brown et al. 2020, arXiv 2005.14165, Table 2.1).
inline constexpr long kUnstatedBatchTokens = 1 << 19;

/// Rank of low-rank adapters where a row does not state it: MLPerf's Llama 2 70B benchmark trains 16 (reference
/// implementation), which is also between the 8 and 32 of the frameworks' defaults.
inline constexpr int kUnstatedAdapterRank = 16;

/// Mean tokens of a SQuAD sample with its prompt: a paragraph of 120 words, question and answer (Rajpurkar et al. 2016,
/// arXiv 1606.05250). NVIDIA's fine-tuning recipes pack it into sequences of 4,096.
inline constexpr int kSquadDocumentLen = 180;

}  // namespace stepcast
