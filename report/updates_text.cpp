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
  std::string out = line("staleness", fmt::format("{:.1f} updates missed on average, 95 % at most {:.0f}, most {:.0f}",
                                                  staleness.mean, staleness.p95, staleness.most));
  const std::size_t width = (staleness.shares.size() + kLines - 1) / kLines;
  for (std::size_t from = 0; width > 0 && from < staleness.shares.size(); from += width) {
    const std::size_t to = std::min(from + width, staleness.shares.size());
    double share = 0;
    for (std::size_t i = from; i < to; ++i) share += staleness.shares[i];
    const std::string label = width == 1 ? fmt::format("{}", from) : fmt::format("{} to {}", from, to - 1);
    std::string text =
        fmt::format("  {}{}  {}", pad_left(label, kLabel - 2), pad_left(percent(share), 10), bar(share, kBar));
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

/// Learners that exchange gradients in collectives and weights with actors alone.
std::string actors_text(const UpdateOutcome& outcome) {
  const ActorOutcome& actors = *outcome.actors;
  std::string out = line("learners", fmt::format("{}", outcome.workers));
  out += line("actors", fmt::format("{} that could generate {:.3g} samples/s", actors.copies, actors.samples_per_s));
  out += line("under way on each", fmt::format("{:.3g} samples", actors.under_way));
  out += line("a sample takes", humane(actors.sample));
  out += line("weights reach actors in", humane(actors.broadcast));
  if (actors.idle > 0) out += line("actors idle", percent(actors.idle) + " of their time");
  return out + distribution(*outcome.staleness);
}

}  // namespace

std::string updates_text(const UpdateOutcome& outcome) {
  std::string out = fmt::format("\nUpdates: {}\n", outcome.mode);
  if (outcome.actors) return out + actors_text(outcome);
  std::string who = fmt::format("{}", outcome.workers);
  if (outcome.servers > 0)
    who += fmt::format(", and {} {}", outcome.servers, outcome.servers == 1 ? "server" : "servers");
  out += line("workers", who);
  out += line("sent by a worker", humane(outcome.sent_per_worker) + " a step");
  out += line("received by a worker", humane(outcome.received_per_worker) + " a step");
  if (outcome.steps_per_exchange > 1)
    out += line("an exchange every", fmt::format("{:.0f} steps", outcome.steps_per_exchange));
  out += line("an exchange takes", humane(outcome.exchange));
  if (outcome.server_busy > 0) out += line("busiest server's link", percent(outcome.server_busy) + " in use");
  if (outcome.dropped_share > 0) out += line("gradients dropped", percent(outcome.dropped_share));
  if (outcome.staleness) out += distribution(*outcome.staleness);
  return out;
}

}  // namespace stepcast
