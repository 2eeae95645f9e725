#include "calibration/probes/storage/fio_job.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/process.hpp"

namespace stepcast::probes {
namespace {

constexpr int kInterval_ms = 250;

std::string option(const std::string& name, const std::string& value) { return "--" + name + "=" + value; }

std::vector<std::string> command(const StorageRequest& request, const StoragePattern& pattern, bool direct,
                                 const std::filesystem::path& scratch) {
  std::vector<std::string> words{request.fio,
                                 option("name", pattern.name),
                                 option("directory", scratch.string()),
                                 option("rw", pattern.rw),
                                 option("bs", std::to_string(pattern.block_bytes)),
                                 option("numjobs", std::to_string(pattern.many_jobs ? request.jobs : 1)),
                                 option("ioengine", "libaio"),
                                 option("iodepth", std::to_string(pattern.queue_depth)),
                                 option("direct", direct ? "1" : "0"),
                                 "--group_reporting",
                                 "--randrepeat=1",
                                 "--output-format=json",
                                 option("output", (scratch / "report.json").string()),
                                 option("write_bw_log", (scratch / "log").string()),
                                 option("log_avg_msec", std::to_string(kInterval_ms)),
                                 "--per_job_logs=0"};
  if (pattern.many_files) {
    words.push_back(option("nrfiles", std::to_string(request.files)));
    words.push_back(option("filesize", std::to_string(request.file_bytes)));
    words.emplace_back("--openfiles=16");
    words.emplace_back("--file_service_type=random");
  } else {
    words.push_back(option("size", std::to_string(request.size_bytes)));
  }
  if (pattern.whole) {
    if (pattern.rw == "write") words.emplace_back("--end_fsync=1");
  } else {
    words.push_back(option("runtime", std::to_string(request.seconds)));
    words.emplace_back("--time_based");
  }
  return words;
}

/// What fio wrote, from the first brace on: notes of the engine may stand before it.
Json report_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string whole = text.str();
  const std::size_t brace = whole.find('{');
  Json report = Json::parse(brace == std::string::npos ? "" : whole.substr(brace), nullptr, false);
  if (report.is_discarded() || !report.contains("jobs") || report["jobs"].empty())
    throw check_failed("fio wrote no report that can be read");
  return report;
}

/// Bandwidth of all processes together in each interval, from lines of "ms, KiB/s, direction, …". The last interval,
/// which is seldom whole, is left out where there are several.
std::vector<double> bandwidth_samples(const std::filesystem::path& scratch) {
  std::map<long, double> sums;
  std::ifstream in(scratch / "log_bw.log");
  for (std::string line; std::getline(in, line);) {
    long ms = 0;
    double kib = 0;
    char comma = 0;
    std::istringstream fields(line);
    if (fields >> ms >> comma >> kib) sums[ms / kInterval_ms] += kib * 1024 / 1e6;
  }
  std::vector<double> out;
  out.reserve(sums.size());
  for (const auto& [interval, value] : sums) out.push_back(std::round(value * 1e3) / 1e3);
  if (out.size() > 1) out.pop_back();
  return out;
}

Json latency(const Json& side) {
  Json out = Json::object();
  if (!side.contains("clat_ns")) return out;
  const Json& clat = side["clat_ns"];
  for (const char* key : {"mean", "min", "max", "stddev"})
    if (clat.contains(key)) out[key] = clat[key].get<double>() / 1e3;
  if (clat.contains("percentile"))
    for (const auto& [name, key] : {std::pair{"50.000000", "p50"}, {"99.000000", "p99"}, {"99.900000", "p99.9"}})
      if (clat["percentile"].contains(name)) out[key] = clat["percentile"][name].get<double>() / 1e3;
  return out;
}

std::string file_system_of(const std::filesystem::path& folder) {
  std::ifstream mounts("/proc/mounts");
  std::string device, point, type, best, out = "unknown", rest;
  const std::string target = std::filesystem::canonical(folder).string() + "/";
  while (mounts >> device >> point >> type && std::getline(mounts, rest)) {
    const std::string prefix = point == "/" ? point : point + "/";
    if (target.compare(0, prefix.size(), prefix) == 0 && prefix.size() >= best.size()) {
      best = prefix;
      out = type;
    }
  }
  return out;
}

/// A folder for the files of one run, which goes with it.
class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& folder) {
    std::string name = (folder / "stepcast-probe-XXXXXX").string();
    if (!mkdtemp(name.data())) throw bad_input("--dir: no folder can be made in " + folder.string());
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string last_line(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) out = line;
  return out;
}

}  // namespace

const std::vector<StoragePattern>& storage_patterns() {
  constexpr std::int64_t kKiB = 1024, kMiB = 1024 * kKiB;
  static const std::vector<StoragePattern> patterns{
      {"sequential_read", "read", kMiB, 16, false, false, false},
      {"sequential_write", "write", kMiB, 16, false, false, false},
      {"random_read", "randread", 4 * kKiB, 32, true, false, false},
      {"random_write", "randwrite", 4 * kKiB, 32, true, false, false},
      // Every process writes its shard once, in large requests, and is done when it is on the medium.
      {"checkpoint_write", "write", 8 * kMiB, 4, true, true, false},
      {"checkpoint_read", "read", 8 * kMiB, 4, true, true, false},
      // A data set of small files in random order, one request each.
      {"many_files_read", "randread", 128 * kKiB, 1, true, false, true},
      {"many_files_write", "randwrite", 128 * kKiB, 1, true, false, true}};
  return patterns;
}

std::string fio_version(const StorageRequest& request) {
  const Finished run = run_program({request.fio, "--version"});
  if (run.code != 0 || !run.output.starts_with("fio-"))
    throw missing("\"" + request.fio + " --version\" does not answer as fio does: " + last_line(run.output));
  return run.output.substr(0, run.output.find('\n'));
}

Json storage_row(const StorageRequest& request, const StoragePattern& pattern, ResultFile& file) {
  const Scratch scratch(request.folder);
  bool direct = true;
  Finished run = run_program(command(request, pattern, direct, scratch.path()));
  if (run.code != 0) {
    direct = false;
    const std::string reason = last_line(run.output);
    run = run_program(command(request, pattern, direct, scratch.path()));
    if (run.code == 0)
      file.warn(pattern.name + ": measured through the page cache, since direct access was refused: " + reason);
  }
  if (run.code != 0) throw check_failed(pattern.name + ": fio failed: " + last_line(run.output));

  const Json report = report_of(scratch.path() / "report.json");
  const Json& job = report["jobs"][0];
  const bool reads = pattern.rw == "read" || pattern.rw == "randread";
  const Json& side = job[reads ? "read" : "write"];
  Json row{{"kind", "storage"},
           {"pattern", pattern.name},
           {"job", pattern.name},
           {"target", std::filesystem::canonical(request.folder).string()},
           {"file_system", file_system_of(request.folder)},
           {"block_bytes", pattern.block_bytes},
           {"jobs", pattern.many_jobs ? request.jobs : 1},
           {"queue_depth", pattern.queue_depth}};
  if (pattern.many_files) row["files"] = request.files;
  row["size_bytes"] = side.value("io_bytes", std::int64_t{0});
  row["direct"] = direct;
  row["engine"] = "libaio";
  row["bandwidth_MBps"] = side.value("bw_bytes", 0.0) / 1e6;
  row["iops"] = side.value("iops", 0.0);
  row["runtime_ms"] = side.value("runtime", 0.0);
  if (const std::vector<double> samples = bandwidth_samples(scratch.path()); !samples.empty()) {
    row["bandwidth_samples_MBps"] = samples;
    row["sample_interval_ms"] = kInterval_ms;
  }
  row["latency_us"] = latency(side);
  return row;
}

}  // namespace stepcast::probes
