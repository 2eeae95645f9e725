#include "report/rank_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "version.hpp"

namespace stepcast {

namespace {

/// What a stretch of time is for a rank; the first that applies counts.
enum class Doing : std::uint8_t { compute, communication, host };

/// Stretches of time, merged where they touch.
class Stretches {
 public:
  void add(const Span& span) {
    if (span.end > span.start) spans_.emplace_back(span.start.value(), span.end.value());
  }
  /// Sorted and without overlaps.
  std::vector<std::pair<double, double>> merged() {
    std::sort(spans_.begin(), spans_.end());
    std::vector<std::pair<double, double>> out;
    for (const auto& span : spans_) {
      if (!out.empty() && span.first <= out.back().second)
        out.back().second = std::max(out.back().second, span.second);
      else
        out.push_back(span);
    }
    return out;
  }

 private:
  std::vector<std::pair<double, double>> spans_;
};

double length(const std::vector<std::pair<double, double>>& spans) {
  double out = 0;
  for (const auto& [from, to] : spans) out += to - from;
  return out;
}

std::vector<std::pair<double, double>> both(const std::vector<std::pair<double, double>>& a,
                                            const std::vector<std::pair<double, double>>& b) {
  Stretches all;
  for (const auto& [from, to] : a) all.add({Seconds(from), Seconds(from), Seconds(to)});
  for (const auto& [from, to] : b) all.add({Seconds(from), Seconds(from), Seconds(to)});
  return all.merged();
}

bool is_communication(const RankOperation& operation) {
  return operation.kind == RankOperationKind::collective || operation.kind == RankOperationKind::send ||
         operation.kind == RankOperationKind::storage;
}

const RankProgram& program_of(const LaidStep& laid, int of) {
  return laid.index->program(laid.index->program_of(laid.classes->representative(of)));
}

const RankOperation& operation_of(const LaidStep& laid, const RankStep::Part& part) {
  return program_of(laid, part.of).operations[part.place];
}

std::vector<RankClassTimes> class_times(const LaidStep& laid, const Timeline& timeline) {
  const int classes = laid.classes->count();
  std::vector<Stretches> computes(classes), communicates(classes), hosts(classes);
  for (std::size_t id = 0; id < laid.step.parts.size(); ++id) {
    const RankStep::Part& part = laid.step.parts[id];
    const RankOperation& operation = operation_of(laid, part);
    if (is_communication(operation))
      communicates[part.of].add(timeline.spans[id]);
    else if (operation.host)
      hosts[part.of].add(timeline.spans[id]);
    else
      computes[part.of].add(timeline.spans[id]);
  }
  // A message keeps its receiver's links busy as well.
  for (const RankMessage& message : laid.index->messages()) {
    const int receiver = laid.classes->class_of(message.to);
    if (message.to != laid.classes->representative(receiver)) continue;
    const int sender = laid.classes->class_of(message.from);
    communicates[receiver].add(timeline.spans[laid.step.first[sender] + message.send]);
  }
  std::vector<RankClassTimes> out;
  for (int of = 0; of < classes; ++of) {
    const auto computing = computes[of].merged(), communicating = communicates[of].merged();
    const auto busy = both(computing, communicating);
    const double all = length(both(busy, hosts[of].merged()));
    out.push_back({laid.classes->representative(of), laid.classes->size(of), Seconds(length(computing)),
                   Seconds(length(busy) - length(computing)), Seconds(all - length(busy)), timeline.end - Seconds(all),
                   Seconds(length(communicating))});
  }
  return out;
}

std::string exchange_name(const RankOperation& operation) {
  return std::string(operation.collective ? name_of(*operation.collective) : name_of(operation.kind));
}

std::map<std::string, ExchangeTotal> exchange_totals(const LaidStep& laid, const Timeline& timeline) {
  std::map<std::string, ExchangeTotal> out;
  for (std::size_t id = 0; id < laid.step.parts.size(); ++id) {
    const RankStep::Part& part = laid.step.parts[id];
    const RankOperation& operation = operation_of(laid, part);
    if (!is_communication(operation)) continue;
    const double share = static_cast<double>(laid.classes->size(part.of)) / laid.index->ranks();
    ExchangeTotal& total = out[exchange_name(operation)];
    total.count += share;
    total.size += part.size * share;
    total.time += (timeline.spans[id].end - timeline.spans[id].start) * share;
  }
  return out;
}

/// What an operation of the critical path is called; empty for one that only joins others.
std::string critical_name(const LaidStep& laid, int id) {
  if (id >= static_cast<int>(laid.step.parts.size())) return {};
  const RankOperation& operation = operation_of(laid, laid.step.parts[id]);
  if (is_communication(operation)) return exchange_name(operation);
  return operation.host ? "host" : "compute";
}

std::vector<CriticalPart> critical_parts(const LaidStep& laid, const Timeline& timeline) {
  std::map<std::string, CriticalPart> parts;
  Seconds until(0);
  for (const int id : critical_path(laid.step.graph, timeline)) {
    const Span& span = timeline.spans[id];
    const std::string name = critical_name(laid, id);
    const Seconds time = span.end - std::max(span.start, until);
    until = std::max(until, span.end);
    if (name.empty() || time <= Seconds(0)) continue;
    CriticalPart& part = parts[name];
    part.what = name;
    part.time += time;
    ++part.operations;
  }
  std::vector<CriticalPart> out;
  out.reserve(parts.size());
  for (auto& [name, part] : parts) out.push_back(std::move(part));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.time > b.time; });
  return out;
}

}  // namespace

RankRun rank_run_of(const LaidStep& laid, const Timeline& timeline, const Catalog& catalog) {
  RankRun out;
  out.name = laid.source.name;
  out.source = laid.source.source;
  out.cluster = laid.cluster.words;
  out.ranks = laid.index->ranks();
  out.nodes = laid.cluster.nodes;
  for (int of = 0; of < laid.classes->count(); ++of)
    out.operations += program_of(laid, of).operations.size() * static_cast<std::size_t>(laid.classes->size(of));
  out.step_time = timeline.end;
  out.classes = class_times(laid, timeline);
  out.exchanges = exchange_totals(laid, timeline);
  out.critical = critical_parts(laid, timeline);
  out.notes = laid.source.notes;
  out.notes.insert(out.notes.end(), laid.cluster.notes.begin(), laid.cluster.notes.end());
  out.version = kVersion;
  out.catalog_hash = catalog.hash_of_used();
  return out;
}

}  // namespace stepcast
