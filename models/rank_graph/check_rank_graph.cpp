#include "models/rank_graph/check_rank_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace stepcast {

void RankGraphCheck::run() {
  check_ranks();
  check_groups();
  end_pass();
  for (int p = 0; p < static_cast<int>(graph_.programs.size()); ++p)
    for (int i = 0; i < static_cast<int>(graph_.programs[p].operations.size()); ++i) check_operation(p, i);
  end_pass();
  order_programs();
  end_pass();
  find_meetings();
  match_messages();
  end_pass();
}

void RankGraphCheck::end_pass() {
  if (!faults_.empty()) throw InputError(std::move(faults_));
}

void RankGraphCheck::fault(Fault place, std::string message, std::string suggestion) {
  if (faults_.size() == kMostFaults) {
    place.message = fmt::format("more than {} faults; the others are not listed", kMostFaults);
    faults_.push_back(std::move(place));
    return end_pass();
  }
  place.message = std::move(message);
  place.suggestion = std::move(suggestion);
  faults_.push_back(std::move(place));
}

void RankGraphCheck::fault(int program, int operation, std::string message, std::string suggestion) {
  fault(places_.of_operation(program, operation, graph_.programs[program].operations[operation].id), std::move(message),
        std::move(suggestion));
}

void RankGraphCheck::check_ranks() {
  const int ranks = graph_.ranks.value();
  index_.program_of_.assign(ranks, -1);
  for (int r = 0; r < ranks; ++r) index_.all_ranks_.push_back(r);
  std::size_t operations = 0;
  for (int p = 0; p < static_cast<int>(graph_.programs.size()); ++p) {
    operations += graph_.programs[p].operations.size();
    for (const int rank : graph_.programs[p].ranks) {
      if (rank >= ranks)
        fault(places_.of_program(p), fmt::format("rank {} does not exist: there are {}", rank, ranks));
      else if (index_.program_of_[rank] >= 0)
        fault(places_.of_program(p), fmt::format("rank {} runs another program as well", rank));
      else
        index_.program_of_[rank] = p;
    }
  }
  const auto idle = std::find(index_.program_of_.begin(), index_.program_of_.end(), -1);
  if (idle != index_.program_of_.end())
    fault(places_.of_graph("/programs"),
          fmt::format("rank {} of {} runs no program", idle - index_.program_of_.begin(), ranks),
          "an empty list of operations is a program, too");
  if (operations > kMostRankOperations)
    fault(places_.of_graph("/programs"),
          fmt::format("found {} operations, expected at most {}", operations, kMostRankOperations));
}

void RankGraphCheck::check_groups() {
  for (std::size_t g = 0; g < graph_.groups.size(); ++g) {
    const RankGroup& group = graph_.groups[g];
    const std::string at = fmt::format("/groups/{}", g);
    if (group.name.empty()) fault(places_.of_graph(at + "/name"), "found no name, expected one");
    if (!index_.group_by_name_.emplace(group.name, static_cast<int>(g) + 1).second)
      fault(places_.of_graph(at + "/name"), fmt::format("another group is called \"{}\"", group.name));
    if (group.members.empty()) fault(places_.of_graph(at + "/members"), "found no ranks, expected a list of them");
    index_.lists_.emplace_back();
    for (std::size_t l = 0; l < group.members.size(); ++l) check_list(g, l);
  }
}

void RankGraphCheck::check_list(std::size_t g, std::size_t l) {
  const RankGroup& group = graph_.groups[g];
  const std::string at = fmt::format("/groups/{}/members/{}", g, l);
  if (group.members[l].empty()) fault(places_.of_graph(at), fmt::format("group \"{}\" has an empty list", group.name));
  for (const int rank : group.members[l]) {
    if (rank < 0 || rank >= index_.ranks())
      fault(places_.of_graph(at), fmt::format("group \"{}\" names rank {}, which does not exist: there are {}",
                                              group.name, rank, index_.ranks()));
    else if (!index_.lists_[g].emplace(rank, static_cast<int>(l)).second)
      fault(places_.of_graph(at), fmt::format("group \"{}\" names rank {} twice", group.name, rank));
  }
}

void RankGraphCheck::check_operation(int program, int i) {
  check_keys(program, i);
  const RankOperation& operation = graph_.programs[program].operations[i];
  if (operation.kind == RankOperationKind::collective) check_membership(program, i);
  if (operation.peer || operation.peer_offset) check_peer(program, i);
}

void RankGraphCheck::check_peer(int program, int i) {
  const RankOperation& operation = graph_.programs[program].operations[i];
  for (const int rank : graph_.programs[program].ranks) {
    const int peer = *peer_of(operation, rank);
    if (peer == rank)
      return fault(program, i, fmt::format("{}: rank {} exchanges a message with itself", describe(operation), rank));
    if (peer < 0 || peer >= index_.ranks())
      return fault(program, i,
                   fmt::format("{}: the peer of rank {} is rank {}, which does not exist: there are {}",
                               describe(operation), rank, peer, index_.ranks()));
  }
}

/// What a kind needs, and what means nothing to it.
void RankGraphCheck::check_keys(int program, int i) {
  using Kind = RankOperationKind;
  const RankOperation& op = graph_.programs[program].operations[i];
  const Kind kind = op.kind;
  const bool timed = kind == Kind::compute || kind == Kind::memory || kind == Kind::storage;
  const bool message = kind == Kind::send || kind == Kind::receive;
  const bool barrier = op.collective == CollectiveKind::barrier;
  const auto refuse = [&](std::string_view key) {
    fault(program, i, fmt::format("{} has {}, which means nothing to a {}", describe(op), key, name_of(kind)));
  };
  const auto want = [&](std::string_view what) {
    fault(program, i, fmt::format("{}: a {} needs {}", describe(op), name_of(kind), what));
  };
  if (op.duration && !timed) refuse("duration_us");
  if (op.work && kind != Kind::compute) refuse("work_GFLOPs");
  if (op.memory && kind != Kind::compute && kind != Kind::memory) refuse("memory_bytes");
  if (op.collective && kind != Kind::collective) refuse("collective");
  if (op.size && (kind == Kind::compute || kind == Kind::memory)) refuse("size_bytes");
  if (op.share && op.collective != CollectiveKind::all_gather)
    fault(program, i, fmt::format("{} has share_bytes, which means something to an all_gather alone", describe(op)));
  if (!op.group.empty() && kind != Kind::collective) refuse("group");
  if (op.peer && !message) refuse("peer");
  if (op.peer_offset && !message) refuse("peer_offset");
  if (op.peer && op.peer_offset) fault(program, i, fmt::format("{} has peer and peer_offset", describe(op)));
  if (op.tag && !message) refuse("tag");
  if (op.host && !timed) refuse("host");
  if (op.duration && (op.work || op.memory || op.size))
    fault(program, i, fmt::format("{} has duration_us and what it would follow from", describe(op)),
          "give one of both");
  if (kind == Kind::compute && !op.duration && !op.work && !op.memory) want("duration_us, work_GFLOPs or memory_bytes");
  if (kind == Kind::memory && !op.duration && !op.memory) want("duration_us or memory_bytes");
  if (kind == Kind::storage && !op.duration && !op.size) want("duration_us or size_bytes");
  if (kind == Kind::collective && !op.collective) want("collective");
  if (((kind == Kind::collective && op.collective && !barrier) || kind == Kind::send) && !op.size && !op.share)
    want("size_bytes");
  if (op.size && op.share) fault(program, i, fmt::format("{} has size_bytes and share_bytes", describe(op)));
  if (message && !op.peer && !op.peer_offset) want("peer");
}

void RankGraphCheck::check_membership(int program, int i) {
  const RankOperation& op = graph_.programs[program].operations[i];
  if (op.group.empty()) return;
  const auto known = index_.group_by_name_.find(op.group);
  if (known == index_.group_by_name_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, group] : index_.group_by_name_) names.push_back(name);
    const std::string hint = did_you_mean(op.group, names);
    fault(program, i, fmt::format("{}: there is no group \"{}\"", describe(op), op.group),
          hint.empty() && !names.empty() ? expected_one_of(names) : hint);
    return;
  }
  for (const int rank : graph_.programs[program].ranks)
    if (index_.list_of(known->second, rank) < 0)
      return fault(program, i, fmt::format("{}: rank {} is not in group \"{}\"", describe(op), rank, op.group));
}

void RankGraphCheck::order_programs() {
  for (int p = 0; p < static_cast<int>(graph_.programs.size()); ++p) {
    std::vector<ProgramFault> found;
    index_.orders_.emplace_back(graph_.programs[p], found);
    for (ProgramFault& wrong : found) fault(p, wrong.operation, std::move(wrong.message), std::move(wrong.suggestion));
  }
}

void RankGraphCheck::find_meetings() {
  for (int p = 0; p < static_cast<int>(graph_.programs.size()); ++p) {
    index_.meetings_.emplace_back();
    for (const std::int32_t i : index_.orders_[p].order()) {
      const RankOperation& operation = graph_.programs[p].operations[i];
      if (operation.kind == RankOperationKind::collective) index_.meetings_[p][index_.group_of(operation)].push_back(i);
    }
  }
  std::set<int> used;
  for (const auto& of_program : index_.meetings_)
    for (const auto& [group, meetings] : of_program) used.insert(group);
  for (const int group : used) {
    const int lists = group == 0 ? 1 : static_cast<int>(graph_.groups[group - 1].members.size());
    for (int list = 0; list < lists; ++list) compare_meetings(group, list);
  }
}

void RankGraphCheck::compare_meetings(int group, int list) {
  const auto members = index_.members(group, list);
  std::set<int> compared{index_.program_of(members.front())};
  for (const int rank : members)
    if (compared.insert(index_.program_of(rank)).second) compare_programs(group, list, members.front(), rank);
}

void RankGraphCheck::compare_programs(int group, int, int first_rank, int rank) {
  const int one = index_.program_of(first_rank), other = index_.program_of(rank);
  const auto &a = index_.meetings(one, group), &b = index_.meetings(other, group);
  const std::string name = group == 0 ? "of all ranks" : fmt::format("of group \"{}\"", graph_.groups[group - 1].name);
  const auto text = [](const RankOperation& op) {
    return fmt::format("{} of {} bytes", op.collective ? name_of(*op.collective) : "none",
                       op.share.value_or(op.size.value_or(Bytes(0))).value());
  };
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    const RankOperation &x = graph_.programs[one].operations[a[k]], &y = graph_.programs[other].operations[b[k]];
    // What ranks hand to each other in an all_to_all may differ; the largest decides.
    const bool same_size = (x.size == y.size && x.share == y.share) || x.collective == CollectiveKind::all_to_all;
    if (x.collective == y.collective && same_size) continue;
    return fault(other, b[k],
                 fmt::format("rank {}: {} is collective {} {}: found {}, expected {} as rank {} does", rank,
                             describe(y), k + 1, name, text(y), text(x), first_rank));
  }
  if (a.size() == b.size()) return;
  const bool more = b.size() > a.size();
  const int program = more ? other : one;
  fault(program, (more ? b : a)[std::min(a.size(), b.size())],
        fmt::format("rank {} takes part in {} collectives {}, rank {} in {}", rank, b.size(), name, first_rank,
                    a.size()));
}

void RankGraphCheck::match_messages() {
  using Key = std::tuple<int, int, int>;  // from, to, tag
  struct Ends {
    std::vector<std::int32_t> sends, receives;
  };
  std::map<Key, Ends> ends;
  for (int p = 0; p < static_cast<int>(graph_.programs.size()); ++p)
    for (const std::int32_t i : index_.orders_[p].order()) {
      const RankOperation& op = graph_.programs[p].operations[i];
      if (op.kind != RankOperationKind::send && op.kind != RankOperationKind::receive) continue;
      for (const int rank : graph_.programs[p].ranks) {
        const int peer = *peer_of(op, rank), tag = op.tag.value_or(0);
        if (op.kind == RankOperationKind::send) ends[{rank, peer, tag}].sends.push_back(i);
        if (op.kind == RankOperationKind::receive) ends[{peer, rank, tag}].receives.push_back(i);
      }
    }
  for (const auto& [key, both] : ends) {
    const auto [from, to, tag] = key;
    const int sender = index_.program_of(from), receiver = index_.program_of(to);
    const std::size_t matched = std::min(both.sends.size(), both.receives.size());
    for (std::size_t k = 0; k < matched; ++k) {
      const RankOperation& send = graph_.programs[sender].operations[both.sends[k]];
      const RankOperation& receive = graph_.programs[receiver].operations[both.receives[k]];
      if (receive.size && send.size && *receive.size != *send.size)
        fault(receiver, both.receives[k],
              fmt::format("{} expects {} bytes from rank {}, whose {} sends {}", describe(receive),
                          receive.size->value(), from, describe(send), send.size->value()));
      index_.messages_.push_back({from, to, both.sends[k], both.receives[k]});
    }
    if (both.sends.size() > matched)
      fault(sender, both.sends[matched],
            fmt::format("{} sends to rank {} with tag {}, which receives {} such messages from rank {} and not {}",
                        describe(graph_.programs[sender].operations[both.sends[matched]]), to, tag, matched, from,
                        both.sends.size()));
    if (both.receives.size() > matched)
      fault(receiver, both.receives[matched],
            fmt::format("{} receives from rank {} with tag {}, which sends {} such messages to rank {} and not {}",
                        describe(graph_.programs[receiver].operations[both.receives[matched]]), from, tag, matched, to,
                        both.receives.size()));
  }
}

}  // namespace stepcast
