#include "calibration/validation/operators/operator_formats.hpp"

#include <array>

#include "calibration/validation/stated_words.hpp"

namespace stepcast {
namespace {

// Names by Python's libraries, cuBLAS and the OCP's specification of microscaling formats (v1.0); both kinds of 8-bit
// floats run at one rate, and so do NVIDIA's and the OCP's scaling of 4-bit ones.
constexpr std::array kSpellings{Spelling{"fp64", "fp64"},
                                Spelling{"float64", "fp64"},
                                Spelling{"double", "fp64"},
                                Spelling{"fp32", "fp32"},
                                Spelling{"float32", "fp32"},
                                Spelling{"float", "fp32"},
                                Spelling{"single", "fp32"},
                                Spelling{"tf32", "tf32"},
                                Spelling{"tensorfloat32", "tf32"},
                                Spelling{"fp16", "fp16"},
                                Spelling{"float16", "fp16"},
                                Spelling{"half", "fp16"},
                                Spelling{"fp16-tensor", "fp16-tensor"},
                                Spelling{"fp16-storage", "fp16-storage"},
                                Spelling{"bf16", "bf16"},
                                Spelling{"bfloat16", "bf16"},
                                Spelling{"fp8", "fp8"},
                                Spelling{"float8", "fp8"},
                                Spelling{"e4m3", "fp8"},
                                Spelling{"e5m2", "fp8"},
                                Spelling{"fp8_e4m3", "fp8"},
                                Spelling{"fp8_e5m2", "fp8"},
                                Spelling{"fp8_e4m3fn", "fp8"},
                                Spelling{"float8_e4m3fn", "fp8"},
                                Spelling{"float8_e4m3", "fp8"},
                                Spelling{"float8_e5m2", "fp8"},
                                Spelling{"fp8_block", "fp8_block"},
                                Spelling{"fp8_blockwise", "fp8_block"},
                                Spelling{"mxfp8", "mxfp8"},
                                Spelling{"mxfp8_e4m3", "mxfp8"},
                                Spelling{"mxfp8_e5m2", "mxfp8"},
                                Spelling{"fp4", "fp4"},
                                Spelling{"float4", "fp4"},
                                Spelling{"e2m1", "fp4"},
                                Spelling{"fp4_e2m1", "fp4"},
                                Spelling{"float4_e2m1", "fp4"},
                                Spelling{"nvfp4", "fp4"},
                                Spelling{"mxfp4", "fp4"},
                                Spelling{"int8", "int8"},
                                Spelling{"s8", "int8"}};

}  // namespace

std::optional<std::string> operator_format(std::string_view text) {
  // An operator that changes the format names the one that it reads and the one that it writes.
  constexpr std::string_view kInto = "->";
  if (const std::size_t at = text.find(kInto); at != std::string_view::npos) {
    const auto from = word_of(text.substr(0, at), kSpellings), to = word_of(text.substr(at + kInto.size()), kSpellings);
    if (!from || !to) return std::nullopt;
    return std::string(*from) + std::string(kInto) + std::string(*to);
  }
  const auto found = word_of(text, kSpellings);
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

std::vector<std::string> operator_formats() {
  std::vector<std::string> out;
  for (const Spelling& one : kSpellings)
    if (one.text == one.word) out.emplace_back(one.word);
  return out;
}

}  // namespace stepcast
