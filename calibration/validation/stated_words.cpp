#include "calibration/validation/stated_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr std::array kFlags{
    Spelling{"yes", "yes"}, Spelling{"true", "yes"}, Spelling{"on", "yes"}, Spelling{"y", "yes"}, Spelling{"1", "yes"},
    Spelling{"no", "no"},   Spelling{"false", "no"}, Spelling{"off", "no"}, Spelling{"n", "no"},  Spelling{"0", "no"}};

// The first that a text names. bf16 and fp16 run at one rate on every GPU here, so which of the two does not matter.
// Low-precision recipes keep some layers wider, which goes with the format.
constexpr std::array kFormats{Spelling{"fp4", "fp4"},     Spelling{"float4", "fp4"},   Spelling{"mxfp8", "mxfp8"},
                              Spelling{"fp8mx", "mxfp8"}, Spelling{"float8", "fp8"},   Spelling{"fp8", "fp8"},
                              Spelling{"int8", "int8"},   Spelling{"bf16", "bf16"},    Spelling{"bfloat16", "bf16"},
                              Spelling{"fp16", "fp16"},   Spelling{"float16", "fp16"}, Spelling{"tf32", "tf32"},
                              Spelling{"fp32", "fp32"},   Spelling{"float32", "fp32"}};

}  // namespace

std::string squashed(std::string_view text) {
  std::string out;
  for (const char letter : lower_case(text))
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0) out += letter;
  return out;
}

std::optional<long> number_after(const std::string& text, std::string_view words) {
  std::size_t at = text.find(words);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at + words.size());
  if (at == std::string::npos) return std::nullopt;
  return std::strtol(text.c_str() + at, nullptr, 10);
}

std::optional<bool> stated_flag(std::string_view text) {
  const std::optional<std::string_view> word = word_of(text, kFlags);
  return word ? std::optional(*word == "yes") : std::nullopt;
}

std::string stated_recomputation(const std::string& text) {
  constexpr std::array kBare{Spelling{"activation checkpointing", "full"},
                             Spelling{"activation recomputation", "full"},
                             Spelling{"activation recompute", "full"},
                             Spelling{"gradient checkpointing", "full"},
                             Spelling{"checkpointing", "full"},
                             Spelling{"recomputation", "full"},
                             Spelling{"full activation checkpointing", "full"},
                             Spelling{"no activation checkpointing", "none"},
                             Spelling{"no gradient checkpointing", "none"},
                             Spelling{"no checkpointing", "none"},
                             Spelling{"no recomputation", "none"},
                             Spelling{"no recompute", "none"}};
  if (const std::optional<bool> flag = stated_flag(text)) return *flag ? "full" : "none";
  return std::string(word_of(text, kBare).value_or(text));
}

std::string_view stated_format(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const Spelling& format : kFormats)
    if (contains(lower, format.text)) return format.word;
  return "";
}

std::vector<std::string> format_choices() { return {"bf16", "fp16", "fp8", "mxfp8", "fp4", "int8", "tf32", "fp32"}; }

std::string not_understood(std::string_view column, std::string_view found, const std::vector<std::string>& expected) {
  const std::string what = found.empty() ? "nothing" : fmt::format("\"{}\"", found);
  // A choice that is near may not be what was meant; a short list says all.
  constexpr std::size_t kShort = 5;
  std::string hint = found.empty() ? std::string() : did_you_mean(found, expected);
  if (hint.empty() || expected.size() <= kShort) hint = expected_one_of(expected) + (hint.empty() ? "" : ": " + hint);
  return fmt::format("{}: found {}, {}", column, what, hint);
}

std::string no_flag(std::string_view column, std::string_view found) {
  return not_understood(column, found, {"yes", "no"});
}

}  // namespace stepcast
