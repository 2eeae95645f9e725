#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr double kLastSecond = 1e11;  // of the year 5138

/// The JSON of fio's output, of which --output-format=normal,json, warnings and signals print lines before and behind;
/// empty lines stand for those before, so that faults name the file's. Empty where there is none.
std::string document_in(std::string_view text) {
  std::size_t begin = text.starts_with('{') ? 0 : text.find("\n{");
  if (begin == std::string_view::npos) begin = text.find('{');
  if (begin == std::string_view::npos) return {};
  if (text[begin] == '\n') ++begin;
  int depth = 0;
  bool quoted = false;
  std::size_t end = begin;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '\\' && quoted) ++end;
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '{') ++depth;
    if (!quoted && c == '}' && --depth == 0) break;
  }
  const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n');
  return std::string(static_cast<std::size_t>(lines), '\n') += text.substr(begin, end + 1 - begin);
}

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

/// Where fio reports each job of `numjobs` by itself (no group_reporting), the jobs of one name and group ran at once:
/// together they moved the sum. Spreads and percentiles of latencies cannot be added up and are left out.
Json together(const std::vector<const Json*>& bodies) {
  if (bodies.size() == 1) return *bodies.front();
  Json out = Json::object();
  double calls = 0, sum = 0, least = 0, most = 0;
  for (const Json* body : bodies) {
    for (const char* key : {"io_bytes", "bw_bytes", "iops"}) out[key] = figure(out, key) + figure(*body, key);
    out["runtime"] = std::max(figure(out, "runtime"), figure(*body, "runtime"));
    if (!body->contains("clat_ns")) continue;
    const Json& clat = (*body)["clat_ns"];
    const double count = figure(clat, "N", 1);
    least = calls > 0 ? std::min(least, figure(clat, "min")) : figure(clat, "min");
    most = std::max(most, figure(clat, "max"));
    sum += count * figure(clat, "mean");
    calls += count;
  }
  if (calls > 0) out["clat_ns"] = {{"min", least}, {"max", most}, {"mean", sum / calls}};
  return out;
}

/// Jobs of one name that ran at once.
using JobGroup = std::vector<const Json*>;

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

std::vector<JobGroup> groups_of(const Json& jobs, Diagnostics& diagnostics) {
  std::vector<JobGroup> out;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Json& job = jobs[i];
    const std::string at = fmt::format("/jobs/{}", i);
    if (!job.is_object()) {
      diagnostics.error(at, "is no object");
      continue;
    }
    if (const double failed = figure(job, "error"); failed != 0) {
      diagnostics.error(at + "/error", fmt::format("the job failed with {}", failed));
      continue;
    }
    const auto same = std::find_if(out.begin(), out.end(), [&](const JobGroup& group) {
      const Json& first = *group.front();
      return job.contains("groupid") && figure(first, "groupid", -1) == figure(job, "groupid", -1) &&
             words(first, "jobname") == words(job, "jobname");
    });
    if (same == out.end())
      out.push_back({&job});
    else
      same->push_back(&job);
  }
  return out;
}

/// The jobs of a document that this reads; null with a fault.
const Json* jobs_of(const Json& document, ResultsBuilder& results, Diagnostics& diagnostics) {
  const auto fail = [&](const char* at, const std::string& what, const char* suggestion) {
    diagnostics.error(at, what, suggestion);
    return nullptr;
  };
  const std::string version = words(document, "fio version");
  if (version.starts_with("fio-1.") || version.starts_with("fio-2."))
    return fail("/fio version", fmt::format("found {}, which states no bytes per second", shown(version)),
                "expected fio 3 or later");
  if (document.is_object() && document.contains("client_stats") && !document.contains("jobs"))
    return fail("/client_stats", "is the output of fio --client, whose entries are of several hosts",
                "expected /jobs: the output of fio on each host itself");
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array())
    return fail("/jobs", "missing: is no output of fio --output-format=json", "");
  if (!version.empty()) results.version("fio", version);
  if (const double seconds = figure(document, "timestamp"); seconds > 0 && seconds < kLastSecond) results.date(seconds);
  return &document["jobs"];
}

void add_group(const JobGroup& group, const Json& shared, ResultsBuilder& results) {
  const Json& first = *group.front();
  Json options = shared;
  if (first.contains("job options") && first["job options"].is_object()) options.update(first["job options"]);
  if (group.size() > 1) options["numjobs"] = std::to_string(group.size());
  const std::string mode = words(options, "rw").empty() ? words(options, "readwrite") : words(options, "rw");
  for (const char* direction : {"read", "write"}) {
    std::vector<const Json*> bodies;
    for (const Json* job : group)
      if (job->contains(direction) && figure((*job)[direction], "bw_bytes") > 0) bodies.push_back(&(*job)[direction]);
    if (!bodies.empty()) results.add(storage_row(first, options, together(bodies), direction[0] == 'r', mode));
  }
}

}  // namespace

void read_fio(std::string_view text, const std::string& /*file*/, const MeasuredHints& /*hints*/,
              ResultsBuilder& results, Diagnostics& diagnostics) {
  const std::string json = document_in(text);
  if (json.empty()) return diagnostics.error("", "no JSON in it", "fio --output-format=json");
  const Json document = parse_json(json, diagnostics);
  if (!diagnostics.ok()) return;
  const Json* jobs = jobs_of(document, results, diagnostics);
  if (!jobs) return;
  static const Json kNothing = Json::object();
  const Json& shared = document.contains("global options") && document["global options"].is_object()
                           ? document["global options"]
                           : kNothing;
  const std::size_t before = results.rows();
  for (const JobGroup& group : groups_of(*jobs, diagnostics)) add_group(group, shared, results);
  if (results.rows() == before && diagnostics.ok()) diagnostics.error("/jobs", "no job read or wrote anything");
}

}  // namespace stepcast
