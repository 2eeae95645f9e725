#include "calibration/fit/training/errors_writer.hpp"

#include <cmath>
#include <fstream>
#include <regex>
#include <set>
#include <tuple>

#include "calibration/validation/statistics.hpp"
#include "models/frameworks/prediction_errors.hpp"

namespace stepcast {

namespace {

constexpr double kCovered = 0.8;

/// Error in per cent that the covered share of some points stays below.
double error_80(const std::vector<std::size_t>& points, const std::vector<double>& logs) {
  std::vector<double> errors;
  errors.reserve(points.size());
  for (const std::size_t i : points) errors.push_back(100 * std::expm1(std::abs(logs[i])));
  return std::round(*quantile(errors, kCovered) * 10) / 10;
}

/// What other fits have written.
PredictionErrors shipped_errors(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return {};
  return read_prediction_errors(file);
}

using Pair = std::tuple<std::string, WorkloadKind>;
using Triple = std::tuple<std::string, WorkloadKind, std::string>;

FitErrors errors_of_fit(const std::vector<TrainingPoint>& points, const LeftOutLogs& logs) {
  std::map<Pair, std::vector<std::size_t>> pairs;
  std::map<Triple, std::vector<std::size_t>> triples;
  std::map<Pair, std::set<std::string>> accelerators;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Pair pair{points[i].framework->id, workload_kind(*points[i].scenario->model)};
    pairs[pair].push_back(i);
    triples[std::tuple_cat(pair, std::tuple(points[i].accelerator))].push_back(i);
    accelerators[pair].insert(points[i].accelerator);
  }
  FitErrors out;
  for (const auto& [pair, of_it] : pairs) {
    FrameworkErrors& one = out.frameworks.emplace_back();
    std::tie(one.framework, one.kind) = pair;
    one.runs = static_cast<double>(of_it.size());
    if (accelerators[pair].size() > 1) one.other_accelerator = error_80(of_it, logs.accelerators);
    one.unfitted = error_80(of_it, logs.frameworks);
  }
  for (const auto& [triple, of_it] : triples) {
    RunErrors& one = out.runs.emplace_back();
    std::tie(one.framework, one.kind, one.accelerator) = triple;
    one.runs = static_cast<double>(of_it.size());
    one.own_model = error_80(of_it, logs.models);
    one.unfitted = error_80(of_it, logs.frameworks);
  }
  return out;
}

/// Each row of the file on a line of its own.
std::string by_line(const std::string& text) {
  static const std::regex kRow(R"(\n *\{\n([^{}\[\]]*)\n *\})");
  std::string out;
  auto from = text.begin();
  for (std::sregex_iterator row(text.begin(), text.end(), kRow), end; row != end; ++row) {
    out.append(from, text.begin() + row->position());
    out += "\n   {" + std::regex_replace((*row)[1].str(), std::regex(R"(\n? +(?="))"), " ").substr(1) + "}";
    from = text.begin() + row->position() + row->length();
  }
  return out.append(from, text.end());
}

}  // namespace

void write_prediction_errors(const std::vector<TrainingPoint>& points, const LeftOutLogs& logs, const std::string& list,
                             const std::string& source, const std::filesystem::path& tree) {
  const auto file = tree / "models/frameworks/prediction-errors.json";
  PredictionErrors out = shipped_errors(file);
  FitErrors fit = errors_of_fit(points, logs);
  fit.source = source;
  out.fits[list] = std::move(fit);
  for (const TrainingPoint& point : points)
    out.accelerator_families[point.accelerator] = point.scenario->accelerator->family;
  std::ofstream(file) << by_line(PredictionErrors::fields().write(out).dump(1)) << "\n";
}

}  // namespace stepcast
