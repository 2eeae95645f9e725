#include "calibration/importers/onnx/program/einsum_sizes.hpp"

#include <algorithm>
#include <map>

namespace stepcast::onnx_graph {

namespace {

/// The size of each letter of the operands, which commas part; null where an operand has other sizes.
std::optional<std::map<char, std::int64_t>> letters_of(const std::string& operands,
                                                       const std::vector<std::vector<std::int64_t>>& inputs) {
  std::map<char, std::int64_t> letters;
  std::size_t operand = 0, axis = 0;
  for (const char letter : operands + ",") {
    if (operand >= inputs.size()) return {};
    const std::vector<std::int64_t>& sizes = inputs[operand];
    if (letter == ',') {
      if (axis != sizes.size()) return {};
      ++operand;
      axis = 0;
      continue;
    }
    if (axis >= sizes.size()) return {};
    const std::int64_t size = sizes[axis++];
    std::int64_t& known = letters.try_emplace(letter, size).first->second;
    if (known != size && known != 1 && size != 1) return {};
    known = std::max(known, size);
  }
  return operand == inputs.size() ? std::optional(letters) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int64_t>> einsum_sizes(const std::string& equation,
                                                      const std::vector<std::vector<std::int64_t>>& inputs) {
  std::string text = equation;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  if (text.find('.') != std::string::npos) return {};
  const std::size_t arrow = text.find("->");
  const std::string operands = text.substr(0, arrow);
  const auto letters = letters_of(operands, inputs);
  if (!letters) return {};
  std::string result = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  if (arrow == std::string::npos)
    for (const auto& [letter, size] : *letters)
      if (std::count(operands.begin(), operands.end(), letter) == 1) result += letter;
  std::vector<std::int64_t> sizes;
  for (const char letter : result) {
    const auto at = letters->find(letter);
    if (at == letters->end()) return {};
    sizes.push_back(at->second);
  }
  return sizes;
}

}  // namespace stepcast::onnx_graph
