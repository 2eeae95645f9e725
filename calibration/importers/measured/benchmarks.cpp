#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "calibration/importers/measured/results_builder.hpp"
#include "calibration/importers/text_file.hpp"
#include "version.hpp"

namespace stepcast {

bool stands_in_json(const std::string& text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

Json ResultsBuilder::document(const std::vector<std::string>& files) const {
  std::vector<std::string> warnings = warnings_;
  if (date_.empty()) warnings.emplace_back("the file tells no date");
  Json environment = Json::object();
  if (!hosts_.empty()) environment["hosts"] = hosts_;
  if (!accelerator_.empty()) environment["accelerator"] = accelerator_;
  if (!variables_.empty()) environment["variables"] = variables_;
  std::vector<std::string> command{"stepcast", "import", tool_};
  command.insert(command.end(), files.begin(), files.end());
  return {{"format_version", 1},
          {"probe", "import-" + tool_},
          {"tool_version", kVersion},
          {"host", hosts_.empty() ? std::string("unknown") : hosts_.front()},
          {"date", date_.empty() ? std::string("1970-01-01T00:00:00Z") : date_},
          {"command", command},
          {"versions", Json(versions_)},
          {"clocks", Json::object()},
          {"environment", std::move(environment)},
          {"warnings", warnings},
          {"results", rows_}};
}

namespace {

constexpr double kLargestBuffer = 1e15;
constexpr int kMostRanks = 1 << 20;

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Name {
  std::string_view theirs, ours;
};

// Programs of nccl-tests by name, without `_perf`; the longer first, for `all_reduce` holds `reduce`.
constexpr std::array kNcclPrograms{Name{"all_reduce", "all_reduce"},
                                   Name{"all_gather", "all_gather"},
                                   Name{"reduce_scatter", "reduce_scatter"},
                                   Name{"alltoallv", ""},
                                   Name{"alltoall", "all_to_all"},
                                   Name{"all_to_all", "all_to_all"},
                                   Name{"broadcast", "broadcast"},
                                   Name{"sendrecv", "send_recv"},
                                   Name{"send_recv", "send_recv"},
                                   Name{"hypercube", ""},
                                   Name{"reduce", "reduce"}};
// Types of nccl-tests' and rccl-tests' tables.
constexpr std::array kNcclTypes{Name{"float", "float32"},     Name{"half", "float16"}, Name{"double", "float64"},
                                Name{"bfloat16", "bfloat16"}, Name{"int8", "int8"},    Name{"uint8", "uint8"},
                                Name{"int32", "int32"},       Name{"uint32", "int32"}, Name{"int64", "int64"},
                                Name{"uint64", "int64"},      Name{"fp8_e4m3", "fp8"}, Name{"fp8_e5m2", "fp8"},
                                Name{"f8e4m3", "fp8"},        Name{"f8e5m2", "fp8"}};

/// Operation that a program's or a file's name holds; empty when none.
std::string operation_in(std::string_view text) {
  for (const Name& program : kNcclPrograms)
    if (text.find(program.theirs) != std::string_view::npos) return std::string(program.ours);
  return {};
}

std::string type_of(std::string_view name, Diagnostics& diagnostics, const std::string& at) {
  for (const Name& type : kNcclTypes)
    if (type.theirs == name) return std::string(type.ours);
  diagnostics.error(at, fmt::format("found the type {}, which nccl-tests does not have", shown(name)));
  return "float32";
}

struct Places {
  int ranks = 0, nodes = 0, per_node = 0;
};

/// Where the ranks are, by the hosts of each, or by what the user says.
Places places_of(const std::vector<std::string>& host_of_rank, const MeasuredHints& hints) {
  std::map<std::string, int> on_host;
  for (const std::string& host : host_of_rank) ++on_host[host];
  Places out;
  out.ranks = hints.ranks > 0 ? hints.ranks : static_cast<int>(host_of_rank.size());
  for (const auto& [host, ranks] : on_host) out.per_node = std::max(out.per_node, ranks);
  if (hints.per_node > 0) out.per_node = hints.per_node;
  if (out.per_node == 0) out.per_node = out.ranks;
  out.nodes = out.per_node > 0 ? (out.ranks + out.per_node - 1) / out.per_node : 0;
  return out;
}

bool sound(const Places& places, Diagnostics& diagnostics) {
  if (places.ranks >= 1 && places.ranks <= kMostRanks) return true;
  diagnostics.error("", "the file lists no ranks", "say how many took part: --ranks 16 --ranks-per-node 8");
  return false;
}

Json collective(const std::string& op, double size, const Places& places, bool in_place, const std::string& type,
                std::vector<double> samples) {
  return {{"kind", "collective"},
          {"op", op},
          {"size_bytes", static_cast<std::int64_t>(size)},
          {"ranks", places.ranks},
          {"nodes", places.nodes},
          {"ranks_per_node", places.per_node},
          {"in_place", in_place},
          {"algorithm", "auto"},
          {"protocol", "auto"},
          {"data_type", type},
          {"samples_us", std::move(samples)},
          {"checked", false}};
}

/// Checks what one row of nccl-tests says and adds it.
struct NcclRow {
  double size = 0;
  std::string type;
  bool in_place = false;
  double time_us = 0;
  std::optional<double> wrong;
  std::vector<double> samples;
};

void add_nccl(const NcclRow& row, const std::string& op, const Places& places, int iterations, const std::string& at,
              ResultsBuilder& results, Diagnostics& diagnostics) {
  if (row.size < 0 || row.size > kLargestBuffer)
    return diagnostics.error(at, fmt::format("a size of {} bytes", row.size));
  if (row.time_us < 0) return diagnostics.error(at, fmt::format("a time of {} us", row.time_us));
  if (row.wrong && *row.wrong > 0)
    return diagnostics.error(at,
                             fmt::format("{} wrong elements in {} of {} bytes: the data that came out was wrong, so "
                                         "its time means nothing",
                                         *row.wrong, op, row.size),
                             "find the fault before measuring");
  // Empty buffers, which nccl-tests prints where a size does not divide over the ranks.
  if (row.size == 0 || row.time_us == 0) return;
  Json out = collective(op, row.size, places, row.in_place, row.type,
                        row.samples.empty() ? std::vector{row.time_us} : row.samples);
  if (row.samples.empty() && iterations > 1) out["calls_per_sample"] = iterations;
  out["checked"] = row.wrong.has_value();
  results.add(std::move(out));
}

/// `# Rank 0 Group 0 Pid 123 on node1 device 0 [0000:07:00] NVIDIA A100-SXM4-40GB`
void take_rank(const std::vector<std::string_view>& words, std::vector<std::string>& hosts, ResultsBuilder& results) {
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on == words.end() || on + 1 == words.end()) return;
  const std::string host(*(on + 1));
  hosts.push_back(host);
  results.host(host);
  const auto address =
      std::find_if(on, words.end(), [](std::string_view word) { return !word.empty() && word.front() == '['; });
  if (address == words.end()) return;
  std::string device;
  for (auto word = address + 1; word != words.end(); ++word)
    if (word->back() != ']' || !device.empty()) device += (device.empty() ? "" : " ") + std::string(*word);
  if (!device.empty()) results.accelerator(device);
}

int number_after(const std::vector<std::string_view>& words, std::string_view name) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == name) return static_cast<int>(std::clamp(number_of(words[i + 1]).value_or(0), 0.0, 1e6));
  return 0;
}

/// Tables of nccl-tests: rows stand under the header's words, aligned at the end, for `redop` may be blank.
class NcclTable {
 public:
  NcclTable(const std::string& file, const MeasuredHints& hints, ResultsBuilder& results, Diagnostics& diagnostics)
      : file_(file), hints_(hints), results_(results), diagnostics_(diagnostics) {
    op_ = hints.op.empty() ? operation_in(file.substr(file.find_last_of('/') + 1)) : hints.op;
  }

  void line(std::string_view text, std::size_t number) {
    const std::string_view line = trimmed(text);
    const std::string at = fmt::format("line {}", number);
    if (const auto version = line.find("NCCL version "); version != std::string_view::npos) {
      const auto words = words_of(line.substr(version + 13));
      if (!words.empty()) results_.version("nccl", std::string(words.front()));
    }
    if (line.starts_with("#")) return comment(words_of(line.substr(1)), line);
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty() || !number_of(words.front())) return;  // what jobs print around the table
    row(words, at);
  }

  void finish() {
    if (!seen_) diagnostics_.error("", "no table of nccl-tests or rccl-tests in it", "the output of all_reduce_perf …");
  }

 private:
  void comment(const std::vector<std::string_view>& words, std::string_view line) {
    if (words.empty()) return;
    if (words.front() == "Rank") return take_rank(words, hosts_, results_);
    if (words.front() == "size") {
      header_.assign(words.begin(), words.end());
      return;
    }
    if (line.find("Collective test starting:") != std::string_view::npos && hints_.op.empty()) op_ = operation_in(line);
    if (line.find("nGpus") != std::string_view::npos) {
      iterations_ = std::max(1, number_after(words, "iters:"));
      // "warmup iters: 5 iters: 20": the second counts.
      const auto plain =
          line.rfind(" iters:", line.find(" agg iters") == std::string_view::npos ? std::string_view::npos
                                                                                  : line.find(" agg iters") - 1);
      if (plain != std::string_view::npos) {
        const auto after = words_of(line.substr(plain + 7));
        if (!after.empty()) iterations_ = static_cast<int>(std::clamp(number_of(after.front()).value_or(1), 1.0, 1e6));
      }
    }
  }

  void row(const std::vector<std::string_view>& words, const std::string& at) {
    if (header_.empty()) return;
    if (words.size() < 4 || words.size() > header_.size())
      return diagnostics_.error(at, fmt::format("has {} columns, its header {}", words.size(), header_.size()));
    const Places places = places_of(hosts_, hints_);
    if (!seen_ && !sound(places, diagnostics_)) {
      seen_ = true;
      return;
    }
    if (op_.empty() && !seen_)
      diagnostics_.error(at, "neither the table nor the file's name says which collective it is", "--op all_reduce");
    seen_ = true;
    if (op_.empty() || places.ranks < 1) return;
    const std::size_t blanks = header_.size() - words.size();
    bool in_place = false;
    for (std::size_t column = 3; column < header_.size(); ++column) {
      if (header_[column] != "time" && header_[column] != "cputime") continue;
      if (column < blanks) break;
      const auto time = number_of(words[column - blanks]);
      const auto size = number_of(words[0]);
      if (!time || !size)
        return diagnostics_.error(at, fmt::format("found {}, expected a number", shown(words[column - blanks])));
      // Where data is not checked some versions leave the column out.
      const std::size_t after = column + 3;
      const bool counted = after < header_.size() && (header_[after] == "#wrong" || header_[after] == "error");
      const auto wrong = counted ? number_of(words[after - blanks]) : std::nullopt;
      add_nccl({*size, type_of(words[2], diagnostics_, at), in_place, *time, wrong, {}}, op_, places, iterations_, at,
               results_, diagnostics_);
      in_place = true;
    }
  }

  std::string file_;
  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  Diagnostics& diagnostics_;
  std::string op_;
  std::vector<std::string> header_;
  std::vector<std::string> hosts_;
  int iterations_ = 1;
  bool seen_ = false;
};

double figure(const Json& object, const char* key, double otherwise = 0) {
  return object.is_object() && object.contains(key) && object[key].is_number() ? object[key].get<double>() : otherwise;
}

std::string words(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

/// NCCL's version as one number: 22304 is 2.23.4, and before 2.9 2808 is 2.8.8 (nccl.h, NCCL_VERSION).
std::string nccl_version(int code) {
  if (code < 10000) return fmt::format("{}.{}.{}", code / 1000, code % 1000 / 100, code % 100);
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

void read_nccl_json(const Json& document, const std::string& file, const MeasuredHints& hints, ResultsBuilder& results,
                    Diagnostics& diagnostics) {
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array())
    return diagnostics.error("/results", "missing: is no JSON of nccl-tests (-J)");
  std::string op = hints.op;
  if (op.empty() && document.contains("args") && document["args"].is_array() && !document["args"].empty() &&
      document["args"][0].is_string())
    op = operation_in(document["args"][0].get<std::string>());
  if (op.empty()) op = operation_in(file.substr(file.find_last_of('/') + 1));
  if (op.empty())
    return diagnostics.error("/args", "neither the arguments nor the file's name say which collective it is",
                             "--op all_reduce");
  if (const double code = figure(document, "nccl_version"); code > 0 && code < 1e7)
    results.version("nccl", nccl_version(static_cast<int>(code)));
  static const Json kNothing = Json::object();
  const Json& config = document.contains("config") ? document["config"] : kNothing;
  std::vector<std::string> hosts;
  if (config.is_object() && config.contains("devices") && config["devices"].is_array())
    for (const Json& device : config["devices"]) {
      hosts.push_back(words(device, "hostname"));
      results.host(hosts.back());
      if (const std::string name = words(device, "device_info"); !name.empty()) results.accelerator(name);
    }
  const Places places = places_of(hosts, hints);
  if (!sound(places, diagnostics)) return;
  const auto iterations = static_cast<int>(std::clamp(figure(config, "iterations", 1), 1.0, 1e6));
  for (std::size_t i = 0; i < document["results"].size(); ++i) {
    const Json& row = document["results"][i];
    const std::string at = fmt::format("/results/{}", i);
    if (!row.is_object()) {
      diagnostics.error(at, "is no object");
      continue;
    }
    for (const char* place : {"out_of_place", "in_place"}) {
      if (!row.contains(place) || !row[place].is_object()) continue;
      const Json& body = row[place];
      NcclRow out{figure(row, "size", -1),
                  type_of(words(row, "type"), diagnostics, at),
                  place[0] == 'i',
                  figure(body, "time", figure(body, "cpu_time", -1)),
                  std::nullopt,
                  {}};
      if (body.contains("nwrong") && body["nwrong"].is_number()) out.wrong = body["nwrong"].get<double>();
      const std::string each = std::string(place) + "_per_iter";
      if (row.contains(each) && row[each].is_object() && row[each].contains("times_us") &&
          row[each]["times_us"].is_array())
        for (const Json& sample : row[each]["times_us"])
          if (sample.is_number() && sample.get<double>() > 0) out.samples.push_back(sample.get<double>());
      add_nccl(out, op, places, iterations, at, results, diagnostics);
    }
  }
}

// Titles of OSU's programs, as their first line has them.
constexpr std::array kOsuTitles{
    Name{"Allreduce Latency", "all_reduce"},
    Name{"Allgather Latency", "all_gather"},
    Name{"Reduce_scatter Latency", "reduce_scatter"},
    Name{"All-to-All Personalized Exchange Latency", "all_to_all"},
    Name{"Alltoall Latency", "all_to_all"},
    Name{"Broadcast Latency", "broadcast"},
    Name{"Bcast Latency", "broadcast"},
    Name{"Reduce Latency", "reduce"},
    Name{"Barrier Latency", "barrier"},
    Name{"Latency Test", "ping_pong"},
};

/// What one of OSU's programs measured, by its title; empty when it holds no such times.
std::string osu_operation(std::string_view title) {
  for (const Name& one : kOsuTitles)
    if (title.find(one.theirs) != std::string_view::npos) return std::string(one.ours);
  return {};
}

Json osu_row(const std::string& op, double size, double time, const Places& places) {
  if (op != "ping_pong") {
    const bool shares = op == "all_gather" || op == "reduce_scatter" || op == "all_to_all";
    Json out = collective(op, shares ? size * places.ranks : size, places, false,
                          op == "all_reduce" || op.starts_with("reduce") ? "float32" : "int8", {time});
    out["across_ranks"] = "mean";
    return out;
  }
  return {{"kind", "ping_pong"},   {"size_bytes", static_cast<std::int64_t>(size)},
          {"nodes", places.nodes}, {"transport", "mpi"},
          {"samples_us", {time}},  {"checked", false}};
}

}  // namespace

void read_nccl_tests(std::string_view text, const std::string& file, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  if (trimmed(text).starts_with("{")) {
    const Json document = parse_json(text, diagnostics);
    if (diagnostics.ok()) read_nccl_json(document, file, hints, results, diagnostics);
    return;
  }
  NcclTable table(file, hints, results, diagnostics);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) table.line(line, ++number);
  table.finish();
}

void read_osu(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  std::string op;
  bool title = false;
  std::size_t number = 0, rows = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(raw);
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("#")) {
      if (line.find("OSU MPI") == std::string_view::npos) continue;
      title = true;
      op = osu_operation(line);
      if (op.empty())
        return diagnostics.error(at, fmt::format("{} holds no times of single calls", shown(line)),
                                 "osu_latency and the latency tests of collectives do");
      if (const auto version = line.find(" v"); version != std::string_view::npos)
        results.version("osu", std::string(trimmed(line.substr(version + 2))));
      continue;
    }
    const std::vector<std::string_view> words = words_of(line);
    if (!title || words.empty() || !number_of(words[0])) continue;
    const bool barrier = op == "barrier";
    const auto size = barrier ? std::optional<double>(0) : number_of(words[0]);
    const auto time = number_of(words[barrier || words.size() < 2 ? 0 : 1]);
    if ((words.size() < 2 && !barrier) || !time || *time <= 0 || *size < 0 || *size > kLargestBuffer) {
      diagnostics.error(at, fmt::format("found {}, expected a size and a time above 0", shown(line)));
      continue;
    }
    Places places = places_of({}, hints);
    if (op == "ping_pong") {
      places = {2, hints.per_node == 2 ? 1 : 2, hints.per_node == 2 ? 2 : 1};
    } else if (!sound(places, diagnostics)) {
      return;
    }
    results.add(osu_row(op, *size, *time, places));
    ++rows;
  }
  if (rows == 0 && diagnostics.ok()) diagnostics.error("", "no table of an OSU micro-benchmark in it");
}

namespace {

/// fio's name of what a job did, as ours: sequential or random, and whether files or checkpoints were its matter.
std::string storage_pattern(const std::string& mode, const std::string& job, double files, bool reads) {
  const char* direction = reads ? "read" : "write";
  if (job.find("checkpoint") != std::string::npos) return fmt::format("checkpoint_{}", direction);
  if (files > 1 || job.find("many") != std::string::npos) return fmt::format("many_files_{}", direction);
  return fmt::format("{}_{}", mode.starts_with("rand") ? "random" : "sequential", direction);
}

/// fio writes numbers of its options as text: `128k`, `4`.
double option_number(const Json& options, const char* key, double otherwise) {
  const std::string text = words(options, key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || !std::isfinite(value)) return otherwise;
  const char unit = end == text.data() + text.size() ? ' ' : *end;
  // fio's k is 1024 unless kb_base says otherwise.
  const double scale = unit == 'k' || unit == 'K'   ? 1024.0
                       : unit == 'm' || unit == 'M' ? 1048576.0
                       : unit == 'g' || unit == 'G' ? 1073741824.0
                                                    : 1.0;
  return value * scale;
}

Json latencies(const Json& body) {
  Json out = Json::object();
  if (!body.contains("clat_ns") || !body["clat_ns"].is_object()) return out;
  const Json& clat = body["clat_ns"];
  for (const char* key : {"mean", "min", "max", "stddev"})
    if (clat.contains(key) && clat[key].is_number()) out[key] = std::max(0.0, clat[key].get<double>() / 1e3);
  if (!clat.contains("percentile") || !clat["percentile"].is_object()) return out;
  for (const Name& p : {Name{"50.000000", "p50"}, Name{"99.000000", "p99"}, Name{"99.900000", "p99.9"}})
    if (const double value = figure(clat["percentile"], std::string(p.theirs).c_str(), -1); value >= 0)
      out[std::string(p.ours)] = value / 1e3;
  return out;
}

Json storage_row(const Json& job, const Json& options, const Json& body, bool reads, const std::string& mode) {
  const double files = option_number(options, "nrfiles", 1);
  const std::string name = words(job, "jobname");
  Json row{{"kind", "storage"}, {"pattern", storage_pattern(mode, name, files, reads)}};
  if (!name.empty()) row["job"] = name;
  for (const Name& key : {Name{"directory", "target"}, Name{"filename", "target"}, Name{"ioengine", "engine"}})
    if (const std::string text = words(options, std::string(key.theirs).c_str()); !text.empty())
      row[std::string(key.ours)] = text;
  if (const double block = option_number(options, "bs", 0); block >= 1 && block < kLargestBuffer)
    row["block_bytes"] = static_cast<std::int64_t>(block);
  row["jobs"] = static_cast<int>(std::clamp(option_number(options, "numjobs", 1), 1.0, 1e6));
  row["queue_depth"] = static_cast<int>(std::clamp(option_number(options, "iodepth", 1), 1.0, 1e6));
  if (files >= 1 && files < 1e9) row["files"] = static_cast<int>(files);
  row["size_bytes"] = static_cast<std::int64_t>(std::clamp(figure(body, "io_bytes"), 0.0, kLargestBuffer));
  if (const std::string direct = words(options, "direct"); !direct.empty()) row["direct"] = direct == "1";
  row["bandwidth_MBps"] = figure(body, "bw_bytes") / 1e6;
  row["iops"] = std::max(0.0, figure(body, "iops"));
  row["runtime_ms"] = std::max(0.0, figure(body, "runtime"));
  if (Json latency = latencies(body); !latency.empty()) row["latency_us"] = std::move(latency);
  return row;
}

}  // namespace

void read_fio(std::string_view text, const std::string& /*file*/, const MeasuredHints& /*hints*/,
              ResultsBuilder& results, Diagnostics& diagnostics) {
  // fio prints its warnings before the document.
  const auto begin = text.find('{');
  if (begin == std::string_view::npos) return diagnostics.error("", "no JSON in it", "fio --output-format=json");
  const Json document = parse_json(text.substr(begin), diagnostics);
  if (!diagnostics.ok()) return;
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array())
    return diagnostics.error("/jobs", "missing: is no output of fio --output-format=json");
  if (const std::string version = words(document, "fio version"); !version.empty()) results.version("fio", version);
  std::size_t rows = 0;
  static const Json kNothing = Json::object();
  const Json& shared = document.contains("global options") && document["global options"].is_object()
                           ? document["global options"]
                           : kNothing;
  for (std::size_t i = 0; i < document["jobs"].size(); ++i) {
    const Json& job = document["jobs"][i];
    const std::string at = fmt::format("/jobs/{}", i);
    if (!job.is_object()) {
      diagnostics.error(at, "is no object");
      continue;
    }
    if (const double failed = figure(job, "error"); failed != 0) {
      diagnostics.error(at + "/error", fmt::format("the job failed with {}", failed));
      continue;
    }
    Json options = shared;
    if (job.contains("job options") && job["job options"].is_object()) options.update(job["job options"]);
    const std::string mode = words(options, "rw").empty() ? words(options, "readwrite") : words(options, "rw");
    for (const char* direction : {"read", "write"}) {
      if (!job.contains(direction) || figure(job[direction], "bw_bytes") <= 0) continue;
      results.add(storage_row(job, options, job[direction], direction[0] == 'r', mode));
      ++rows;
    }
  }
  if (rows == 0 && diagnostics.ok()) diagnostics.error("/jobs", "no job read or wrote anything");
}

}  // namespace stepcast
