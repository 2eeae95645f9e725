#pragma once

#include <compare>
#include <vector>

#include "models/estimate/replica_stages.hpp"

namespace stepcast {

/// Whose links they are: the NICs of a node, or the up-links of a member of a fabric level (of a leaf).
struct LinkOwner {
  static constexpr int kNics = -1;
  int level = kNics;
  int owner = 0;  ///< node or member
  int rails = 0;  ///< where stages of a node send by rails of their own
  auto operator<=>(const LinkOwner&) const = default;
};

/// The links that stages of a pipeline share: NICs where several lie on a node, up-links where their nodes lie in one
/// member of a level.
class StageLinks {
 public:
  explicit StageLinks(const ReplicaStages& stages);

  [[nodiscard]] const std::vector<LinkOwner>& of(std::size_t stage) const { return of_[stage]; }
  /// Whether a stage uses a link, too.
  [[nodiscard]] bool uses(std::size_t stage, const LinkOwner& link) const;
  /// What a stage takes of a link of its own while its groups communicate, 0 to 1.
  [[nodiscard]] double share(std::size_t stage, const GroupShape& group, const LinkOwner& link) const;

 private:
  void add_uplinks(std::size_t level);

  const ReplicaStages& stages_;
  std::vector<std::vector<LinkOwner>> of_;  ///< by stage, sorted
};

}  // namespace stepcast
