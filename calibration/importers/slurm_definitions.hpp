#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Where in a file of Slurm's something stands: a line of topology.conf, or a JSON pointer into topology.yaml.
struct SlurmPlace {
  int line = 0;
  std::string pointer = {};
};

/// A switch or a block as a file defines it: hosts, or names of other switches, below it.
struct SlurmDefinition {
  SlurmPlace place;
  std::string name;
  std::vector<std::string> hosts, switches;
};

/// What a file defines, whichever of the two formats it has, before it is joined to a tree. Faults go to the
/// diagnostics, with their place.
class SlurmDefinitions {
 public:
  explicit SlurmDefinitions(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// `nodes` and `switches` are host lists; nothing where the file has none. A switch may keep a place for some.
  void add_switch(const SlurmPlace& place, const std::string& name, const std::optional<std::string>& nodes,
                  const std::optional<std::string>& switches);
  /// A block, of hosts that share a faster network (NVLink of a rack). One without hosts keeps a place for some, and is
  /// noted and left out.
  void add_block(const SlurmPlace& place, const std::string& name, const std::optional<std::string>& nodes);
  /// One of BlockSizes; false where it is no number above zero.
  bool add_block_size(const SlurmPlace& place, std::string_view text);
  void note_link_speed() { link_speeds_ = true; }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  void fault(const SlurmPlace& place, const std::string& message, std::string suggestion = {});
  /// What is neither a tree nor of blocks: `what` of hosts, of the plugin topology/`plugin`.
  void refuse_plugin(const SlurmPlace& place, std::string_view what, std::string_view plugin,
                     std::string suggestion = "trees and blocks are read");

  /// Makes switches of the blocks, as where a file has no other.
  void take_blocks_as_switches();
  /// Leaves out, with a note, switches that have no host below them.
  void leave_out_empty_switches();

  [[nodiscard]] bool ok() const { return diagnostics_.ok(); }
  [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }
  [[nodiscard]] const std::vector<SlurmDefinition>& list() const { return list_; }
  [[nodiscard]] const std::vector<SlurmDefinition>& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<int>& block_sizes() const { return block_sizes_; }
  [[nodiscard]] bool has_switches() const { return has_switches_; }
  [[nodiscard]] bool has_blocks() const { return has_blocks_; }
  [[nodiscard]] bool has_link_speeds() const { return link_speeds_; }
  /// What was odd, and blocks and switches that were left out.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// A definition by its name; −1 where there is none.
  [[nodiscard]] int find(const std::string& name) const;
  /// A switch that no file names, over those of `switches`; its name has a `+` where a file has the same.
  std::string join(const std::string& name, std::vector<std::string> switches);

 private:
  std::vector<std::string> names(const SlurmPlace& place, const std::optional<std::string>& expression);
  bool is_name(const SlurmPlace& place, const std::string& name, const char* what);
  void add(SlurmDefinition definition);

  Diagnostics& diagnostics_;
  std::vector<SlurmDefinition> list_, blocks_;
  std::map<std::string, int> index_;
  std::vector<int> block_sizes_;
  std::vector<std::string> notes_, empty_blocks_, empty_switches_;
  std::size_t names_ = 0;
  bool has_blocks_ = false, has_switches_ = false, link_speeds_ = false;
};

}  // namespace stepcast
