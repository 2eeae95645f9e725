#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calibration/importers/measured/rows.hpp"

namespace stepcast {

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
  for (const NamePair& p : {NamePair{"50.000000", "p50"}, NamePair{"99.000000", "p99"}, NamePair{"99.900000", "p99.9"}})
    if (const double value = figure(clat["percentile"], std::string(p.theirs).c_str(), -1); value >= 0)
      out[std::string(p.ours)] = value / 1e3;
  return out;
}

Json storage_row(const Json& job, const Json& options, const Json& body, bool reads, const std::string& mode) {
  const double files = option_number(options, "nrfiles", 1);
  const std::string name = words(job, "jobname");
  Json row{{"kind", "storage"}, {"pattern", storage_pattern(mode, name, files, reads)}};
  if (!name.empty()) row["job"] = name;
  for (const NamePair& key :
       {NamePair{"directory", "target"}, NamePair{"filename", "target"}, NamePair{"ioengine", "engine"}})
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
