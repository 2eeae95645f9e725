#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "calibration/importers/text_file.hpp"
#include "calibration/validation/csv_table.hpp"
#include "sweeps/points.hpp"
#include "sweeps/values.hpp"

namespace stepcast {

namespace {

SweepAxis from_csv(const std::filesystem::path& file, Diagnostics& diagnostics) {
  SweepAxis out;
  try {
    const CsvTable table = read_csv(file);
    for (const CsvField& field : table.header) out.paths.emplace_back(trimmed(field.text));
    for (const auto& fields : table.rows) {
      std::vector<Json>& row = out.rows.emplace_back();
      for (const CsvField& field : fields) row.push_back(parse_value(field.text));
    }
  } catch (const InputError& error) {
    diagnostics.add(error.faults());
  }
  return out;
}

/// A message about one line alone, which counts from 1, as one about the file.
std::string at_line(std::size_t number, const std::string& message) {
  constexpr std::string_view kFirst = "line 1, ";
  if (message.starts_with(kFirst)) return fmt::format("line {}, {}", number, message.substr(kFirst.size()));
  return fmt::format("line {}: {}", number, message);
}

/// The objects of a file: one array, or one a line.
std::vector<Json> objects_of(const std::filesystem::path& file, Diagnostics& diagnostics) {
  std::vector<Json> out;
  const std::string text = read_description(file, diagnostics, kMostJsonBytes);
  if (!diagnostics.ok()) return out;
  if (file.extension() == ".json") {
    const Json document = parse_json(text, diagnostics);
    if (diagnostics.ok() && !document.is_array())
      diagnostics.error("", fmt::format("found {}, expected an array of objects", describe(document)));
    if (diagnostics.ok()) out.assign(document.begin(), document.end());
    return out;
  }
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (trimmed(line).empty()) continue;
    Diagnostics of_line(diagnostics.file());
    out.push_back(parse_json(line, of_line));
    for (const Fault& fault : of_line.faults())
      diagnostics.error(fault.pointer, at_line(number, fault.message), fault.suggestion);
  }
  return out;
}

SweepAxis from_objects(const std::vector<Json>& objects, Diagnostics& diagnostics) {
  SweepAxis out;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const std::string at = fmt::format("/{}", i);
    if (!objects[i].is_object()) {
      diagnostics.error(at, fmt::format("found {}, expected an object from path to value", describe(objects[i])));
      continue;
    }
    if (out.paths.empty())
      for (const auto& [path, value] : objects[i].items()) out.paths.push_back(path);
    std::vector<Json>& row = out.rows.emplace_back();
    for (const std::string& path : out.paths) {
      if (!objects[i].contains(path)) diagnostics.error(at, fmt::format("lacks \"{}\", which the first has", path));
      row.push_back(objects[i].value(path, Json()));
    }
    if (objects[i].size() > out.paths.size()) diagnostics.error(at, "has a path that the first has not");
  }
  return out;
}

/// What is given twice would be predicted, and counted, twice, as in a list of --set.
void refuse_repetitions(const SweepAxis& axis, Diagnostics& diagnostics) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < axis.rows.size(); ++i) {
    std::string row;
    for (const Json& value : axis.rows[i]) row += canonical_text(value) + '\n';
    const auto [first, fresh] = known.emplace(std::move(row), i);
    if (!fresh)
      diagnostics.error("", fmt::format("combination {} is that of {} once more", i + 1, first->second + 1),
                        "leave one of them out");
  }
}

}  // namespace

SweepAxis read_value_table(const std::filesystem::path& file, Diagnostics& diagnostics) {
  const bool json = file.extension() == ".json" || file.extension() == ".jsonl";
  SweepAxis out;
  if (json) {
    const std::vector<Json> objects = objects_of(file, diagnostics);
    if (diagnostics.ok()) out = from_objects(objects, diagnostics);
  } else {
    out = from_csv(file, diagnostics);
  }
  if (diagnostics.ok() && (out.rows.empty() || out.paths.empty())) diagnostics.error("", "holds no row of values");
  if (diagnostics.ok()) refuse_repetitions(out, diagnostics);
  if (out.rows.size() > kMostValues) diagnostics.error("", fmt::format("more than {} rows", kMostValues));
  return out;
}

}  // namespace stepcast
