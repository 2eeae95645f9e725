#include "sweeps/progress_text.hpp"

#include <fmt/format.h>

#include "report/humane.hpp"

namespace stepcast {

std::string progress_text(const SweepProgress& progress) {
  const StoreCounts& counts = progress.counts;
  const double share = counts.points > 0 ? static_cast<double>(counts.done()) / static_cast<double>(counts.points) : 1;
  std::string out = fmt::format("{} of {} ({})", whole(counts.done()), whole(counts.points), percent(share));
  if (counts.invalid > 0) out += fmt::format(", {} not legal", whole(counts.invalid));
  if (counts.failed > 0) out += fmt::format(", {} failed", whole(counts.failed));
  if (progress.computed > 0) out += fmt::format(", {}/s", humane_count(progress.per_second()));
  if (progress.computed > 0 && counts.done() < counts.points)
    out += fmt::format(", {} left", humane(Seconds(progress.seconds_left())));
  return out;
}

}  // namespace stepcast
