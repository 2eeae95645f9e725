#include "calibration/validation/report/accuracy_page.hpp"

#include <fmt/format.h>

#include "calibration/validation/report/markdown_tables.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kIntroduction =
    "# Accuracy\n\n"
    "What `stepcast validate` finds on the measured runs, operators and collectives that come with Stepcast\n"
    "([sets and sources](../calibration/data/README.md), [how to read the figures](guide/validate.md)). `stepcast "
    "validate --markdown`\nwrites this page, `scripts/docs-update.sh` keeps it up to date, and the test suite fails "
    "when "
    "a set's mean error grows by more\nthan half a point over `calibration/accuracy/recorded.json`.\n\n"
    "Errors are in % of what was measured; a bias above 0 is predicted too slow. τ is Kendall's rank correlation of "
    "all "
    "rows, τ within\nits mean over groups of equal model, batch and number of GPUs. Predictions are the closed "
    "form's.\n";

std::string section(std::string_view title, std::string_view introduction, const std::string& body) {
  return fmt::format("\n## {}\n\n{}{}{}", title, introduction, introduction.empty() ? "" : "\n\n", body);
}

}  // namespace

std::string accuracy_page(const ValidationScores& scores, const AccuracyNotes& notes) {
  std::string out(kIntroduction);
  out += section("Sets", "", markdown_sets(scores));
  out += section("Training runs by accelerator",
                 "Rows that their source doubts are left out, and accelerators of which no row is covered.",
                 markdown_accelerators(scores.total));
  out += section("How often the interval held",
                 "Covered rows that no source doubts, and how many of them measured within the 80 % interval of their "
                 "own prediction, by its\ngrade ([what grades rest on](models/training-fit.md)). Rows of the fits are "
                 "predicted by constants that saw them.",
                 markdown_intervals(scores.runs));
  out += section("Peak memory",
                 "What sources count differs: what the framework's allocator has handed out, what it has reserved for "
                 "that (torchtitan), or\nwhat the device says is in use (Megatron-DeepSpeed). A bias above 0 is "
                 "predicted too much.",
                 markdown_memory(scores.runs));
  out += section("Which configuration is fastest?",
                 "Groups of one model, machine, number of GPUs and batch with four configurations or more. Regret: how "
                 "much slower the\nconfiguration that the model ranks first measured than the best measured one.",
                 markdown_ranking(scores.runs));
  out += section("What more devices gain, by framework",
                 "Groups of rows that differ in their number of devices only. Gain: error in % of throughput over that "
                 "at the smallest number. Efficiency:\nthe gain over the gain in devices, in %; its error in points.",
                 markdown_scaling(scores.runs));
  out += section(
      "Where the model is weak", notes.weak_points,
      "The groups of three rows or more with the largest mean errors:\n\n" + markdown_worst_groups(scores.runs));
  out += section("Runs that no fit has read",
                 "`calibration/never-fit.txt` names them; a test shows that the programs that fit constants leave them "
                 "out.",
                 markdown_never_fit(scores.runs));
  out += section("What a model must explain",
                 "Observations on published runs. Both columns are computed over the rows that "
                 "`calibration/observations.json` selects;\n× marks ratios.",
                 markdown_observations(notes.observations));
  out +=
      section("Rows that their source doubts", "They are predicted, and count apart.", markdown_doubted(scores.runs));
  out += section("Rows that are not covered", "", markdown_not_covered(scores));
  out += section("Operators", "", markdown_operators(scores.operators));
  out += section("Operators left out",
                 "Mean error in % on whole families of shapes left out of the fit by turns: products by (n, k), "
                 "attention by heads and their\nsize, streaming kernels by columns (`stepcast-fit-operators`, the "
                 "profiles' `fit.error_percent`).",
                 markdown_operators_left_out(notes.operators));
  out += section("Operators of accelerators that nobody timed",
                 "Mean error in % of times when an accelerator is predicted without the measurements of its family: as "
                 "a sibling by the rules of\n[operators.md](models/operators.md), and from what steps use alone. Rows "
                 "with a kernel: that kernel of attention alone is left out,\nwith its other formats.",
                 markdown_new_accelerators(notes.left_out));
  out += section("Collectives", notes.collectives,
                 "Mean / median error in % by size, as validated:\n\n" + markdown_collectives(scores.collectives) +
                     "\nBy accelerator, all sizes and operations:\n\n" +
                     markdown_collective_accelerators(scores.collectives));
  out += section("Errors that grew",
                 "Every growth of a set's mean error by more than half a point, and why it was accepted.",
                 markdown_grown(notes.grown_errors));
  return out;
}

}  // namespace stepcast
