#include "calibration/importers/measured/power_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/power_exposition.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t first = std::min(line.find_first_not_of(separator == '\t' ? " " : " \t", at), line.size());
    std::string quoted;
    if (first < line.size() && line[first] == '"') {
      at = first + 1;
      for (; at < line.size(); ++at) {
        if (line[at] == '"' && !line.substr(at + 1).starts_with('"')) break;
        if (line[at] == '"') ++at;
        quoted += line[at];
      }
      const std::size_t end = std::min(line.find(separator, at), line.size());
      out.emplace_back(trimmed(quoted));
      at = end + 1;
      continue;
    }
    const std::size_t end = std::min(line.find(separator, at), line.size());
    out.emplace_back(trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

namespace {

/// A table's header: what each column holds, and which of several columns of power is read.
class Header {
 public:
  Header(const std::vector<std::string>& cells, ResultsBuilder& results) {
    const auto none = cells.size();
    std::size_t best = none, best_rank = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const KnownColumn known = column_of(cells[i]);
      columns_.push_back(known.column);
      units_.push_back(known.unit);
      if (known.column != PowerColumn::watts) continue;
      if (best != none) several_ = true;
      if (best == none || known.rank < best_rank) best = i, best_rank = known.rank;
    }
    has_power_ = best != none;
    if (!several_) return;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == PowerColumn::watts && i != best) columns_[i] = PowerColumn::other;
    results.warn(fmt::format("of several columns of power {} was read", cells[best]));
  }

  [[nodiscard]] const std::string& unit(std::size_t i) const { return units_[i]; }
  [[nodiscard]] bool has_power() const { return has_power_; }
  [[nodiscard]] std::size_t size() const { return columns_.size(); }
  [[nodiscard]] PowerColumn operator[](std::size_t i) const { return columns_[i]; }
  [[nodiscard]] bool has(PowerColumn column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

 private:
  std::vector<PowerColumn> columns_;
  std::vector<std::string> units_;
  bool has_power_ = false, several_ = false;
};

/// GPUs by their UUID or PCI address, numbered as they come: nvidia-smi lists them in the order of their index.
class Identities {
 public:
  explicit Identities(ResultsBuilder& results) : results_(results) {}

  std::string device(const std::string& identity) {
    const auto found = std::find(seen_.begin(), seen_.end(), identity);
    std::string name = fmt::format("gpu{}", found - seen_.begin());
    if (found == seen_.end()) {
      seen_.push_back(identity);
      results_.warn(fmt::format("no column of indices: {} is taken as {}", identity, name));
    }
    return name;
  }

 private:
  ResultsBuilder& results_;
  std::vector<std::string> seen_;
};

/// Cells of one line.
struct Line {
  std::string device;
  std::optional<double> seconds, watts, utilization, clock, temperature, limit;
};

/// [N/A] and [Not Supported] stand where a part has no such sensor, [Unknown Error] and ERR! where it did not answer.
bool is_absent(const std::string& cell) {
  return cell.empty() || cell.front() == '[' || cell == "N/A" || cell == "ERR!";
}

/// What stands between the cells of a header: commas, else what spreadsheets write in their place.
char separator_of(std::string_view header) {
  for (const char one : {',', ';', '\t'})
    if (header.find(one) != std::string_view::npos) return one;
  return ',';
}

/// Whether a first line holds readings: nvidia-smi leaves the header out with noheader.
bool holds_readings(const std::vector<std::string>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const std::string& cell) { return leading_number(cell) || moment_of(cell); });
}

class CsvReader {
 public:
  CsvReader(Devices& devices, const CsvPlace& place, ResultsBuilder& results, Diagnostics& diagnostics)
      : devices_(devices), place_(place), results_(results), diagnostics_(diagnostics), identities_(results) {}

  void read(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      at_ = fmt::format("line {}", ++number);
      if (trimmed(line).empty()) continue;
      if (!header_) separator_ = separator_of(line);
      const std::vector<std::string> cells = cells_of(line, separator_);
      if (header_) {
        // A sampler that is stopped leaves what its buffer held.
        if (cells.size() < header_->size() && line.data() + line.size() == text.data() + text.size())
          results_.warn("the last line is cut and was left out");
        else if (cells != names_)  // a loop that calls nvidia-smi prints the header each time
          read_line(cells);
        continue;
      }
      header_.emplace(cells, results_);
      names_ = cells;
      if (!header_->has_power()) return refuse(cells);
      if (place_.gpus && !place_.named && !header_->has(PowerColumn::device) && !header_->has(PowerColumn::identity))
        results_.warn(fmt::format("no column tells which GPU a reading is of; all are taken as {}'s", place_.unnamed));
    }
    if (!header_) diagnostics_.error("", "is empty");
    if (silent_ > 0)
      results_.warn(fmt::format("{} row{} without a reading of power left out", silent_, silent_ == 1 ? "" : "s"));
  }

 private:
  void refuse(const std::vector<std::string>& cells) {
    constexpr const char* kNames = "power.draw, DCGM_FI_DEV_POWER_USAGE, PowerConsumedWatts or watts";
    if (holds_readings(cells))
      return diagnostics_.error(at_, "holds readings, expected the names of the columns", "leave out noheader");
    diagnostics_.error(at_, "no column of power in the header", kNames);
  }

  void read_line(const std::vector<std::string>& cells) {
    if (cells.size() != header_->size())
      return diagnostics_.error(at_, fmt::format("has {} cells, its header {}", cells.size(), header_->size()));
    const std::optional<Line> line = parsed(cells);
    if (line && !line->watts) ++silent_;
    if (!line || !line->watts) return;
    if (*line->watts < 0 || *line->watts > kMostWatts)
      return diagnostics_.error(at_, fmt::format("found {} W", *line->watts));
    Readings& r = devices_.of(line->device);
    r.watts.push_back(*line->watts);
    if (line->seconds) r.seconds.push_back(*line->seconds);
    if (line->utilization && *line->utilization >= 0) r.utilization.push_back(*line->utilization);
    if (line->clock && *line->clock >= 0) r.clock.push_back(*line->clock);
    if (line->temperature) r.temperature.push_back(*line->temperature);
    if (line->limit && *line->limit >= 0) r.limit = line->limit;
  }

  std::optional<Line> parsed(const std::vector<std::string>& cells) {
    Line out;
    out.device = place_.unnamed;
    std::string host;
    bool sound = true;
    const auto take = [&](const std::string& cell, std::optional<double>& to) {
      to = leading_number(cell);
      if (to) return;
      diagnostics_.error(at_, fmt::format("found {}, expected a number", shown(cell)));
      sound = false;
    };
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& cell = cells[i];
      if (is_absent(cell)) continue;
      switch ((*header_)[i]) {
        case PowerColumn::device:
          out.device = place_.gpus ? gpu_name(cell) : cell;
          break;
        case PowerColumn::host:
          host = cell;
          results_.host(cell);
          break;
        case PowerColumn::identity:
          if (!header_->has(PowerColumn::device)) out.device = identity(cells);
          break;
        case PowerColumn::name:
          results_.accelerator(cell);
          break;
        case PowerColumn::time:
          out.seconds = moment_of(cell);
          break;
        case PowerColumn::watts:
          take(cell, out.watts);
          sound = sound && in_watts(cell, header_->unit(i), out.watts);
          break;
        case PowerColumn::utilization:
          take(cell, out.utilization);
          break;
        case PowerColumn::clock:
          take(cell, out.clock);
          break;
        case PowerColumn::temperature:
          take(cell, out.temperature);
          break;
        case PowerColumn::limit:
          take(cell, out.limit);
          break;
        case PowerColumn::other:
          break;
      }
    }
    if (!host.empty()) out.device = place_.gpus || header_->has(PowerColumn::device) ? out.device + "@" + host : host;
    return sound ? std::optional(out) : std::nullopt;
  }

  /// Brings a reading to watts, by the unit in its cell or else in its column's header. False, with a fault, where that
  /// is none of power.
  bool in_watts(const std::string& cell, const std::string& of_column, std::optional<double>& reading) {
    const std::size_t behind = cell.find_first_not_of("0123456789.+-eE ");
    const std::string unit = behind == std::string::npos ? of_column : std::string(trimmed(cell.substr(behind)));
    if (unit.empty()) return true;
    const auto scale = watts_in(unit);
    if (scale) return *reading *= *scale, true;
    diagnostics_.error(at_, fmt::format("found power in {}, expected W, kW or mW", shown(unit)));
    return false;
  }

  /// The first of the columns that identify a GPU.
  std::string identity(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      if ((*header_)[i] == PowerColumn::identity && !is_absent(cells[i])) return identities_.device(cells[i]);
    return place_.unnamed;
  }

  Devices& devices_;
  const CsvPlace& place_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  Identities identities_;
  std::optional<Header> header_;
  char separator_ = ',';
  std::vector<std::string> names_;  ///< the header's cells
  std::size_t silent_ = 0;          ///< rows without a reading of power
  std::string at_;
};

CsvPlace gpus(const MeasuredHints& hints) {
  return {hints.device.empty() ? "gpu0" : hints.device, !hints.device.empty(), true};
}

}  // namespace

void read_csv_readings(std::string_view text, Devices& devices, const CsvPlace& place, ResultsBuilder& results,
                       Diagnostics& diagnostics) {
  CsvReader(devices, place, results, diagnostics).read(text);
}

void read_nvidia_smi(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  constexpr const char* kCommand = "nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv";
  if (text.find("NVSMI LOG") != std::string_view::npos)
    return diagnostics.error("", "is the report of nvidia-smi -q, expected a table", kCommand);
  if (trimmed(text).starts_with("+--") || text.find("| NVIDIA-SMI ") != std::string_view::npos)
    return diagnostics.error("", "is the overview that nvidia-smi prints, expected a table", kCommand);
  Devices devices("nvidia-smi", hints, results);
  if (trimmed(text).starts_with("#"))
    read_nvidia_smi_dmon(text, devices, diagnostics);
  else
    read_csv_readings(text, devices, gpus(hints), results, diagnostics);
  devices.finish(diagnostics);
}

void read_dcgm(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  Devices devices("dcgm", hints, results);
  std::string others;
  if (is_exposition(text)) {
    PowerSeries series(hints, results);
    read_exposition(text, series, results, diagnostics);
    series.finish(devices, diagnostics);
    others = series.others();
  } else if (trimmed(text).starts_with("#")) {
    read_dcgmi_dmon(text, devices, diagnostics);
  } else {
    read_csv_readings(text, devices, gpus(hints), results, diagnostics);
  }
  devices.finish(diagnostics, others.empty() ? "" : "expected the metric DCGM_FI_DEV_POWER_USAGE" + others);
}

}  // namespace stepcast
