#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "calibration/validation/accelerator_names.hpp"
#include "calibration/validation/mlperf/mlperf_run.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Words that a text must hold, in lower case, and the accelerator that it then means.
struct Wording {
  std::array<std::string_view, 2> words;
  std::string_view id;
};

// What the catalogue's own words do not say. The first that holds: longer words before words that they contain.
constexpr std::array kWordings{
    Wording{{"gb300", ""}, "gb300"},
    Wording{{"gb200", ""}, "gb200"},
    Wording{{"b300-sxm", ""}, "b300-sxm-270gb"},
    Wording{{"b200-sxm", ""}, "b200-sxm-180gb"},
    Wording{{"nvidia b300", ""}, "b300-sxm-270gb"},
    Wording{{"nvidia b200", ""}, "b200-sxm-180gb"},
    Wording{{"gh200", "144"}, "gh200-144gb"},
    Wording{{"gh200", ""}, "gh200-96gb"},
    Wording{{"h200-sxm", ""}, "h200-sxm-141gb"},
    Wording{{"h200-nvl", ""}, "h200-nvl-141gb"},
    Wording{{"h200 nvl", ""}, "h200-nvl-141gb"},
    Wording{{"h100-nvl", ""}, "h100-nvl-94gb"},
    Wording{{"h100 nvl", ""}, "h100-nvl-94gb"},
    Wording{{"h100-sxm", "80gb"}, "h100-sxm-80gb"},
    Wording{{"h100 80gb hbm3", ""}, "h100-sxm-80gb"},
    Wording{{"h100-pcie", ""}, "h100-pcie-80gb"},
    Wording{{"h100 pcie", ""}, "h100-pcie-80gb"},
    Wording{{"h100-sxm5-96gb", ""}, "h100-sxm-80gb"},
    Wording{{"a100-sxm", "80gb"}, "a100-sxm-80gb"},
    Wording{{"a100-sxm", "40gb"}, "a100-sxm-40gb"},
    Wording{{"a100-pcie", "80gb"}, "a100-pcie-80gb"},
    Wording{{"a100 - pcie", "80 gb"}, "a100-pcie-80gb"},
    Wording{{"a100-pcie", "40gb"}, "a100-pcie-40gb"},
    Wording{{"v100-sxm3", "450w"}, "v100-sxm3-32gb-dgx2h"},
    Wording{{"v100-sxm3", "32gb"}, "v100-sxm3-32gb"},
    Wording{{"v100-sxm2", "32gb"}, "v100-sxm2-32gb"},
    Wording{{"v100-sxm2", "16gb"}, "v100-sxm2-16gb"},
    Wording{{"rtx a5000", ""}, "rtx-a5000"},
    Wording{{"rtx a6000", ""}, "rtx-a6000"},
    Wording{{"rtx 6000 ada", ""}, "rtx-6000-ada"},
    Wording{{"rtx 2080 ti", ""}, "rtx-2080-ti"},
    Wording{{"rtx 3090", ""}, "rtx-3090"},
    Wording{{"rtx 4090", ""}, "rtx-4090"},
    Wording{{"rtx 5090", ""}, "rtx-5090"},
    Wording{{"rtx 8000", ""}, "quadro-rtx-8000"},
    Wording{{"a30", ""}, "a30"},
    Wording{{"a40", ""}, "a40"},
    Wording{{"l40s", ""}, "l40s"},
    Wording{{"l40", ""}, "l40"},
    Wording{{"nvidia l4", ""}, "l4"},
    Wording{{"mi100", ""}, "mi100"},
    Wording{{"mi210", ""}, "mi210"},
    Wording{{"mi300a", ""}, "mi300a"},
    Wording{{"mi300x", ""}, "mi300x"},
    Wording{{"mi325x", ""}, "mi325x"},
    Wording{{"mi350x", ""}, "mi350x"},
    Wording{{"mi355x", ""}, "mi355x"},
    Wording{{"tpu-v5p", ""}, "tpu-v5p"},
    Wording{{"tpu-v5e", ""}, "tpu-v5e"},
    Wording{{"tpu-v4", ""}, "tpu-v4"},
    Wording{{"tpu v4", ""}, "tpu-v4"},
    Wording{{"tpu v3", ""}, "tpu-v3"},
    Wording{{"tpu-v3", ""}, "tpu-v3"},
    Wording{{"trillium", ""}, "tpu-v6e"},
    Wording{{"gaudi2", ""}, "gaudi2"},
    Wording{{"gaudi(r) 2", ""}, "gaudi2"},
    Wording{{"gaudi3", ""}, "gaudi3"},
    Wording{{"gaudi 3", ""}, "gaudi3"},
    // Without a form factor NVIDIA's own board is meant, with the larger memory where there are two.
    Wording{{"h200", ""}, "h200-sxm-141gb"},
    Wording{{"h20", ""}, "h20-sxm-96gb"},
    Wording{{"a100 sxm", "40gb"}, "a100-sxm-40gb"},
    Wording{{"a100 pcie", "40gb"}, "a100-pcie-40gb"},
    Wording{{"a100 pcie", ""}, "a100-pcie-80gb"},
    Wording{{"a100-pcie", ""}, "a100-pcie-80gb"},
    Wording{{"a100", ""}, "a100-sxm-80gb"},
    Wording{{"nvidia h100", ""}, "h100-sxm-80gb"},
    Wording{{"v100-pcie", ""}, "v100-pcie-16gb"},
    Wording{{"v100", ""}, "v100-sxm2-32gb"},
    Wording{{"b200", ""}, "b200-sxm-180gb"},
    Wording{{"b300", ""}, "b300-sxm-270gb"},
};

/// Whether a text has a word: "a40" is none of "a4000".
bool names_word(std::string_view text, std::string_view word) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (word.empty() || end == text.size() || !is_digit(word.back()) || !is_digit(text[end])) return true;
  }
  return false;
}

}  // namespace

std::string mlperf_accelerator(std::string_view text) {
  if (std::string id = accelerator_of(text); is_accelerator(id)) return id;
  const std::string lower = lower_case(text);
  for (const Wording& wording : kWordings)
    if (std::all_of(wording.words.begin(), wording.words.end(),
                    [&](std::string_view word) { return names_word(lower, word); }))
      return std::string(wording.id);
  return "";
}

}  // namespace stepcast
