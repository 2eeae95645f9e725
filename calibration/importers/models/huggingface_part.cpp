#include "calibration/importers/models/huggingface_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "calibration/importers/models/config_reader.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Where models of several parts keep their language model; the first of these that a file has.
constexpr std::array kLanguageSections{"/text_config", "/thinker_config/text_config", "/llm_config",
                                       "/language_config"};

/// What begins keys of layers that no shape here has, in files whose type says nothing.
struct Sign {
  std::string_view begins, lacks;
};
constexpr std::array kSignsOfLayers{Sign{"mamba", "state-space layers"},
                                    Sign{"ssm_", "state-space layers"},
                                    Sign{"linear_attn", "layers of linear attention"},
                                    Sign{"linear_num", "layers of linear attention"},
                                    Sign{"linear_key", "layers of linear attention"},
                                    Sign{"lru_", "recurrent layers"},
                                    Sign{"rwkv", "recurrent layers"},
                                    Sign{"block_configs", "blocks of different widths"},
                                    Sign{"image_size", "patches of images"},
                                    Sign{"patch_size", "patches of images"},
                                    Sign{"num_mel_bins", "frames of sound"},
                                    Sign{"conv_stride", "frames of sound"}};

std::string type_in(const Json& part) {
  const auto found = part.find("model_type");
  return found != part.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// What a model has and no shape here can say; empty where nothing tells.
std::string lacking(const std::string& name, const Json& config) {
  if (const auto reason = huggingface_refusal(name); !reason.empty()) return std::string(reason);
  for (const auto& [key, value] : config.items())
    for (const Sign& sign : kSignsOfLayers)
      if (key.starts_with(sign.begins) && !value.is_null()) return std::string(sign.lacks);
  return {};
}

bool is_misspelt(const std::string& name, const std::string& known) {
  // "albert" and "bert", "xglm" and "glm" are others: what is misspelt begins alike and is about as long.
  return known.front() == name.front() &&
         std::abs(static_cast<long>(known.size()) - static_cast<long>(name.size())) <= 1;
}

std::vector<std::string> known_types() {
  std::vector<std::string> out;
  for (const std::string_view known : huggingface_type_names()) out.emplace_back(known);
  return out;
}

/// The type of the class that a file names; empty where it names none that is known.
std::string type_of_class(const Json& config) {
  if (!config.contains("architectures")) return {};
  const std::string of_class = lower_case(config.at("architectures").dump());
  for (const std::string& known : known_types()) {
    std::string plain = known;
    std::erase_if(plain, [](char c) { return c == '_' || c == '-'; });
    if (of_class.starts_with("[\"" + plain + "for")) return known;
  }
  return {};
}

/// What to name instead of a type that is not known: the type of a class that the file names; a name like it.
std::string near_type(const std::string& name, const Json& config) {
  if (name.empty() && config.contains("peft_type"))
    return "the file is of an adapter: take the config.json of the model that it adapts";
  const std::vector<std::string> names = known_types();
  if (name.empty())
    if (const std::string of_class = type_of_class(config); !of_class.empty())
      return fmt::format("architectures names \"{}\"", of_class);
  const std::string* near = name.empty() ? nullptr : nearest(name, names);
  return near && is_misspelt(name, *near) ? fmt::format("did you mean \"{}\"?", *near) : expected_one_of(names);
}

/// Of a decoder with all of Llama's sizes, as most new types are; the language model of several parts need not name
/// its class.
bool is_like_llama(const Json& config, bool part) {
  constexpr std::array kLlamaSizes{"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size",
                                   "rms_norm_eps"};
  const auto has = [&](const char* key) { return config.contains(key) && !config.at(key).is_null(); };
  const bool wide = has("intermediate_size") || has("moe_intermediate_size");
  const bool decoder = config.contains("architectures")
                           ? config.at("architectures").dump().find("ForCausalLM") != std::string::npos
                           : part;
  return wide && decoder && std::all_of(kLlamaSizes.begin(), kLlamaSizes.end(), has);
}

/// Models that see say beside their text_config whether its embeddings are tied.
void take_outer_ties(Json& part, const Json& whole) {
  constexpr const char* kKey = "tie_word_embeddings";
  if (!part.contains(kKey) && whole.contains(kKey)) part[kKey] = whole.at(kKey);
}

/// The section of the language model, or the file where it has none or is one itself.
HuggingFacePart part_of(const Json& config, Diagnostics& diagnostics) {
  HuggingFacePart out{.config = config};
  out.has_others = config.contains("vision_config") || config.contains("mm_vision_tower");
  // DeepSeek-OCR's file has the language model's sizes beside the section, too; its own type is of the whole.
  const bool is_whole = huggingface_type(type_in(config), config) != nullptr;
  const bool has_section = config.contains("language_config") && config.at("language_config").is_object();
  if (config.contains("num_hidden_layers") && (is_whole || !has_section)) return out;
  for (const char* section : kLanguageSections) {
    const Json::json_pointer at(section);
    if (!config.contains(at)) continue;
    if (!config.at(at).is_object()) {
      diagnostics.error(section, fmt::format("found {}, expected an object", describe(config.at(at))));
      return out;
    }
    out.config = config.at(at);
    out.pointer = section;
    take_outer_ties(out.config, config);
    return out;
  }
  return out;
}

}  // namespace

HuggingFacePart language_model_of(const Json& config, Diagnostics& diagnostics) {
  HuggingFacePart out = part_of(config, diagnostics);
  if (!diagnostics.ok()) return out;
  const std::string name = type_in(out.config);
  out.type = huggingface_type(name, out.config);
  if (out.type) return out;
  if (const std::string of_class = type_of_class(out.config);
      name.empty() && !out.pointer.empty() && !of_class.empty()) {
    out.type = huggingface_type(of_class, out.config);
    out.note = fmt::format("{} has no model_type: taken for {}, which its class names", out.pointer, of_class);
    return out;
  }
  // Of a model of several parts its own type says more than that of its text's.
  const std::string of_whole = std::string(huggingface_refusal(type_in(config)));
  const std::string lacks = of_whole.empty() ? lacking(name, out.config) : of_whole;
  if (lacks.empty() && !name.empty() && is_like_llama(out.config, !out.pointer.empty())) {
    out.type = huggingface_type("llama", out.config);
    out.note = fmt::format(
        "model_type \"{}\" is not known: taken for Llama's kin, whose keys it has (compare the parameters with those "
        "published)",
        name);
    return out;
  }
  diagnostics.error(child_pointer(out.pointer, "model_type"),
                    name.empty() ? "missing" : fmt::format("found \"{}\"", name),
                    lacks.empty() ? near_type(name, out.config) : fmt::format("its {} are not described here", lacks));
  return out;
}

std::vector<std::string> unread_key_notes(const Json& config, std::vector<std::string> keys, bool is_guess) {
  std::vector<std::string> out;
  const auto may_add = [&](const std::string& key) {
    const Json& value = config.at(key);
    if (key.ends_with("_id") || key.ends_with("_index")) return false;  // of tokens
    return value.is_structured() ? !value.empty() : value.is_number_integer() && value.get<long>() > 1;
  };
  const auto rest = is_guess ? std::stable_partition(keys.begin(), keys.end(), may_add) : keys.begin();
  if (rest != keys.begin())
    out.push_back(fmt::format(
        "keys that may change what is computed, even where the parameters are those published, not used: {}",
        fmt::join(keys.begin(), rest, ", ")));
  keys.erase(keys.begin(), rest);
  if (std::string note = unknown_note(keys); !note.empty()) out.push_back(std::move(note));
  return out;
}

}  // namespace stepcast
