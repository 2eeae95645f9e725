#pragma once

namespace stepcast {

/// Channels of NCCL's rings and trees that leave a node by one NIC, each over a connection of its own: its search
/// doubles those that it finds (src/graph/connect.cc), and a public log of a p4d shows eight on four NICs.
inline constexpr int kChannelsOfNic = 2;

}  // namespace stepcast
