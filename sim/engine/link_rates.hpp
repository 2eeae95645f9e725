#pragma once

#include <vector>

#include "sim/engine/path_hosts.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// Records how fast each link carries bytes, as steps in time: what the clock's flows do, and what SimGrid's share.
class LinkRateRecorder {
 public:
  explicit LinkRateRecorder(std::size_t links) : links_(links) {}

  /// From now on the flow that is alone on a link goes at `rate` (0: it ended or went over to SimGrid).
  void set_lone_rate(LinkId link, double now, double rate) {
    lone_.push_back({Seconds(now), link, BytesPerSecond(rate)});
  }
  /// A flow that SimGrid shares has begun on a link.
  void flow_joined(LinkId link);
  /// It has ended there.
  void flow_left(LinkId link) { --links_[link].flows; }

  /// Reads the rates of the interval of time that has just passed. Call on each advance of SimGrid's clock.
  void sample(double now, const PathHosts& hosts);

  /// Both kinds of rates added up, in the order of (time, link), 0 after `end`.
  [[nodiscard]] std::vector<LinkRate> merged(Seconds end) const;

 private:
  struct SharedLink {
    int flows = 0;
    bool sampled = false;
    double rate = 0;
  };
  std::vector<SharedLink> links_;
  std::vector<LinkId> sampled_;
  double latest_ = 0;
  std::vector<LinkRate> lone_, shared_;
};

}  // namespace stepcast
