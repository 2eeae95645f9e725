#include "explain/trace_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/bottleneck_words.hpp"
#include "explain/text_layout.hpp"
#include "models/parallelism/job.hpp"
#include "report/html/charts.hpp"
#include "report/html/page.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

/// Operators of one layer by kind.
void add(std::array<double, 3>& sums, const Segment& segment, double times) {
  for (const Piece& piece : segment.pieces) {
    if (piece.communication || piece.wait != Wait::none) continue;
    const std::size_t kind = piece.kind == OperatorKind::memory ? 2 : (piece.kind == OperatorKind::attention ? 1 : 0);
    sums[kind] += piece.duration.value() * times;
  }
}

Seconds of(const std::array<double, kStepCategories>& times, StepCategory category) {
  return Seconds(times[static_cast<std::size_t>(category)]);
}

std::array<double, kStepCategories> predicted_categories(const Prediction& p, const ComputeShares& shares) {
  std::array<double, kStepCategories> out{};
  const auto at = [&out](StepCategory category) -> double& { return out[static_cast<std::size_t>(category)]; };
  const auto storage = p.communication.by_kind.find("storage");
  const Seconds loading = storage == p.communication.by_kind.end() ? Seconds(0) : storage->second.exposed;
  at(StepCategory::gemm) = p.compute.value() * shares.gemm;
  at(StepCategory::attention) = p.compute.value() * shares.attention;
  at(StepCategory::memory) = p.compute.value() * shares.memory + p.optimizer.value();
  at(StepCategory::communication) = (p.communication.exposed - loading).value();
  at(StepCategory::host) = p.overhead.value();
  double named = 0;
  for (const double time : out) named += time;
  // Bubble, waits for slower ranks, and input that is not there yet.
  const double rest = p.step_time.value() - named;
  at(StepCategory::waiting) = std::abs(rest) < 1e-9 * p.step_time.value() ? 0 : rest;
  return out;
}

std::vector<std::string> words_of(const TraceComparison& c) {
  const Seconds gap = c.traced - c.predicted;
  std::vector<std::string> out{fmt::format("The traced step took {}, {} {} than predicted ({}, {}).", humane(c.traced),
                                           humane(gap < Seconds(0) ? -gap : gap), gap < Seconds(0) ? "less" : "more",
                                           humane(c.predicted), signed_percent(gap / c.predicted))};
  std::vector<const CategoryGap*> sorted;
  for (const CategoryGap& category : c.categories) sorted.push_back(&category);
  std::stable_sort(sorted.begin(), sorted.end(), [](const CategoryGap* a, const CategoryGap* b) {
    return std::abs(a->gap().value()) > std::abs(b->gap().value());
  });
  std::string why;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, sorted.size()); ++i)
    if (std::abs(sorted[i]->gap() / c.traced) > 0.001)
      why += fmt::format("{}{} {}", why.empty() ? "Most of the gap is " : ", then ", sorted[i]->category,
                         signed_time(sorted[i]->gap()));
  if (!why.empty()) out.push_back(why + ".");
  return out;
}

}  // namespace

ComputeShares compute_shares(const Scenario& scenario) {
  const Job job = lower(scenario);
  std::array<double, 3> sums{};
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      for (const Segment* segment : {&layer.forward, &layer.backward_input, &layer.backward_weight})
        add(sums, *segment, 1);
    }
  const double all = sums[0] + sums[1] + sums[2];
  if (all <= 0) return {};
  return {sums[0] / all, sums[1] / all, sums[2] / all};
}

TraceComparison compare_with_trace(const std::string& name, const Prediction& prediction,
                                   const std::optional<ComputeShares>& shares, const KinetoTrace& trace,
                                   const TracedStep& step) {
  TraceComparison out{name, trace.file, step.name, trace.device, prediction.step_time, Seconds(step.length()), {}, {}};
  const auto predicted = predicted_categories(prediction, shares.value_or(ComputeShares{}));
  const auto traced = categories_of(trace, step);
  for (std::size_t i = 0; i < kStepCategories; ++i) {
    const auto category = static_cast<StepCategory>(i);
    out.categories.push_back({name_of_category(category), of(predicted, category), of(traced, category)});
  }
  if (!shares) {
    CategoryGap all{"computation", Seconds(0), Seconds(0)};
    for (std::size_t i = 0; i < 3; ++i) {
      all.predicted += out.categories[i].predicted;
      all.traced += out.categories[i].traced;
    }
    out.categories.erase(out.categories.begin(), out.categories.begin() + 3);
    out.categories.insert(out.categories.begin(), all);
  }
  out.words = words_of(out);
  return out;
}

std::string text_report(const TraceComparison& c) {
  std::string out = fmt::format("predicted  {}\ntraced     {}, {}{}\n", c.prediction, c.trace, c.step,
                                c.device.empty() ? "" : " on " + c.device);
  out += rule();
  for (const std::string& sentence : c.words) out += wrapped_sentence(sentence);
  out += fmt::format("\n  {}{}{}{}{}\n", pad_right("", 26), pad_left("predicted", 14), pad_left("traced", 14),
                     pad_left("gap", 14), pad_left("of the trace", 15));
  const auto row = [&](const std::string& what, Seconds predicted, Seconds traced) {
    out += fmt::format("  {}{}{}{}{}\n", pad_right(what, 26), pad_left(humane(predicted), 14),
                       pad_left(humane(traced), 14), pad_left(signed_time(traced - predicted), 14),
                       pad_left(percent(traced / c.traced), 15));
  };
  for (const CategoryGap& category : c.categories) row(category.category, category.predicted, category.traced);
  row("step", c.predicted, c.traced);
  return out;
}

Json to_json(const TraceComparison& c) {
  Json categories = Json::array();
  for (const CategoryGap& category : c.categories)
    categories.push_back({{"category", category.category},
                          {"predicted_s", category.predicted.value()},
                          {"traced_s", category.traced.value()},
                          {"gap_s", category.gap().value()}});
  return {{"prediction", c.prediction},
          {"trace", c.trace},
          {"step", c.step},
          {"device", c.device},
          {"predicted_s", c.predicted.value()},
          {"traced_s", c.traced.value()},
          {"gap_s", (c.traced - c.predicted).value()},
          {"words", c.words},
          {"categories", std::move(categories)}};
}

std::string html_report(const TraceComparison& c, const std::string& command) {
  std::vector<ChangeBar> bars;
  HtmlTable table{{"", "predicted", "traced", "gap"}, {}};
  for (const CategoryGap& category : c.categories) {
    bars.push_back({category.category, category.gap().value(), signed_time(category.gap())});
    table.rows.push_back(
        {category.category, humane(category.predicted), humane(category.traced), signed_time(category.gap())});
  }
  table.rows.push_back({"step", humane(c.predicted), humane(c.traced), signed_time(c.traced - c.predicted)});
  HtmlPage page{"Stepcast: predicted against traced", {}};
  page.body = "<h1>Predicted against traced</h1><p class=\"sub\">" + escaped_markup(c.prediction) + " against " +
              escaped_markup(c.step) + " of " + escaped_markup(c.trace) + "</p>";
  for (const std::string& sentence : c.words) page.body += "<p class=\"lead\">" + escaped_markup(sentence) + "</p>";
  page.body += html_section("Where the gap lies", change_bars_svg("Gap by category", bars) + html_table(table)) +
               html_section("Command", "<pre>" + escaped_markup(command) + "</pre>");
  return html_document(page);
}

}  // namespace stepcast
