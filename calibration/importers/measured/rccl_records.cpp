#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "calibration/importers/measured/nccl_rows.hpp"
#include "calibration/importers/measured/power_tables.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

// rccl-tests' names of its tests (each test's `…PrintHeader` engine); those of no collective here have none.
constexpr std::array kTests{NamePair{"AllReduce", "all_reduce"},
                            NamePair{"AllGather", "all_gather"},
                            NamePair{"ReduceScatter", "reduce_scatter"},
                            NamePair{"AlltoAll", "all_to_all"},
                            NamePair{"AllToAll", "all_to_all"},
                            NamePair{"Broadcast", "broadcast"},
                            NamePair{"Reduce", "reduce"},
                            NamePair{"SendRecv", "send_recv"}};

/// Members of one record as texts, whatever the file writes them as.
using Record = std::map<std::string, std::string>;

std::string member_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

class RecordReader {
 public:
  RecordReader(const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : hints_(hints), results_(results), diagnostics_(diagnostics) {}

  void json(const Json& object, const std::string& at) {
    if (!object.is_object()) return diagnostics_.error(at, "is no record of rccl-tests");
    Record record;
    for (const auto& [key, value] : object.items()) record[key] = member_text(value);
    take(record, at);
  }

  void csv(std::string_view text) {
    std::vector<std::string> header;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      ++number;
      if (trimmed(line).empty()) continue;
      const std::vector<std::string> cells = cells_of(line);
      const std::string at = fmt::format("line {}", number);
      if (header.empty()) {
        header = cells;
        continue;
      }
      if (cells.size() != header.size()) {
        diagnostics_.error(at, fmt::format("has {} cells, its header {}", cells.size(), header.size()));
        continue;
      }
      Record record;
      for (std::size_t i = 0; i < cells.size(); ++i) record[header[i]] = cells[i];
      take(record, at);
    }
  }

  void finish() {
    for (const auto& [name, count] : left_out_)
      results_.warn(fmt::format("{} records of {} were left out: it is no collective here", count, shown(name)));
  }

 private:
  void take(const Record& record, const std::string& at) {
    const std::string name = text(record, "name");
    const auto test =
        std::find_if(kTests.begin(), kTests.end(), [&](const NamePair& one) { return one.theirs == name; });
    if (test == kTests.end()) return void(++left_out_[name]);
    const std::string op(test->ours);
    const MeasuredPlaces places = places_of_record(record, at);
    if (places.ranks < 1) return;
    const auto size = number(record, "size"), time = number(record, "time"), algbw = number(record, "algBw"),
               busbw = number(record, "busBw");
    if (!size || !time)
      return diagnostics_.error(at, fmt::format("found {} bytes in {} us, expected two numbers",
                                                shown(text(record, "size")), shown(text(record, "time"))));
    if (algbw && busbw && !rates_of_ranks(op, places.ranks, *algbw, *busbw))
      return diagnostics_.error(at, fmt::format("busBw is {:.4g} of algBw, of {} on {} ranks it would be {:.4g}",
                                                *busbw / *algbw, op, places.ranks, bus_factor(op, places.ranks)));
    NcclRow row{
        *size, nccl_type(text(record, "type"), diagnostics_, at), text(record, "inPlace") == "1", *time, {}, false, {}};
    row.wrong = number(record, record.count("wrong") > 0 ? "wrong" : "#wrong");
    row.checked = row.wrong.has_value();
    add_nccl_row(row, op, places, 1, at, results_, diagnostics_);
  }

  /// Processes, and devices of each; without MPI only the devices of the one process.
  MeasuredPlaces places_of_record(const Record& record, const std::string& at) {
    const double processes = number(record, "ranks").value_or(1), nodes = number(record, "nodes").value_or(1);
    const double devices = number(record, record.count("gpusPerRank") > 0 ? "gpusPerRank" : "gpus").value_or(0);
    const double ranks = processes * devices;
    if (!(nodes >= 1) || !(ranks >= 1) || ranks > 1 << 20) {
      diagnostics_.error(at, "does not tell its ranks", "expected ranks and gpusPerRank, or gpus");
      return {};
    }
    const std::vector<std::string> hosts = hosts_of(static_cast<int>(ranks), static_cast<int>(nodes));
    return places_of(hosts, hints_, at, diagnostics_);
  }

  /// Hosts have no names in a record.
  static std::vector<std::string> hosts_of(int ranks, int nodes) {
    std::vector<std::string> out(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) out[rank] = std::to_string(rank / std::max(1, ranks / nodes));
    return out;
  }

  static std::string text(const Record& record, const std::string& key) {
    const auto found = record.find(key);
    return found == record.end() ? std::string() : found->second;
  }
  static std::optional<double> number(const Record& record, const std::string& key) {
    return number_of(text(record, key));
  }

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  std::map<std::string, int> left_out_;
};

bool is_csv_header(std::string_view line) {
  const std::vector<std::string> cells = cells_of(line);
  const auto has = [&](std::string_view name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
  return has("name") && has("size") && has("busBw");
}

}  // namespace

bool is_rccl_records(std::string_view text) {
  const std::string_view start = trimmed(text);
  const std::string_view first = start.substr(0, start.find('\n'));
  if (is_csv_header(first)) return true;
  const std::string_view record = start.starts_with('[') ? trimmed(start.substr(1)) : start;
  return record.starts_with('{') && record.substr(0, record.find('}')).find("\"busBw\"") != std::string_view::npos;
}

void read_rccl_records(std::string_view text, const MeasuredHints& hints, ResultsBuilder& results,
                       Diagnostics& diagnostics) {
  RecordReader reader(hints, results, diagnostics);
  const std::string_view start = trimmed(text);
  if (start.starts_with('[')) {
    const Json list = parse_json(start, diagnostics);
    for (std::size_t i = 0; diagnostics.ok() && i < list.size(); ++i) reader.json(list[i], fmt::format("/{}", i));
  } else if (start.starts_with('{')) {
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
      ++number;
      if (trimmed(line).empty() || !diagnostics.ok()) continue;
      const Json record = parse_json(line, diagnostics);
      if (diagnostics.ok()) reader.json(record, fmt::format("line {}", number));
    }
  } else {
    reader.csv(text);
  }
  reader.finish();
}

}  // namespace stepcast
