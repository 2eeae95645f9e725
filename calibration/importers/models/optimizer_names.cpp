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
/// Those of Muon that keep second moments, too, are not described.
struct OptimizerWord {
  std::string_view word, optimizer;
};
constexpr std::array kWords{OptimizerWord{"adaptive_muon", ""},
                            OptimizerWord{"adamuon", ""},
                            OptimizerWord{"muon", "muon"},
                            OptimizerWord{"lion", "lion"},
                            OptimizerWord{"adafactor", "adafactor"},
                            OptimizerWord{"sgd", "sgd"},
                            OptimizerWord{"momentum", "sgd"},
                            OptimizerWord{"adam", "adam"},
                            OptimizerWord{"lamb", "adam"}};

/// Whether no device has whole matrices: shards of a configuration cut gradients or parameters (optimizer_rules.cpp).
bool cuts_matrices(const Json& strategy) {
  const std::string sharding = strategy.value("sharding", "none");
  return sharding != "none" && sharding != "zero-1";
}

}  // namespace

void take_optimizer(Json& strategy, const std::string& name, std::vector<std::string>& notes) {
  if (name.empty()) return;
  const std::string low = lower_case(name);
  const auto found =
      std::find_if(kWords.begin(), kWords.end(), [&](const OptimizerWord& one) { return contains(low, one.word); });
  const bool eight_bit = contains(low, "8bit") || contains(low, "8-bit");
  const bool described = found != kWords.end() && !found->optimizer.empty();
  if (!described || (eight_bit && found->optimizer != "adam")) {
    notes.push_back(fmt::format("optimizer {}: its states and update are taken to be Adam's", shown(name)));
  } else if (found->optimizer == "muon" && cuts_matrices(strategy)) {
    notes.push_back(fmt::format("optimizer {} beside sharding {}: its states and update are taken to be Adam's",
                                shown(name), strategy.value("sharding", "")));
  } else if (eight_bit) {
    set_optimizer(strategy, "adam-8bit", notes);
  } else if (found->optimizer != "adam") {
    set_optimizer(strategy, found->optimizer, notes);
  }
}

void set_optimizer(Json& strategy, std::string_view optimizer, std::vector<std::string>& notes) {
  if (strategy.value("offload_optimizer", false))
    notes.push_back(fmt::format("optimizer {} in host memory: processors are forecast to update by Adam", optimizer));
  else
    strategy["optimizer"] = optimizer;
}

}  // namespace stepcast
