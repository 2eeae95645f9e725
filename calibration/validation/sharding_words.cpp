#include "calibration/validation/sharding_words.hpp"

#include <algorithm>
#include <array>

#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

namespace {

// By what the words hold, letters and digits alone; the first that they do. SHARD_GRAD_OP keeps parameters after the
// forward pass and shards gradients and states: ZeRO-2 (PyTorch fsdp/api.py). Its hybrid form is neither.
constexpr std::array kShardings{Spelling{"hybridshardzero2", ""},  Spelling{"fsdp", "fsdp"},
                                Spelling{"hsdp", "hsdp"},          Spelling{"fullshard", "fsdp"},
                                Spelling{"hybridshard", "hsdp"},   Spelling{"zero3", "zero-3"},
                                Spelling{"zerostage3", "zero-3"},  Spelling{"gemini", "zero-3"},
                                Spelling{"zero2", "zero-2"},       Spelling{"zerostage2", "zero-2"},
                                Spelling{"shardgradop", "zero-2"}, Spelling{"zero1", "zero-1"},
                                Spelling{"zerostage1", "zero-1"},  Spelling{"distributedoptimizer", "zero-1"},
                                Spelling{"zero0", "none"},         Spelling{"zerostage0", "none"},
                                Spelling{"noshard", "none"}};
// By the whole text.
constexpr std::array kReplicated{Spelling{"DDP", "none"}, Spelling{"DP", "none"}, Spelling{"none", "none"},
                                 Spelling{"no", "none"}};

}  // namespace

std::string_view stated_sharding(std::string_view text) {
  const std::string squeezed = squashed(text);
  for (const Spelling& one : kShardings)
    if (contains(squeezed, one.text)) return one.word;
  return word_of(text, kReplicated).value_or("");
}

bool is_hybrid_shard(std::string_view text) { return contains(squashed(text), "hybridshard"); }

std::string_view offered_sharding(std::string_view sharding, std::string_view profile) {
  if (sharding != "zero-3") return sharding;
  Diagnostics diagnostics("");
  const std::shared_ptr<const FrameworkProfile> found = find_framework(profile, "", diagnostics);
  if (found == nullptr) return sharding;
  const auto offers = [&](const char* one) {
    return std::find(found->shardings.begin(), found->shardings.end(), one) != found->shardings.end();
  };
  return offers("fsdp") && !offers("zero-3") ? "fsdp" : sharding;
}

std::vector<std::string> sharding_choices() {
  return {"DDP",  "ZeRO-1",     "ZeRO-2",        "ZeRO-3",       "FSDP",
          "HSDP", "FULL_SHARD", "SHARD_GRAD_OP", "HYBRID_SHARD", "NO_SHARD"};
}

}  // namespace stepcast
