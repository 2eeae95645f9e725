#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "calibration/importers/measured/rows.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/json_builder.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr double kLastSecond = 1e11;  // of the year 5138
constexpr double kClockSlack_s = 2;   // timestamps and elapsed times are whole seconds, each rounded

/// Where the object ends that begins at `begin`: behind its last brace, or at the text's end.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t end = begin; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '\\' && quoted) ++end;
    if (c == '"') quoted = !quoted;
    if (!quoted && c == '{') ++depth;
    if (!quoted && c == '}' && --depth == 0) return end + 1;
  }
  return text.size();
}

/// The next object that begins a line, a list or its next element.
std::size_t begin_of_object(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const std::string_view before = trimmed(text.substr(0, at));
    if (at == 0 || text[at - 1] == '\n' || (!before.empty() && (before.back() == '[' || before.back() == ',')))
      return at;
  }
  return std::string_view::npos;
}

/// The JSON of fio's output, of which --output-format=normal,json, warnings and signals print lines before and behind,
/// and of which a file may hold several; empty lines stand for those before, so that faults name the file's.
std::vector<std::string> documents_in(std::string_view text) {
  std::vector<std::string> out;
  std::size_t begin = begin_of_object(text, 0);
  if (begin == std::string_view::npos) begin = text.find('{');
  while (begin != std::string_view::npos) {
    const std::size_t end = end_of_object(text, begin);
    const auto lines = std::count(text.begin(), text.begin() + static_cast<long>(begin), '\n');
    out.push_back(std::string(static_cast<std::size_t>(lines), '\n') += text.substr(begin, end - begin));
    begin = begin_of_object(text, end);
  }
  return out;
}

/// Versions from 2.1.4 to 3.1 fill the list of percentiles up to 20 with this key, each 0 (add_ddir_status_json).
bool is_filler(std::string_view pointer) { return pointer.ends_with("/percentile/0.00"); }

/// What older versions write otherwise, as later ones do: rates in KiB/s alone, and, before 3, KiB that were moved and
/// microseconds (fio's stat.c, add_ddir_status_json).
void bring_up_to_date(Json& body) {
  if (!body.is_object()) return;
  if (!body.contains("bw_bytes")) {
    body["bw_bytes"] = figure(body, "bw") * 1024;
    if (!body.contains("io_kbytes")) body["io_bytes"] = figure(body, "io_bytes") * 1024;
  }
  if (!body.contains("clat") || !body["clat"].is_object() || body.contains("clat_ns")) return;
  Json clat = body["clat"];
  for (const char* key : {"mean", "min", "max", "stddev"})
    if (clat.contains(key) && clat[key].is_number()) clat[key] = clat[key].get<double>() * 1e3;
  if (clat.contains("percentile") && clat["percentile"].is_object())
    for (auto& [name, value] : clat["percentile"].items())
      if (value.is_number()) value = value.get<double>() * 1e3;
  body["clat_ns"] = std::move(clat);
}

void bring_jobs_up_to_date(Json& document) {
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array()) return;
  for (Json& job : document["jobs"])
    for (const char* direction : {"read", "write"})
      if (job.is_object() && job.contains(direction)) bring_up_to_date(job[direction]);
}

/// Names and start of a run: what the reports of one run (--status-interval) have in common.
std::pair<std::string, double> run_of(const Json& document) {
  std::string names;
  double elapsed = 0;
  if (document.is_object() && document.contains("jobs") && document["jobs"].is_array())
    for (const Json& job : document["jobs"]) {
      names += words(job, "jobname") + "\n";
      elapsed = std::max(elapsed, figure(job, "elapsed"));
    }
  return {names, figure(document, "timestamp") - elapsed};
}

/// Whether the second is a later report of the first's run. Its numbers count from the run's start.
bool is_later_report(const Json& first, const Json& second) {
  const auto [names, start] = run_of(first);
  const auto [later_names, later_start] = run_of(second);
  return names == later_names && figure(second, "timestamp") > figure(first, "timestamp") &&
         std::abs(later_start - start) <= kClockSlack_s;
}

/// What a job's name or its files say that its matter was: `checkpoint`, `many_files`; empty: nothing.
std::string matter_of(const std::string& job, double files) {
  if (contains(job, "checkpoint")) return "checkpoint";
  return files > 1 || contains(job, "many") ? "many_files" : "";
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

Json storage_row(const Json& job, const Json& options, const Json& body, const std::string& pattern) {
  const double files = option_number(options, "nrfiles", 1);
  const std::string name = words(job, "jobname");
  Json row{{"kind", "storage"}, {"pattern", pattern}};
  if (!name.empty()) row["job"] = name;
  for (const NamePair& key :
       {NamePair{"directory", "target"}, NamePair{"filename", "target"}, NamePair{"ioengine", "engine"}})
    if (const std::string text = words(options, std::string(key.theirs).c_str()); !text.empty())
      row[std::string(key.ours)] = text;
  if (const double block = option_number(options, "bs", 0); block >= 1 && block < kLargestBuffer)
    row["block_bytes"] = static_cast<std::int64_t>(block);
  row["jobs"] = static_cast<int>(std::clamp(option_number(options, "numjobs", 1), 1.0, 1e6));
  row["queue_depth"] =
      static_cast<int>(std::clamp(option_number(options, "iodepth", figure(job, "latency_depth", 1)), 1.0, 1e6));
  if (files >= 1 && files < 1e9) row["files"] = static_cast<int>(files);
  row["size_bytes"] = static_cast<std::int64_t>(std::clamp(figure(body, "io_bytes"), 0.0, kLargestBuffer));
  if (const std::string direct = words(options, "direct"); !direct.empty()) row["direct"] = direct == "1";
  row["bandwidth_MBps"] = figure(body, "bw_bytes") / 1e6;
  row["iops"] = std::max(0.0, figure(body, "iops"));
  row["runtime_ms"] = std::max(0.0, figure(body, "runtime"));
  if (Json latency = latencies(body); !latency.empty()) row["latency_us"] = std::move(latency);
  return row;
}

std::vector<JobGroup> groups_of(const Json& jobs, const std::string& where, Diagnostics& diagnostics) {
  std::vector<JobGroup> out;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Json& job = jobs[i];
    const std::string at = fmt::format("{}/jobs/{}", where, i);
    if (!job.is_object()) {
      diagnostics.error(at, "is no object");
      continue;
    }
    if (const double failed = figure(job, "error"); failed != 0) {
      diagnostics.error(at + "/error", fmt::format("the job failed with {}", failed));
      continue;
    }
    if (job.contains("mixed")) {
      diagnostics.error(at + "/mixed", "counts reads and writes together", "run fio without unified_rw_reporting");
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
const Json* jobs_of(const Json& document, const std::string& where, ResultsBuilder& results, Diagnostics& diagnostics) {
  const auto fail = [&](const char* at, const std::string& what, const char* suggestion) {
    diagnostics.error(where + at, what, suggestion);
    return nullptr;
  };
  const std::string version = words(document, "fio version");
  if (document.is_object() && document.contains("client_stats") && !document.contains("jobs"))
    return fail("/client_stats", "is the output of fio --client, whose entries are of several hosts",
                "expected /jobs: the output of fio on each host itself");
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array())
    return fail("/jobs", "missing: is no output of fio --output-format=json", "");
  if (!version.empty()) results.version("fio", version);
  if (const double seconds = figure(document, "timestamp"); seconds > 0 && seconds < kLastSecond) results.date(seconds);
  return &document["jobs"];
}

/// Whether a job read and wrote in order, by what it states (rw), else by what the user says; empty, with a fault,
/// where neither does: old versions, as 2.2.10, state no options.
std::string access_of(const Json& options, const MeasuredHints& hints, const std::string& at,
                      Diagnostics& diagnostics) {
  const std::string mode = words(options, "rw").empty() ? words(options, "readwrite") : words(options, "rw");
  const std::string stated = mode.empty() ? "" : mode.starts_with("rand") ? "random" : "sequential";
  if (stated.empty() && hints.pattern.empty())
    diagnostics.error(at + "/job options/rw", "missing: whether the job read and wrote in order is not told",
                      "--pattern sequential, or random, says it");
  if (!stated.empty() && !hints.pattern.empty() && stated != hints.pattern)
    diagnostics.error(at + "/job options/rw",
                      fmt::format("found {}, which is {}, but --pattern says {}", shown(mode), stated, hints.pattern),
                      "leave --pattern out");
  return stated.empty() ? hints.pattern : stated;
}

void add_group(const JobGroup& group, const Json& shared, const std::string& at, const MeasuredHints& hints,
               ResultsBuilder& results, Diagnostics& diagnostics) {
  const Json& first = *group.front();
  Json options = shared;
  if (first.contains("job options") && first["job options"].is_object()) options.update(first["job options"]);
  if (options.empty())
    results.warn(fmt::format("job {} states no options: taken for one process (numjobs) and one file",
                             shown(words(first, "jobname"))));
  if (group.size() > 1) options["numjobs"] = std::to_string(group.size());
  std::string what = matter_of(words(first, "jobname"), option_number(options, "nrfiles", 1));
  if (what.empty()) what = access_of(options, hints, at, diagnostics);
  for (const char* direction : {"read", "write"}) {
    std::vector<const Json*> bodies;
    for (const Json* job : group)
      if (job->contains(direction) && figure((*job)[direction], "bw_bytes") > 0) bodies.push_back(&(*job)[direction]);
    if (!bodies.empty())
      results.add(storage_row(first, options, together(bodies), fmt::format("{}_{}", what, direction)));
  }
}

void read_document(const Json& document, const std::string& where, const MeasuredHints& hints, ResultsBuilder& results,
                   Diagnostics& diagnostics) {
  const Json* jobs = jobs_of(document, where, results, diagnostics);
  if (!jobs) return;
  static const Json kNothing = Json::object();
  const Json& shared = document.contains("global options") && document["global options"].is_object()
                           ? document["global options"]
                           : kNothing;
  const std::size_t before = results.rows();
  for (const JobGroup& group : groups_of(*jobs, where, diagnostics)) {
    const std::string at = fmt::format("{}/jobs/{}", where, group.front() - &jobs->front());
    add_group(group, shared, at, hints, results, diagnostics);
  }
  if (results.rows() == before && diagnostics.ok()) diagnostics.error(where + "/jobs", "no job read or wrote anything");
}

}  // namespace

void read_fio(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
              Diagnostics& diagnostics) {
  const std::vector<std::string> texts = documents_in(text);
  if (texts.empty()) return diagnostics.error("", "no JSON in it", "fio --output-format=json");
  std::vector<Json> documents;
  for (const std::string& one : texts) {
    Json document = parse_json(one, diagnostics, is_filler);
    if (!diagnostics.ok()) return;
    if (!documents.empty() && !document.contains("jobs")) continue;  // what a signal has printed behind it
    bring_jobs_up_to_date(document);
    if (!documents.empty() && is_later_report(documents.back(), document)) documents.pop_back();
    documents.push_back(std::move(document));
  }
  for (std::size_t i = 0; i < documents.size() && diagnostics.ok(); ++i)
    read_document(documents[i], documents.size() > 1 ? fmt::format("/{}", i) : "", hints, results, diagnostics);
}

}  // namespace stepcast
