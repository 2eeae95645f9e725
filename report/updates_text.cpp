#include "report/updates_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/humane.hpp"

namespace stepcast {

namespace {

constexpr int kLabel = 26;
constexpr int kBar = 36;
/// Lines that a distribution is printed in at most.
constexpr std::size_t kLines = 12;

std::string line(const std::string& label, const std::string& value) {
  return fmt::format("  {}{}\n", pad_right(label, kLabel), value);
}

std::string distribution(const Staleness& staleness) {
  std::string out;
  for (const auto& [label, share] : staleness_classes(staleness)) {
    const std::string text =
        fmt::format("  {}{}  {}", pad_left(label, kLabel - 2), pad_left(percent(share), 10), bar(share, kBar));
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

using UpdateFigures = std::vector<std::pair<std::string, std::string>>;

/// Learners that exchange gradients in collectives and weights with actors alone.
UpdateFigures actor_figures(const UpdateOutcome& outcome) {
  const ActorOutcome& actors = *outcome.actors;
  UpdateFigures out{
      {"learners", fmt::format("{}", outcome.workers)},
      {"actors", fmt::format("{} that could generate {:.3g} samples/s", actors.copies, actors.samples_per_s)},
      {"under way on each", fmt::format("{:.3g} samples", actors.under_way)},
      {"a sample takes", humane(actors.sample)},
      {"weights reach actors in", humane(actors.broadcast)}};
  if (actors.idle > 0) out.emplace_back("actors idle", percent(actors.idle) + " of their time");
  return out;
}

UpdateFigures worker_figures(const UpdateOutcome& outcome) {
  std::string who = fmt::format("{}", outcome.workers);
  if (outcome.servers > 0)
    who += fmt::format(", and {} {}", outcome.servers, outcome.servers == 1 ? "server" : "servers");
  UpdateFigures out{{"workers", who},
                    {"sent by a worker", humane(outcome.sent_per_worker) + " a step"},
                    {"received by a worker", humane(outcome.received_per_worker) + " a step"}};
  if (outcome.steps_per_exchange > 1)
    out.emplace_back("an exchange every", fmt::format("{:.0f} steps", outcome.steps_per_exchange));
  out.emplace_back("an exchange takes", humane(outcome.exchange));
  if (outcome.server_busy > 0) out.emplace_back("busiest server's link", percent(outcome.server_busy) + " in use");
  if (outcome.dropped_share > 0) out.emplace_back("gradients dropped", percent(outcome.dropped_share));
  return out;
}

}  // namespace

std::vector<std::pair<std::string, double>> staleness_classes(const Staleness& staleness) {
  std::vector<std::pair<std::string, double>> out;
  const std::size_t width = (staleness.shares.size() + kLines - 1) / kLines;
  for (std::size_t from = 0; width > 0 && from < staleness.shares.size(); from += width) {
    const std::size_t to = std::min(from + width, staleness.shares.size());
    double share = 0;
    for (std::size_t i = from; i < to; ++i) share += staleness.shares[i];
    out.emplace_back(width == 1 ? fmt::format("{}", from) : fmt::format("{} to {}", from, to - 1), share);
  }
  return out;
}

UpdateFigures update_figures(const UpdateOutcome& outcome) {
  UpdateFigures out = outcome.actors ? actor_figures(outcome) : worker_figures(outcome);
  if (outcome.staleness)
    out.emplace_back("staleness",
                     fmt::format("{:.1f} updates missed on average, 95 % at most {:.0f}, most {:.0f}",
                                 outcome.staleness->mean, outcome.staleness->p95, outcome.staleness->most));
  return out;
}

std::string updates_text(const UpdateOutcome& outcome) {
  std::string out = fmt::format("\nUpdates: {}\n", outcome.mode);
  for (const auto& [name, value] : update_figures(outcome)) out += line(name, value);
  return outcome.staleness ? out + distribution(*outcome.staleness) : out;
}

}  // namespace stepcast
