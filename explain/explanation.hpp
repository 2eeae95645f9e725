#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/prediction.hpp"
#include "report/step_detail.hpp"

namespace stepcast {

/// What a figure 10 % better (a rate 10 % higher, a time 10 % shorter) brings, everything else unchanged.
struct FigureEffect {
  std::string name, words, value;
  bool rate = true;
  double throughput = 0;       ///< share: 0.031 is 3.1 % more samples a second
  std::optional<double> cost;  ///< share of the cost of a sample, at unchanged prices; negative is cheaper
  double elasticity = 0;       ///< d ln throughput / d ln figure; of a time, for its inverse
};

/// What a change of settings brings.
struct SettingEffect {
  std::string change;
  std::vector<std::string> words;  ///< as `--set` takes them
  bool legal = false;
  bool one_more_nic = false;  ///< it is just that
  bool evens_nodes = false;   ///< it makes nodes alike that are not
  std::string refusal;        ///< when it is not
  /// Samples to a target may grow, which throughput does not show (may_need_more_samples).
  bool more_samples = false;
  double throughput = 0;  ///< share, as FigureEffect's
  std::optional<double> cost;
  bool fits = true;
  Bytes peak, capacity;  ///< memory of the fullest device, and what it has
};

/// Why a step takes as long as it does, and what would change it.
struct Explanation {
  Prediction prediction;
  std::vector<PathPart> critical_path;  ///< longest first; adds up to the step
  Seconds closed_form;                  ///< step by the closed form, which the effects rest on
  std::vector<FigureEffect> figures;    ///< by effect, largest first
  std::vector<SettingEffect> settings;  ///< legal ones by effect, then those that are not
  std::vector<std::string> words;       ///< the bottleneck, in sentences
};

/// By how much figures are changed.
inline constexpr double kFigureStep = 0.1;

/// Explains a predicted scenario. `document` is what it was resolved from, `file` its name for faults. Throws
/// InputError when the scenario is faulty; changes that are not legal are results.
Explanation explain(const Json& document, const std::string& file, const Prediction& prediction,
                    const StepDetail& detail, const Catalog& catalog);

/// At most 100 columns.
std::string text_report(const Explanation& explanation);
Json to_json(const Explanation& explanation);

}  // namespace stepcast
