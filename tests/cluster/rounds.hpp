#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

namespace stepcast {

/// Repeated measurements of the same things on a machine that does other work as well, which only lengthens what is
/// measured. So a round is taken again until the two shortest times of each thing agree, and the shortest one counts.
class Rounds {
 public:
  static constexpr int kMost = 5;

  void add(const std::string& what, double duration, const std::string& round) { of_[what].emplace(duration, round); }

  /// Whether another round is wanted: none or one was taken yet, or the two shortest times of a thing differ.
  [[nodiscard]] bool wanted() const {
    return of_.empty() || std::any_of(of_.begin(), of_.end(), [](const auto& of) {
             const auto& [what, rounds] = of;
             return rounds.size() < kMost &&
                    (rounds.size() < 2 || std::next(rounds.begin())->first > kSame * rounds.begin()->first);
           });
  }

  [[nodiscard]] double shortest(const std::string& what) const { return of_.at(what).begin()->first; }

  /// The round that has the shortest time of a thing.
  [[nodiscard]] const std::string& stillest(const std::string& what) const { return of_.at(what).begin()->second; }

 private:
  static constexpr double kSame = 1.03;  // on a machine left alone they differ by 1 or 2 %

  std::map<std::string, std::multimap<double, std::string>> of_;
};

}  // namespace stepcast
