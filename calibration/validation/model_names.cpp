#include "calibration/validation/model_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <vector>

#include "calibration/validation/csv_table.hpp"
#include "fields/data_directory.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }
bool is_sign(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0; }

/// Letters and digits with what separates one number from the next: "Llama-3.1_8B" is "llama3.1-8b", which "llama3-18b"
/// is not.
std::string plain_name(std::string_view text) {
  const std::string lower = lower_case(text.substr(text.find_last_of('/') + 1));
  std::string out;
  char between = '\0';
  for (const char letter : lower) {
    if (!is_sign(letter)) {
      between = between == '\0' && letter == '.' ? '.' : '-';
      continue;
    }
    if (between != '\0' && !out.empty() && is_digit(out.back()) && is_digit(letter)) out += between;
    between = '\0';
    out += letter;
  }
  return out;
}

struct SameShape {
  std::string_view name, known;
};
// Models of one shape. Llama 3.1 and 3.3 differ from 3 in their positions alone, the first LLaMA of 7 and 13 B from the
// second in its data, DeepSeek-R1 and V3.1 from V3 likewise, Qwen2 of 7 and 72 B from Qwen2.5 (their config.json).
constexpr std::array kSameShapes{SameShape{"llama3.1-8b", "llama3-8b"},
                                 SameShape{"llama3.1-70b", "llama3-70b"},
                                 SameShape{"llama3.3-70b", "llama3-70b"},
                                 SameShape{"llama-7b", "llama2-7b"},
                                 SameShape{"llama1-7b", "llama2-7b"},
                                 SameShape{"llama-13b", "llama2-13b"},
                                 SameShape{"llama1-13b", "llama2-13b"},
                                 SameShape{"llama1-65b", "llama-65b"},
                                 SameShape{"deepseek-r1", "deepseek-v3"},
                                 SameShape{"deepseek-v3.1", "deepseek-v3"},
                                 SameShape{"qwen2-7b", "qwen2.5-7b"},
                                 SameShape{"qwen2-72b", "qwen2.5-72b"},
                                 SameShape{"megatron-530b", "mt-nlg-530b"},
                                 SameShape{"megatron-turing-530b", "mt-nlg-530b"},
                                 SameShape{"megatron-turing-nlg-530b", "mt-nlg-530b"},
                                 SameShape{"gpt2-1.5b", "gpt2-xl"},
                                 SameShape{"llama-33b", "llama-30b"},
                                 SameShape{"yi1.5-34b", "yi-34b"},
                                 SameShape{"deepseekv3-0324", "deepseek-v3"},
                                 SameShape{"deepseek-r1-0528", "deepseek-v3"},
                                 SameShape{"qwen3-235b", "qwen3-235b-a22b"},
                                 SameShape{"llama4-scout-17b-16e", "llama4-scout"},
                                 SameShape{"llama4-maverick-17b-128e", "llama4-maverick"},
                                 SameShape{"flan-t5-large", "t5-v1.1-large"},
                                 SameShape{"flan-t5-xl", "t5-v1.1-xl"},
                                 SameShape{"flan-t5-xxl", "t5-v1.1-xxl"}};

/// What Hugging Face's names add where training, not the shape, differs; and Meta's before Llama's.
constexpr std::array<std::string_view, 10> kAdded{"instruct", "base", "chat", "hf",   "it",
                                                  "pt",       "v0.1", "v0.2", "v0.3", "uncased"};
constexpr std::string_view kMeta = "metallama";

/// Names by their plain form. The table's come first, for rows of runs go by them.
std::map<std::string, std::string> read_known() {
  const CsvTable table = read_csv(data_directory("calibration/data") / "llm-models.csv");
  std::map<std::string, std::string> out;
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::string name = CsvRow(table, i, faults).text("model");
    out.emplace(plain_name(name), name);
  }
  throw_if_faulty(std::move(faults));
  for (const std::string& id : model_ids()) out.emplace(plain_name(id), id);
  for (const SameShape& alias : kSameShapes) out.emplace(plain_name(alias.name), alias.known);
  return out;
}

const std::map<std::string, std::string>& known_names() {
  static const std::map<std::string, std::string> kKnown = read_known();
  return kKnown;
}

/// The plain form without the first of the added words that it ends with; the same where it ends with none.
std::string without_added(std::string name) {
  for (const std::string_view word : kAdded)
    if (name.ends_with(word) && name.size() > word.size()) return name.substr(0, name.size() - word.size());
  return name;
}

}  // namespace

std::string model_name_of(std::string_view text) {
  const std::string lower = lower_case(text);
  std::string name = plain_name(text);
  if (name.starts_with(kMeta)) name = name.substr(4);
  while (true) {
    const auto found = known_names().find(name);
    if (found != known_names().end()) {
      const std::vector<std::string> ids = model_ids();
      return std::binary_search(ids.begin(), ids.end(), lower) ? lower : found->second;
    }
    std::string shorter = without_added(name);
    if (shorter == name) return lower;
    name = std::move(shorter);
  }
}

std::shared_ptr<const Model> transformer_of(const std::string& name) {
  const std::vector<std::string> ids = model_ids();
  if (!std::binary_search(ids.begin(), ids.end(), name)) return nullptr;
  Diagnostics diagnostics(name);
  std::shared_ptr<const Model> preset = find_model(name, "", diagnostics);
  return preset != nullptr && preset->is_transformer() ? preset : nullptr;
}

std::string no_model(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [plain, id] : known_names())
    if (transformer_of(id) != nullptr) known.push_back(id);
  const std::string hint = did_you_mean(name, known);
  return fmt::format("shape of {} is not known{}", name.empty() ? "a model without a name" : name,
                     hint.empty() ? "" : ": " + hint);
}

}  // namespace stepcast
