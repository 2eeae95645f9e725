#include <fmt/format.h>

#include <algorithm>

#include "report/humane.hpp"
#include "report/rank_run.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

constexpr int kShareBar = 30;
/// Classes that the report lists; the JSON has all.
constexpr std::size_t kMostClasses = 16;

Json seconds(Seconds time) { return time.value(); }
Seconds seconds_in(const Json& document, const char* key) { return Seconds(document.at(key).get<double>()); }

std::string plural(long count, std::string_view noun) {
  return fmt::format("{} {}{}", whole(count), noun, count == 1 ? "" : "s");
}

std::string times_table(const RankRun& run) {
  std::string out = heading("What the ranks do");
  out += fmt::format("  {}{}{}{}{}{}\n", pad_right("ranks", 26), pad_left("compute", 13), pad_left("exposed comm.", 15),
                     pad_left("host", 13), pad_left("idle", 13), pad_left("all comm.", 13));
  for (std::size_t i = 0; i < std::min(run.classes.size(), kMostClasses); ++i) {
    const RankClassTimes& times = run.classes[i];
    const std::string ranks = times.ranks > 1
                                  ? fmt::format("{} and {} like it", times.representative, whole(times.ranks - 1))
                                  : fmt::format("{}", times.representative);
    out += fmt::format("  {}{}{}{}{}{}\n", pad_right(ranks, 26), pad_left(humane(times.compute), 13),
                       pad_left(humane(times.exposed_communication), 15), pad_left(humane(times.host), 13),
                       pad_left(humane(times.idle), 13), pad_left(humane(times.communication), 13));
  }
  if (run.classes.size() > kMostClasses)
    out += fmt::format("  … and {} more kinds of ranks (--json lists them)\n", run.classes.size() - kMostClasses);
  return out;
}

std::string exchanges_table(const RankRun& run) {
  if (run.exchanges.empty()) return {};
  std::string out = heading("Communication, mean of the ranks");
  out += fmt::format("  {}{}{}{}\n", pad_right("kind", 26), pad_left("operations", 13), pad_left("size", 15),
                     pad_left("time", 13));
  for (const auto& [kind, total] : run.exchanges)
    out += fmt::format("  {}{}{}{}\n", pad_right(kind, 26), pad_left(humane_count(total.count), 13),
                       pad_left(humane(total.size), 15), pad_left(humane(total.time), 13));
  return out;
}

std::string critical_table(const RankRun& run) {
  std::string out = heading("Longest chain of operations");
  for (const CriticalPart& part : run.critical) {
    const double share = run.step_time > Seconds(0) ? part.time / run.step_time : 0;
    out += fmt::format("  {}{}  {} {}  {}\n", pad_right(part.what, 18), pad_left(humane(part.time), 10),
                       bar(std::clamp(share, 0.0, 1.0), kShareBar), pad_left(percent(share), 8),
                       plural(part.operations, "operation"));
  }
  return out;
}

}  // namespace

Json to_json(const RankRun& run) {
  Json classes = Json::array(), critical = Json::array(), exchanges = Json::object();
  for (const RankClassTimes& times : run.classes)
    classes.push_back({{"representative", times.representative},
                       {"ranks", times.ranks},
                       {"compute_s", seconds(times.compute)},
                       {"exposed_communication_s", seconds(times.exposed_communication)},
                       {"host_s", seconds(times.host)},
                       {"idle_s", seconds(times.idle)},
                       {"communication_s", seconds(times.communication)}});
  for (const auto& [kind, total] : run.exchanges)
    exchanges[kind] = {{"count", total.count}, {"size_bytes", total.size.value()}, {"time_s", seconds(total.time)}};
  for (const CriticalPart& part : run.critical)
    critical.push_back({{"what", part.what}, {"time_s", seconds(part.time)}, {"operations", part.operations}});
  return {{"step_time_s", seconds(run.step_time)},
          {"graph", run.name},
          {"source", run.source},
          {"cluster", run.cluster},
          {"nodes", run.nodes},
          {"ranks", run.ranks},
          {"operations", run.operations},
          {"rank_classes", std::move(classes)},
          {"communication", std::move(exchanges)},
          {"critical_path", std::move(critical)},
          {"notes", run.notes},
          {"version", run.version},
          {"catalog_hash", run.catalog_hash}};
}

RankRun rank_run_from_json(const Json& document) {
  RankRun out;
  out.step_time = seconds_in(document, "step_time_s");
  out.name = document.at("graph").get<std::string>();
  out.source = document.at("source").get<std::string>();
  out.cluster = document.at("cluster").get<std::string>();
  out.nodes = document.at("nodes").get<int>();
  out.ranks = document.at("ranks").get<int>();
  out.operations = document.at("operations").get<std::size_t>();
  for (const Json& times : document.at("rank_classes"))
    out.classes.push_back({times.at("representative").get<int>(), times.at("ranks").get<int>(),
                           seconds_in(times, "compute_s"), seconds_in(times, "exposed_communication_s"),
                           seconds_in(times, "host_s"), seconds_in(times, "idle_s"),
                           seconds_in(times, "communication_s")});
  for (const auto& [kind, total] : document.at("communication").items())
    out.exchanges[kind] = {total.at("count").get<double>(), Bytes(total.at("size_bytes").get<double>()),
                           seconds_in(total, "time_s")};
  for (const Json& part : document.at("critical_path"))
    out.critical.push_back(
        {part.at("what").get<std::string>(), seconds_in(part, "time_s"), part.at("operations").get<int>()});
  out.notes = document.at("notes").get<std::vector<std::string>>();
  out.version = document.at("version").get<std::string>();
  out.catalog_hash = document.at("catalog_hash").get<std::string>();
  return out;
}

std::string text_report(const RankRun& run) {
  const std::string size = fmt::format("{} · {}", plural(run.nodes, "node"), plural(run.ranks, "rank"));
  std::string out = opening(run.name.empty() ? "step graph" : run.name, size);
  if (!run.source.empty()) out += run.source + "\n";
  out += run.cluster + "\n" + rule();
  out += fmt::format("  step time   {}   ({} operations)\n", humane(run.step_time),
                     whole(static_cast<long>(run.operations)));
  out += times_table(run) + exchanges_table(run) + critical_table(run);
  if (!run.notes.empty()) out += heading("Assumed");
  for (const std::string& note : run.notes) out += "  " + note + "\n";
  return out + fmt::format("\nstepcast {} · catalogue {}\n", run.version, run.catalog_hash);
}

}  // namespace stepcast
