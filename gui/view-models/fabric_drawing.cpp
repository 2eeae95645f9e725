#include "gui/view-models/fabric_drawing.hpp"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "models/fabric/levels.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/scenario/scenario.hpp"
#include "models/updates/timeline_fault.hpp"

namespace stepcast {

namespace {

/// Boxes of one row that can still be told apart on a screen.
constexpr int kMostBoxes = 64;

/// Counters of the trace by kind of place ("node", "leaf", "pod") and number.
struct Traffic {
  struct Ends {
    const TimelineCounter *up = nullptr, *down = nullptr;
  };
  std::map<QString, std::map<int, Ends>> by_kind;

  explicit Traffic(const TimelineData* timeline) {
    if (timeline == nullptr) return;
    static const QRegularExpression pattern(
        QStringLiteral("^(node|leaf|pod|group|site) (\\d+).* (NICs out|NICs in|up-links|down-links)$"));
    for (const TimelineCounter& counter : timeline->counters) {
      const auto match = pattern.match(counter.name);
      if (!match.hasMatch()) continue;
      Ends& ends = by_kind[match.captured(1)][match.captured(2).toInt()];
      const QString way = match.captured(3);
      (way == QLatin1String("NICs out") || way == QLatin1String("up-links") ? ends.up : ends.down) = &counter;
    }
  }

  /// The representative that stands for a place: representatives are numbered in the order of the places.
  [[nodiscard]] Ends of(const QString& kind, double position) const {
    const auto found = by_kind.find(kind);
    if (found == by_kind.end() || found->second.empty()) return {};
    const auto count = static_cast<double>(found->second.size());
    auto at = found->second.begin();
    std::advance(at, static_cast<int>(std::clamp(position * count, 0.0, count - 1)));
    return at->second;
  }
};

QString kind_of_level(std::size_t level) {
  return level == 0   ? QStringLiteral("leaf")
         : level == 1 ? QStringLiteral("pod")
         : level == 2 ? QStringLiteral("site")
                      : QStringLiteral("group");
}

/// What people call the groups of a level: one, and several.
struct LevelWords {
  QString one, several;
};
LevelWords server_words() { return {tr("server"), tr("servers")}; }
LevelWords site_words() { return {tr("site"), tr("sites")}; }

/// Of a torus: its levels are what an axis after the other joins, and its halves.
std::vector<LevelWords> torus_words(const TorusPlan& plan) {
  static constexpr std::array kAxes{'x', 'y', 'z'};
  std::vector<LevelWords> out;
  QString joined;
  for (int axis = 0; axis < plan.axes; ++axis) {
    if (plan.grid[static_cast<std::size_t>(axis)] < 2) continue;
    out.push_back(joined.isEmpty()     ? LevelWords{tr("router"), tr("routers")}
                  : joined.size() == 1 ? LevelWords{tr("%1 row").arg(joined), tr("%1 rows").arg(joined)}
                                       : LevelWords{tr("%1 plane").arg(joined), tr("%1 planes").arg(joined)});
    joined += QLatin1Char(kAxes[static_cast<std::size_t>(axis)]);
  }
  out.push_back({tr("half"), tr("halves")});
  return out;
}

/// Words for each level of a network, from the servers outwards.
std::vector<LevelWords> level_words(const Scenario& scenario, std::size_t levels) {
  const FabricSpec& spec = scenario.spec.cluster.fabric;
  const int nodes = scenario.spec.cluster.nodes, sites = spec.wan ? spec.wan->sites : 1;
  const LevelWords group{tr("group"), tr("groups")};
  std::vector<LevelWords> out{{tr("leaf"), tr("leaves")}, {tr("pod"), tr("pods")}, group};
  switch (spec.preset) {
    case FabricPreset::torus_2d:
    case FabricPreset::torus_3d:
      out = torus_words(torus_plan(spec, (nodes + sites - 1) / sites, scenario.nics_per_node, scenario.nic_bandwidth));
      break;
    case FabricPreset::dragonfly:
      out = {{tr("router"), tr("routers")}, group};
      break;
    case FabricPreset::dragonfly_plus:
      out = {out.front(), group};
      break;
    default:
      break;
  }
  out.resize(levels, group);
  if (sites > 1 && levels > 0) out.back() = site_words();
  return out;
}

class Draughtsman {
 public:
  Draughtsman(const Scenario& scenario, const TimelineData* timeline)
      : scenario_(scenario),
        traffic_(timeline),
        nodes_(scenario.spec.cluster.nodes),
        levels_(fabric_levels(scenario.spec.cluster.fabric, nodes_, scenario.nics_per_node, scenario.nic_bandwidth,
                              scenario.network_switch)) {}

  FabricDrawing draw() {
    const std::vector<LevelWords> words = level_words(scenario_, levels_.levels.size());
    add_row(0, 1, QStringLiteral("node"), server_words(),
            (scenario_.nic_bandwidth * scenario_.nics_per_node).in(1_GBps), scenario_.nics_per_node);
    int row = 1;
    for (std::size_t level = 0; level < levels_.levels.size(); ++level) {
      const FabricLevel& l = levels_.levels[level];
      add_row(row++, l.nodes, kind_of_level(level), words[level], l.up.in(1_GBps), l.links);
    }
    out_.boxes.push_back(
        {.row = row, .first = 0, .count = nodes_, .name = tr("top of the network"), .kind = QStringLiteral("top")});
    out_.rows = row + 1;
    join_rows();
    const int nics = scenario_.nics_per_node;
    out_.summary =
        tr("%1, %2, %3 of %4 Gb/s%5%6")
            .arg(qt(name_of(scenario_.spec.cluster.fabric.preset)),
                 counted(nodes_, server_words().one, server_words().several), counted(nics, tr("NIC"), tr("NICs")),
                 shown_number(scenario_.nic_bandwidth.in(1_Gbps)), nics == 1 ? QString() : tr(" each"),
                 levels_.rails_apart ? tr(", each rail with leaves of its own") : QString());
    const std::optional<Fault> never = timeline_fault(scenario_);
    out_.without_traffic = never ? tr("never simulated") : tr("not simulated yet");
    if (never) out_.why_without_traffic = sentence(qt(never->message));
    return std::move(out_);
  }

 private:
  /// Groups of `size` servers; several share a box when there are too many.
  void add_row(int row, int size, const QString& kind, const LevelWords& words, double capacity, int links) {
    const int groups = (nodes_ + size - 1) / size;
    const int together = (groups + kMostBoxes - 1) / kMostBoxes;
    for (int group = 0; group < groups; group += together) {
      const int members = std::min(together, groups - group);
      FabricBox box;
      box.row = row;
      box.first = group * size;
      box.count = std::min(members * size, nodes_ - box.first);
      box.kind = kind;
      box.capacity = capacity;
      box.links = links;
      box.name = members == 1 ? QStringLiteral("%1 %2").arg(words.one).arg(group)
                              : tr("%1 %2 – %3, each").arg(words.several).arg(group).arg(group + members - 1);
      const auto ends = traffic_.of(kind, (group + members / 2.0) / groups);
      box.up = ends.up;
      box.down = ends.down;
      out_.boxes.push_back(std::move(box));
    }
  }

  void join_rows() {
    for (FabricBox& box : out_.boxes)
      for (std::size_t i = 0; i < out_.boxes.size(); ++i) {
        const FabricBox& above = out_.boxes[i];
        if (above.row != box.row + 1 || box.first < above.first || box.first >= above.first + above.count) continue;
        box.parent = static_cast<int>(i);
        break;
      }
  }

  const Scenario& scenario_;
  Traffic traffic_;
  int nodes_;
  FabricLevels levels_;
  FabricDrawing out_;
};

double value_at(const TimelineCounter* counter, long time) {
  if (counter == nullptr) return 0;
  const auto after = std::upper_bound(counter->samples.begin(), counter->samples.end(), time,
                                      [](long t, const TimelineCounter::Sample& s) { return t < s.time; });
  return after == counter->samples.begin() ? 0 : (after - 1)->value;
}

}  // namespace

double FabricDrawing::rate_at(const FabricBox& box, double share, long end) {
  const auto time = static_cast<long>(share * static_cast<double>(end));
  return std::max(value_at(box.up, time), value_at(box.down, time));
}

double FabricDrawing::mean_rate(const FabricBox& box, long end) {
  return std::max(box.up ? box.up->mean(end) : 0.0, box.down ? box.down->mean(end) : 0.0);
}

FabricDrawing fabric_drawing(const Scenario& scenario, const TimelineData* timeline) {
  return Draughtsman(scenario, timeline).draw();
}

Figures2D fabric_box_figures(const FabricDrawing& drawing, const FabricBox& box, const TimelineData* timeline,
                             double share) {
  Figures2D out;
  out.headings = {tr("Figure"), tr("Value")};
  const auto row = [&](const QString& name, const QString& value) {
    out.rows.push_back({{.text = name}, {.text = value}});
  };
  row(tr("Place"), box.name);
  row(tr("Servers below"), shown_whole(box.count));
  if (box.kind == QLatin1String("top")) return out;
  row(tr("Links up"), shown_whole(box.links));
  row(tr("Rate up, all links"), tr("%1 GB/s").arg(shown_number(box.capacity)));
  if (timeline == nullptr || (box.up == nullptr && box.down == nullptr)) {
    row(tr("Traffic"), timeline ? tr("none that can contend") : drawing.without_traffic);
    if (timeline == nullptr) out.rows.back().back().tip = drawing.why_without_traffic;
    return out;
  }
  const auto traffic = [&](const QString& way, const TimelineCounter* counter) {
    if (counter == nullptr) return;
    const auto now = value_at(counter, static_cast<long>(share * static_cast<double>(timeline->end)));
    const auto words = [&](double rate) {
      return tr("%1 GB/s (%2)").arg(shown_number(rate), shown_percent(box.capacity > 0 ? rate / box.capacity : 0));
    };
    row(tr("%1, now").arg(way), words(now));
    row(tr("%1, mean").arg(way), words(counter->mean(timeline->end)));
    row(tr("%1, highest").arg(way), words(counter->highest()));
  };
  traffic(tr("Up"), box.up);
  traffic(tr("Down"), box.down);
  return out;
}

}  // namespace stepcast
