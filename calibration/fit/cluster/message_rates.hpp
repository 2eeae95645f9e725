#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/results/probe_results.hpp"

namespace stepcast {

/// Messages that compare: of one size, and sent alike.
struct MessageKind {
  double size_bytes = 0;
  std::string how;  ///< the transport of a ping-pong; "pinned" of a copy from or to such memory
  auto operator<=>(const MessageKind&) const = default;
};

/// From where to where; devices that several hosts have carry their host's name, as `n0:gpu3`.
using MessageEnds = std::pair<std::string, std::string>;
using PairRates = std::map<MessageEnds, double>;  ///< GB/s
/// Rates of messages between named ends, largest messages first.
using MessageRates = std::map<MessageKind, PairRates, std::greater<>>;

enum class Ways { inside, between };  ///< of a node, or nodes

/// Rates of ping-pongs of one direction (`one_way`, or `both`: there and back); of equal messages the best.
MessageRates ping_pong_rates(const std::vector<ProbeResults>& files, const std::string& direction, Ways ways);

/// Rates of copies: `host_to_device`, `device_to_host` or `peer`.
MessageRates copy_rates(const std::vector<ProbeResults>& files, const std::string& op);

/// A pair's rate beside the usual one of equal messages, GB/s.
struct ComparedRate {
  double rate = 0, usual = 0;
  [[nodiscard]] double share() const { return usual > 0 ? rate / usual : 1; }
};

/// Each pair at its largest messages that at least three pairs sent: a rate grows with the size, so pairs that were
/// measured to different sizes do not compare at their largest. Pairs without such messages are left out.
std::map<MessageEnds, ComparedRate> compared_rates(const MessageRates& rates);

/// Of what equal ones reach, below which a pair or a device is slow; healthy ones agree within a few per cent
/// (VLT-B200's own NICs: 42.5 to 48.4 GB/s, collectives-multinode.csv).
inline constexpr double kSlow = 0.8;

}  // namespace stepcast
