#include "calibration/importers/chakra/mirror_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace stepcast {

namespace {

constexpr int kNobody = -1;

class Mirror {
 public:
  Mirror(RankGraph& graph, const std::string& file)
      : graph_(graph), file_(file), program_of_(static_cast<std::size_t>(*graph.ranks), kNobody) {
    for (std::size_t p = 0; p < graph.programs.size(); ++p) {
      given_.push_back(graph.programs[p].ranks.front());
      for (const int rank : graph.programs[p].ranks) program_of_[rank] = static_cast<int>(p);
      traced_ += static_cast<int>(graph.programs[p].ranks.size());
    }
  }

  bool complete() const { return std::find(program_of_.begin(), program_of_.end(), kNobody) == program_of_.end(); }

  void assign(const std::vector<std::vector<int>>& stands_for) {
    for (std::size_t p = 0; p < stands_for.size(); ++p)
      for (const int rank : stands_for[p])
        if (program_of_[rank] == kNobody) program_of_[rank] = static_cast<int>(p);
    // Before the first rank that has a trace, the first.
    int nearest = 0;
    for (int& program : program_of_) {
      if (program == kNobody) program = nearest;
      nearest = program;
    }
    for (RankProgram& program : graph_.programs) program.ranks.clear();
    for (std::size_t rank = 0; rank < program_of_.size(); ++rank)
      graph_.programs[program_of_[rank]].ranks.push_back(static_cast<int>(rank));
  }

  /// What several ranks do says whom they meet by how far away it is.
  void shift_messages() {
    for (std::size_t p = 0; p < graph_.programs.size(); ++p) {
      if (graph_.programs[p].ranks.size() < 2) continue;
      for (RankOperation& operation : graph_.programs[p].operations)
        if (operation.peer) operation.peer_offset = *std::exchange(operation.peer, std::nullopt) - given_[p];
    }
  }

  void repeat_groups() {
    for (RankGroup& group : graph_.groups) {
      std::set<int> wanted = users_of(group.name);
      std::set<int> taken;
      for (const auto& members : group.members) taken.insert(members.begin(), members.end());
      for (const int rank : taken) wanted.erase(rank);
      while (!wanted.empty()) {
        const int lead = *wanted.begin();
        const std::vector<int> shifted = shift(group, lead);
        for (const int rank : shifted) {
          if (rank < 0 || rank >= *graph_.ranks || !taken.insert(rank).second) refuse(group, lead);
          wanted.erase(rank);
        }
        group.members.push_back(shifted);
      }
    }
  }

  std::string note() const {
    return fmt::format("{} of {} ranks have no trace: they do what {} does, in groups of their own",
                       *graph_.ranks - traced_, *graph_.ranks,
                       traced_ == 1 ? fmt::format("rank {}", given_.front()) : "the nearest traced rank below");
  }

 private:
  std::set<int> users_of(const std::string& name) const {
    std::set<int> out;
    for (const RankProgram& program : graph_.programs)
      if (std::any_of(program.operations.begin(), program.operations.end(),
                      [&](const RankOperation& operation) { return operation.group == name; }))
        out.insert(program.ranks.begin(), program.ranks.end());
    return out;
  }

  static std::vector<int> shift(const RankGroup& group, int lead) {
    const std::vector<int>& first = group.members.front();
    const int by = lead - *std::min_element(first.begin(), first.end());
    std::vector<int> out;
    out.reserve(first.size());
    for (const int rank : first) out.push_back(rank + by);
    return out;
  }

  [[noreturn]] void refuse(const RankGroup& group, int lead) const {
    throw InputError(
        {{file_, "",
          fmt::format("rank {} has no trace, and process group \"{}\" cannot be repeated for it", lead, group.name),
          "import the traces of all ranks"}});
  }

  RankGraph& graph_;
  const std::string& file_;
  std::vector<int> program_of_;
  std::vector<int> given_;  ///< by program: its first rank with a trace
  int traced_ = 0;
};

}  // namespace

std::string mirror_ranks(RankGraph& graph, const std::vector<std::vector<int>>& stands_for, const std::string& file) {
  Mirror mirror(graph, file);
  if (mirror.complete()) return {};
  mirror.assign(stands_for);
  mirror.shift_messages();
  mirror.repeat_groups();
  const bool stated =
      std::any_of(stands_for.begin(), stands_for.end(), [](const auto& ranks) { return !ranks.empty(); });
  return stated ? std::string() : mirror.note();
}

}  // namespace stepcast
