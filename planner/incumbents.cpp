#include "planner/incumbents.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Those that the closed form lets break a limit are simulated as long as they come before the best that are known to
/// keep every limit, and those that it lets keep one, too; more than so many of each take too long.
constexpr std::size_t kMostNearLimits = 64;

}  // namespace

void add_to_front(std::vector<PlanPoint>& front, const PlanPoint& point, const std::vector<Objective>& objectives) {
  const ObjectiveValues& values = point.figures.objective;
  const auto same = [&](const PlanPoint& other) {
    return std::all_of(objectives.begin(), objectives.end(), [&](Objective objective) {
      const auto i = static_cast<std::size_t>(objective);
      return other.figures.objective[i] == values[i];
    });
  };
  for (const PlanPoint& other : front)
    if (dominates(other.figures.objective, values, objectives) || (same(other) && other.order < point.order)) return;
  std::erase_if(front, [&](const PlanPoint& other) {
    return same(other) || dominates(values, other.figures.objective, objectives);
  });
  front.push_back(point);
}

Incumbents::Incumbents(std::vector<Objective> objectives, std::size_t keep)
    : objectives_(std::move(objectives)), first_(static_cast<std::size_t>(objectives_.front())), keep_(keep) {}

bool Incumbents::before(const PlanPoint& a, const PlanPoint& b) const {
  return rank(a) != rank(b) ? rank(a) < rank(b) : a.order < b.order;
}

void Incumbents::insert(std::vector<PlanPoint>& sorted, std::size_t most, const PlanPoint& point) const {
  if (sorted.size() >= most && !before(point, sorted.back())) return;
  const auto by_rank = [this](const PlanPoint& a, const PlanPoint& b) { return before(a, b); };
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), point, by_rank), point);
  if (sorted.size() > most) sorted.pop_back();
}

void Incumbents::merge(std::vector<PlanPoint>& sorted, std::size_t most, const std::vector<PlanPoint>& others) const {
  const auto by_rank = [this](const PlanPoint& a, const PlanPoint& b) { return before(a, b); };
  std::vector<PlanPoint> merged;
  std::merge(sorted.begin(), sorted.end(), others.begin(), others.end(), std::back_inserter(merged), by_rank);
  if (merged.size() > most) merged.resize(most);
  sorted = std::move(merged);
}

void Incumbents::add(const PlanPoint& point, const OptionKind& kind) {
  if (objectives_.size() > 1 && !point.figures.refused) add_to_front(front_, point, objectives_);
  if (point.figures.near_limit) return insert(point.figures.refused ? beyond_ : within_, kMostNearLimits, point);
  insert(best_, keep_, point);
  const auto [known, fresh] = kinds_.try_emplace(kind, point);
  if (!fresh && before(point, known->second)) known->second = point;
}

void Incumbents::add(const Incumbents& others) {
  merge(best_, keep_, others.best_);
  merge(beyond_, kMostNearLimits, others.beyond_);
  merge(within_, kMostNearLimits, others.within_);
  for (const auto& [kind, point] : others.kinds_) {
    const auto [known, fresh] = kinds_.try_emplace(kind, point);
    if (!fresh && before(point, known->second)) known->second = point;
  }
  for (const PlanPoint& point : others.front_) add_to_front(front_, point, objectives_);
}

bool Incumbents::beyond_reach(const ObjectiveValues& least, const OptionKind& kind) const {
  if (best_.size() < keep_ || least[first_] <= rank(best_.back())) return false;
  const auto same_kind = kinds_.find(kind);
  if (same_kind == kinds_.end() || least[first_] <= rank(same_kind->second)) return false;
  if (objectives_.size() < 2) return true;
  return std::any_of(front_.begin(), front_.end(),
                     [&](const PlanPoint& point) { return dominates(point.figures.objective, least, objectives_); });
}

std::vector<PlanPoint> Incumbents::near_limits() const {
  std::vector<PlanPoint> out = beyond_;
  merge(out, 2 * kMostNearLimits, within_);
  if (best_.size() >= keep_)
    std::erase_if(out, [this](const PlanPoint& point) { return !before(point, best_.back()); });
  return out;
}

std::vector<PlanPoint> Incumbents::best_of_kinds() const {
  std::vector<PlanPoint> out;
  for (const auto& [kind, point] : kinds_) out.push_back(point);
  std::sort(out.begin(), out.end(), [this](const PlanPoint& a, const PlanPoint& b) { return before(a, b); });
  return out;
}

std::vector<PlanPoint> Incumbents::front() const {
  std::vector<PlanPoint> out = front_;
  std::sort(out.begin(), out.end(), [this](const PlanPoint& a, const PlanPoint& b) { return before(a, b); });
  return out;
}

}  // namespace stepcast
