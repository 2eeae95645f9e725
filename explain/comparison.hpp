#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/prediction.hpp"
#include "report/step_detail.hpp"

namespace stepcast {

/// One side of a comparison.
struct ComparedStep {
  std::string name;  ///< as the user named it
  Prediction prediction;
  std::optional<StepDetail> detail;  ///< of a scenario, not of a stored prediction
  Json settings;               ///< what it was predicted from: every key of the scenario, or what a prediction says
  bool holds_settings = true;  ///< predictions that older versions have stored do not
};

/// A key whose value differs, and what the change does by itself.
struct ChangedKey {
  std::string key;               ///< "strategy.micro_batch"
  std::string before, after;     ///< as JSON; empty: not there
  std::optional<Seconds> alone;  ///< change of the closed form's step when A takes this value of B and nothing else
  std::string refusal;           ///< why A cannot take it by itself
};

/// Time of one cause on both sides.
struct PartDifference {
  std::string part;
  Seconds before, after;  ///< of one step
  [[nodiscard]] Seconds change() const { return after - before; }
};

/// A headline figure on both sides; nothing where a side has none.
struct FigureDifference {
  std::string name, unit;
  std::optional<double> before, after;
};

/// What differs between two predicted steps, and why.
struct Comparison {
  std::string before, after;
  Seconds step_before, step_after;
  std::vector<ChangedKey> keys;
  std::vector<PartDifference> parts;  ///< of the mean device; changes add up to that of the step
  std::vector<PartDifference> path;   ///< along the critical paths; adds up too. Empty when a side has none
  std::vector<FigureDifference> figures;
  std::vector<std::string> do_not_fit;        ///< sides that do not fit memory, in words
  std::vector<std::string> without_settings;  ///< sides that do not say what they were predicted from, in words
  std::vector<std::string> words;
};

/// Compares two sides. Causes are sorted by the size of their change, the largest first.
Comparison compare(const ComparedStep& before, const ComparedStep& after);

/// Keys whose values differ in two documents, by dotted path.
std::vector<ChangedKey> changed_keys(const Json& before, const Json& after);
/// Fills in what each key does alone, by the closed form. `before`: A's scenario with every key spelt out.
void find_effects_alone(std::vector<ChangedKey>& keys, const Json& before, const Json& after, const Catalog& catalog);

/// Puts the comparison into words; the last step, once the effects of keys are known.
void finish(Comparison& comparison);

std::string text_report(const Comparison& comparison);
Json to_json(const Comparison& comparison);
/// One self-contained page; `command` is what was typed.
std::string html_report(const Comparison& comparison, const std::string& command);

}  // namespace stepcast
