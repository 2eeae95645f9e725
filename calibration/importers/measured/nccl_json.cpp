#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/nccl_rows.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// NCCL's version as one number: 22304 is 2.23.4, and before 2.9 2808 is 2.8.8 (nccl.h, NCCL_VERSION).
std::string nccl_version(int code) {
  if (code < 10000) return fmt::format("{}.{}.{}", code / 1000, code % 1000 / 100, code % 100);
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

/// The hosts of all ranks. Versions that list one device of each process count `ngpus` for each of its `nthreads`
/// (util.cu, writeDeviceReport); they are told by ranks that are whole multiples of that.
HostsOfGroups hosts_of_devices(const Json& config, ResultsBuilder& results) {
  HostsOfGroups out;
  if (!config.is_object() || !config.contains("devices") || !config["devices"].is_array()) return out;
  const Json& devices = config["devices"];
  const auto each = static_cast<int>(std::clamp(figure(config, "ngpus", 1) * figure(config, "nthreads", 1), 1.0, 1e3));
  const bool one_a_process = std::all_of(devices.begin(), devices.end(), [&](const Json& device) {
    return static_cast<int>(std::clamp(figure(device, "rank"), 0.0, 1e9)) % each == 0;
  });
  for (const Json& device : devices) {
    const std::string host = words(device, "hostname");
    std::vector<std::string>& group = out[static_cast<int>(std::clamp(figure(device, "group"), 0.0, 1e6))];
    group.insert(group.end(), static_cast<std::size_t>(one_a_process ? each : 1), host);
    results.host(host);
    if (const std::string name = words(device, "device_info"); !name.empty()) results.accelerator(name);
  }
  return out;
}

}  // namespace

void read_nccl_json(const Json& document, const std::string& file, const MeasuredHints& hints, ResultsBuilder& results,
                    Diagnostics& diagnostics) {
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array())
    return diagnostics.error("/results", "missing: is no JSON of nccl-tests (-J)");
  const NamePair* program = nullptr;
  if (document.contains("args") && document["args"].is_array() && !document["args"].empty() &&
      document["args"][0].is_string())
    program = nccl_program_in(document["args"][0].get_ref<const std::string&>());
  const char* what = program != nullptr ? "its program is" : "the file's name";
  if (!program) program = nccl_program_of_file(file);
  const std::string op = nccl_operation(program, what, hints, "/args", diagnostics);
  if (!diagnostics.ok()) return;
  if (op.empty() && program)
    return diagnostics.error("/args", fmt::format("is of {}_perf, which is no collective here", program->theirs),
                             fmt::format("expected one of {}", kMeasuredOperations));
  if (op.empty())
    return diagnostics.error("/args", "neither the arguments nor the file's name say which collective it is",
                             fmt::format("--op with one of {}", kMeasuredOperations));
  if (const double code = figure(document, "nccl_version"); code > 0 && code < 1e7)
    results.version("nccl", nccl_version(static_cast<int>(code)));
  if (const auto start = moment_of(words(document, "start_time"))) results.date(*start);
  static const Json kNothing = Json::object();
  const Json& config = document.contains("config") ? document["config"] : kNothing;
  const HostsOfGroups hosts = hosts_of_devices(config, results);
  const MeasuredPlaces places = places_of_group(hosts, hints, "/config/devices", results, diagnostics);
  if (places.ranks < 1) return;
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
                  nccl_type(words(row, "type"), diagnostics, at),
                  place[0] == 'i',
                  figure(body, "time", figure(body, "cpu_time", -1)),
                  std::nullopt,
                  false,
                  {}};
      if (body.contains("nwrong") && body["nwrong"].is_number()) out.wrong = body["nwrong"].get<double>();
      out.checked = out.wrong.has_value();
      const std::string each = std::string(place) + "_per_iter";
      if (row.contains(each) && row[each].is_object() && row[each].contains("times_us") &&
          row[each]["times_us"].is_array())
        for (const Json& sample : row[each]["times_us"])
          if (sample.is_number() && sample.get<double>() > 0 && sample.get<double>() <= kLongestTime_us)
            out.samples.push_back(sample.get<double>());
      add_nccl_row(out, op, places, iterations, at, results, diagnostics);
    }
  }
}

}  // namespace stepcast
