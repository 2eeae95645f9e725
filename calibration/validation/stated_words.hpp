#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

// Words that tables of measurements hold, whoever wrote them: one word has several spellings, and what is none of them
// is refused, never read as something else.

/// Letters and digits of a text in lower case: "all_reduce", "AllReduce" and "all-reduce" have them in common.
std::string squashed(std::string_view text);

/// A spelling of a word beyond capital letters and what stands between its parts, and the word.
struct Spelling {
  std::string_view text, word;
};

/// The word that one of the spellings stands for; null for any other text.
template <class Spellings>
std::optional<std::string_view> word_of(std::string_view text, const Spellings& spellings) {
  const std::string wanted = squashed(text);
  for (const Spelling& one : spellings)
    if (squashed(one.text) == wanted) return one.word;
  return std::nullopt;
}

/// The value of an enumeration that a text names.
template <NamedEnum E>
std::optional<E> stated_enum(std::string_view text) {
  const std::string wanted = squashed(text);
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i)
    if (squashed(EnumNames<E>::names[i]) == wanted) return static_cast<E>(i);
  return std::nullopt;
}

/// The first whole number of a text after some words; null when there is none.
std::optional<long> number_after(const std::string& text, std::string_view words);

/// What yes or no, true or false, on or off, 1 or 0 say; null for any other text and a blank.
std::optional<bool> stated_flag(std::string_view text);

/// What such words say of recomputation: "full" where they only say that activations are recomputed ("yes", "activation
/// checkpointing"), "none" where they say that they are not; any other text as it is.
std::string stated_recomputation(const std::string& text);

/// The format of numbers that a text names first ("fp8 (per-tensor current scaling)"), as `workload.precision` has it;
/// empty when it names none.
std::string_view stated_format(std::string_view text);
/// The formats that texts name.
std::vector<std::string> format_choices();

/// Why a row is refused whose column does not hold one of the words that are expected there.
std::string not_understood(std::string_view column, std::string_view found, const std::vector<std::string>& expected);
/// The same for a column of yes and no.
std::string no_flag(std::string_view column, std::string_view found);

}  // namespace stepcast
