#include "checks/timings.hpp"

#include <algorithm>
#include <cmath>

#include "fields/rounded.hpp"

namespace stepcast {

namespace {

/// Ratios scatter by more than what is left out.
constexpr int kRatioDigits = 4;

constexpr double kMostTolerance = 1e6;  // %

/// Benchmarks that measure by themselves, or ask for the time on the wall, say so in their names.
bool counts_own_time(const std::string& name) { return name.ends_with("/manual_time") || name.ends_with("/real_time"); }

/// Whether what a run says beside its name and times is of the type that Google Benchmark writes.
bool is_well_formed(const Json& run, const std::string& at, Diagnostics& d) {
  const std::size_t before = d.faults().size();
  for (const char* key : {"run_type", "time_unit"})
    if (run.contains(key) && !run[key].is_string())
      d.error(child_pointer(at, key), fmt::format("found {}, expected a string", describe(run[key])));
  if (run.contains("error_occurred") && !run["error_occurred"].is_boolean())
    d.error(child_pointer(at, "error_occurred"),
            fmt::format("found {}, expected true or false", describe(run["error_occurred"])));
  return d.faults().size() == before;
}

/// Of one run: seconds, or nothing where the entry is a mean or deviation of others, or is malformed.
std::optional<double> seconds_of(const Json& run, const std::string& at, Diagnostics& d) {
  if (!run.is_object() || !run.contains("name") || !run["name"].is_string()) {
    d.error(at, "found a benchmark without a name", "the JSON of Google Benchmark: --benchmark_out=FILE");
    return std::nullopt;
  }
  if (!is_well_formed(run, at, d) || run.value("run_type", "iteration") != "iteration") return std::nullopt;
  if (run.value("error_occurred", false)) {
    d.error(at, fmt::format("benchmark \"{}\" failed", run["name"].get<std::string>()), "");
    return std::nullopt;
  }
  static const std::map<std::string, double> units{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const auto unit = units.find(run.value("time_unit", "ns"));
  const Json time = run.value(counts_own_time(run["name"].get<std::string>()) ? "real_time" : "cpu_time", Json());
  if (unit == units.end() || !time.is_number() || !(time.get<double>() > 0)) {
    d.error(at, fmt::format("benchmark \"{}\" states no time", run["name"].get<std::string>()),
            "a time above 0 and \"time_unit\" ns, us, ms or s");
    return std::nullopt;
  }
  return time.get<double>() * unit->second;
}

/// Shortest time of each benchmark of one file.
std::map<std::string, double> shortest_times(const Json& document, Diagnostics& d) {
  std::map<std::string, double> out;
  const auto list = document.is_object() ? document.find("benchmarks") : document.end();
  if (!document.is_object() || list == document.end() || !list->is_array()) {
    d.error("/benchmarks", "found no list of benchmarks", "the JSON of Google Benchmark: --benchmark_out=FILE");
    return out;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json& run = (*list)[i];
    const auto seconds = seconds_of(run, fmt::format("/benchmarks/{}", i), d);
    if (!seconds) continue;
    const auto [known, fresh] = out.try_emplace(run["name"].get<std::string>(), *seconds);
    if (!fresh) known->second = std::min(known->second, *seconds);
  }
  return out;
}

}  // namespace

const FieldTable<TimingsBaseline>& TimingsBaseline::fields() {
  using B = TimingsBaseline;
  static const auto table =
      FieldTable<B>("timings baseline", "Accepted times of benchmarks, each over a reference's of the same run.")
          .field("format_version", &B::format_version, "Version of this format",
                 {.required = true, .min = 1, .max = kTimingsFormatVersion})
          .field("reference", &B::reference, "The benchmark that others are counted in", {.required = true})
          .field("tolerance_percent", &B::tolerance_percent, "Tolerated slowing of a benchmark",
                 {.min = 0, .max = kMostTolerance})
          .field("tolerances_percent", &B::tolerances, "The same for single benchmarks",
                 {.min = 0, .max = kMostTolerance})
          .field("ratios", &B::ratios, "Processor time over the reference's, by benchmark",
                 {.required = true, .min = 0, .above_min = true});
  return table;
}

Ratios read_timings(const std::vector<std::filesystem::path>& files, const std::string& reference) {
  Ratios out;
  std::vector<Fault> faults;
  for (const std::filesystem::path& file : files) {
    Diagnostics d(file.string());
    const Json document = read_json(file, d);
    const std::map<std::string, double> times = d.ok() ? shortest_times(document, d) : std::map<std::string, double>();
    const auto base = times.find(reference);
    if (d.ok() && base == times.end()) {
      std::vector<std::string> names;
      names.reserve(times.size());
      for (const auto& [name, seconds] : times) names.push_back(name);
      d.error("/benchmarks", fmt::format("the reference \"{}\" is not among the benchmarks", reference),
              expected_one_of(names));
    }
    for (const auto& [name, seconds] : times)
      if (base != times.end() && name != reference) out[name] = rounded(seconds / base->second, kRatioDigits);
    faults.insert(faults.end(), d.faults().begin(), d.faults().end());
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return out;
}

TimingsBaseline read_timings_baseline(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  auto out = read_document<TimingsBaseline>(document, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void write_timings_baseline(const std::filesystem::path& file, const TimingsBaseline& baseline) {
  write_file(file, TimingsBaseline::fields().write(baseline).dump(2) + "\n");
}

ScenarioCheck check_timings(const std::string& name, const Ratios& now, const TimingsBaseline& accepted,
                            const Tolerances& given) {
  ScenarioCheck out{name, {}, {}, {}};
  for (const auto& [benchmark, ratio] : accepted.ratios) {
    const auto found = now.find(benchmark);
    if (found == now.end()) {
      out.errors.push_back(fmt::format("{} is in the baseline and did not run", benchmark));
      continue;
    }
    MetricCheck check{benchmark, ratio, found->second, accepted.tolerance_percent, true};
    if (const auto own = accepted.tolerances.find(benchmark); own != accepted.tolerances.end())
      check.tolerance_percent = own->second;
    if (const auto own = given.find(benchmark); own != given.end()) check.tolerance_percent = own->second;
    judge(check, WorseWhen::higher, check.tolerance_percent);
    out.metrics.push_back(std::move(check));
  }
  for (const auto& [benchmark, ratio] : now)
    if (!accepted.ratios.contains(benchmark))
      out.notes.push_back(fmt::format("{} is new; --update adds it", benchmark));
  return out;
}

}  // namespace stepcast
