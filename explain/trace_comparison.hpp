#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "calibration/importers/kineto/kineto_step.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// How a device's computation divides over kinds of operators; shares that add up to one.
struct ComputeShares {
  double gemm = 1, attention = 0, memory = 0;
};
/// By the closed form, mean over pipeline stages.
ComputeShares compute_shares(const Scenario& scenario);

/// Time of one category as predicted and as traced.
struct CategoryGap {
  std::string category;
  Seconds predicted, traced;
  [[nodiscard]] Seconds gap() const { return traced - predicted; }
};

/// A prediction beside the trace of a real step.
struct TraceComparison {
  std::string prediction, trace, step, device;
  Seconds predicted, traced;
  std::vector<CategoryGap> categories;  ///< gaps add up to that of the step
  std::vector<std::string> words;
};

/// Compares. Without shares (a stored prediction does not say) the three kinds of computation are one category,
/// "computation".
TraceComparison compare_with_trace(const std::string& name, const Prediction& prediction,
                                   const std::optional<ComputeShares>& shares, const KinetoTrace& trace,
                                   const TracedStep& step);

std::string text_report(const TraceComparison& comparison);
Json to_json(const TraceComparison& comparison);
std::string html_report(const TraceComparison& comparison, const std::string& command);

}  // namespace stepcast
