#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "calibration/importers/python_json.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/validation/csv_table.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"
#include "fields/dotted_path.hpp"

namespace stepcast {

namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

/// Words beside figures are ordinary, a run's name or a date: what holds no number at all is no series.
void drop_words(NamedSeries& series) {
  std::erase_if(series, [](const auto& one) {
    for (const std::vector<double>& part : one.second)
      for (const double sample : part)
        if (!std::isnan(sample)) return false;
    return true;
  });
}

/// Numbers below a value, under the keys that lead to them, joined by dots: `{"memory": {"peak_GiB": 60}}`.
void collect(const Json& value, const std::string& name, int depth, NamedSeries& out) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest) return;
  if (value.is_number()) {
    add_sample(out, name, value.get<double>());
  } else if (value.is_null() || value.is_string()) {
    add_sample(out, name, kNoNumber);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) collect(inner, dotted_path(name, key), depth + 1, out);
  } else if (value.is_array()) {
    for (const Json& inner : value) collect(inner, name, depth + 1, out);
  }
}

}  // namespace

NamedSeries read_csv_series(const std::filesystem::path& file, Diagnostics& diagnostics) {
  NamedSeries out;
  try {
    const CsvTable table = read_csv(file);
    for (std::size_t column = 0; column < table.header.size(); ++column)
      for (const auto& row : table.rows)
        add_sample(out, std::string(trimmed(table.header[column].text)),
                   figure_of(trimmed(row[column].text)).value_or(kNoNumber));
    drop_words(out);
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
  }
  return out;
}

NamedSeries read_json_series(const Json& document, Diagnostics& diagnostics) {
  NamedSeries out;
  if (!document.is_object() && !document.is_array())
    diagnostics.error("", fmt::format("found {}, expected an object or an array of them", describe(document)));
  collect(document, "", 0, out);
  drop_words(out);
  return out;
}

NamedSeries read_json_lines(std::string_view text, std::vector<std::string>& notes, Diagnostics& diagnostics) {
  NamedSeries out;
  const std::vector<std::string_view> lines = lines_of(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    Diagnostics syntax("");
    const Json document = parse_json(without_infinities(std::string(lines[i])), syntax);
    if (syntax.ok() && document.is_object()) {
      collect(document, "", 0, out);
      continue;
    }
    if (i > 0 && i + 1 == lines.size()) {
      notes.emplace_back("the last line is cut and does not count");
      break;
    }
    diagnostics.error("", fmt::format("line {}: is no JSON object", i + 1));
    return {};
  }
  drop_words(out);
  return out;
}

/// What the server says of a query that failed (Prometheus HTTP API: errorType and error).
std::string error_of(const Json& document) {
  std::string out;
  for (const char* key : {"errorType", "error"})
    if (const auto text = document.find(key); text != document.end() && text->is_string())
      out += (out.empty() ? "" : ": ") + text->get<std::string>();
  return out;
}

NamedSeries read_prometheus(const Json& document, Diagnostics& diagnostics) {
  NamedSeries out;
  if (const std::string error = error_of(document); document.value("status", Json()) == "error" && !error.empty()) {
    diagnostics.error("", fmt::format("Prometheus answered with an error: {}", error),
                      "correct the query and ask again");
    return out;
  }
  const auto data = document.find("data");
  const Json type = data != document.end() && data->is_object() ? data->value("resultType", Json()) : Json();
  if (document.value("status", Json()) != "success" || type != "matrix" || !data->contains("result") ||
      !data->at("result").is_array()) {
    diagnostics.error("/data", "is no successful answer to a range query",
                      "ask /api/v1/query_range, which answers with resultType \"matrix\"");
    return out;
  }
  const Json& result = data->at("result");
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::string at = fmt::format("/data/result/{}", i);
    if (!result[i].is_object() || !result[i].value("metric", Json()).is_object() ||
        !result[i].value("values", Json()).is_array()) {
      diagnostics.error(at, "expected an object with \"metric\" and \"values\"");
      continue;
    }
    // An expression's result has no name: it is what the query computed.
    const Json& labels = result[i].at("metric");
    const Json name = labels.value("__name__", Json("value"));
    if (!name.is_string()) continue;
    // Each set of labels, as a rank's, is a series of its own that warms up by itself.
    std::vector<double>& samples = out[name.get<std::string>()].emplace_back();
    for (const Json& sample : result[i].at("values"))
      if (sample.is_array() && sample.size() == 2 && sample[1].is_string())
        samples.push_back(figure_of(trimmed(sample[1].get_ref<const std::string&>())).value_or(kNoNumber));
  }
  return out;
}

NamedSeries read_mlflow(const std::filesystem::path& run, Diagnostics& diagnostics) {
  namespace fs = std::filesystem;
  NamedSeries out;
  const fs::path folder = run / "metrics";
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->is_regular_file()) continue;
    Diagnostics reading(entry->path().string());
    const std::string text = read_description(entry->path(), reading);
    diagnostics.add(reading.faults());
    // A line a sample: time in milliseconds, value, step (mlflow/store/tracking/file_store.py).
    std::vector<double>& values = out[entry->path().lexically_relative(folder).generic_string()].emplace_back();
    for (const std::string_view line : lines_of(text)) {
      const std::vector<std::string_view> words = words_of(line);
      if (words.size() < 2) continue;
      values.push_back(figure_of(trimmed(words[1])).value_or(kNoNumber));
    }
  }
  if (error) diagnostics.error("", fmt::format("metrics/ cannot be read: {}", error.message()));
  return out;
}

}  // namespace stepcast
