#include "calibration/importers/models/optimizer_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// In what is called `called`, in lower case, one finds `word`; LAMB and the other kinds of Adam keep what Adam does.
struct OptimizerWord {
  std::string_view word, optimizer;
};
constexpr std::array kWords{
    OptimizerWord{"adafactor", "adafactor"}, OptimizerWord{"lion", "lion"}, OptimizerWord{"sgd", "sgd"},
    OptimizerWord{"momentum", "sgd"},        OptimizerWord{"adam", "adam"}, OptimizerWord{"lamb", "adam"}};

}  // namespace

void take_optimizer(Json& strategy, const std::string& name, std::vector<std::string>& notes) {
  if (name.empty()) return;
  const std::string low = lower_case(name);
  const auto found = std::find_if(kWords.begin(), kWords.end(),
                                  [&](const OptimizerWord& one) { return low.find(one.word) != std::string::npos; });
  const bool eight_bit = low.find("8bit") != std::string::npos || low.find("8-bit") != std::string::npos;
  if (found == kWords.end() || (eight_bit && found->optimizer != "adam")) {
    notes.push_back(fmt::format("optimizer {}: its states and update are taken to be Adam's", shown(name)));
  } else if (eight_bit) {
    strategy["optimizer"] = "adam-8bit";
  } else if (found->optimizer != "adam") {
    strategy["optimizer"] = found->optimizer;
  }
}

}  // namespace stepcast
