#pragma once

#include <cmath>
#include <string>
#include <utility>

#include "hardware-catalog/part_rules.hpp"
#include "hardware-catalog/physical_range.hpp"

namespace stepcast {

namespace part_rules {

/// The number inside of a field: of an optional, of a list or of a map's values.
template <class M>
struct NumberOf {
  static constexpr bool any = std::is_arithmetic_v<M> && !std::same_as<M, bool>;
  static constexpr bool whole = any && std::is_integral_v<M>;
};
template <int T, int D, int W, int E, int M>
struct NumberOf<Quantity<T, D, W, E, M>> : NumberOf<double> {};
template <class M>
struct NumberOf<std::optional<M>> : NumberOf<M> {};
template <class M>
struct NumberOf<std::vector<M>> : NumberOf<M> {};
template <class M>
struct NumberOf<std::map<std::string, M>> : NumberOf<M> {};

/// Counts of a part's parts; products of several stay whole numbers.
inline constexpr double kMostParts = 1e6;

/// The rules of a bounded number, with what is physical where they leave an end open.
template <class M>
Rules physical(std::string_view key, Rules rules) {
  if (!NumberOf<M>::any || !std::isfinite(rules.min)) return rules;
  const PhysicalRange range = physical_range(key);
  if (!std::isfinite(rules.max)) rules.max = NumberOf<M>::whole ? std::min(kMostParts, range.most) : range.most;
  if (!NumberOf<M>::whole && rules.above_min && rules.min == 0) {
    rules.min = range.least;
    rules.above_min = false;
  }
  return rules;
}

}  // namespace part_rules

/// The field table of a catalogue entry: figures that state a minimum have both ends, those of `physical_range` where
/// none is named.
template <class T>
class PartTable : public FieldTable<T> {
 public:
  using FieldTable<T>::FieldTable;

  template <class M>
  PartTable& field(std::string key, M T::*member, std::string doc, const Rules& rules = {}) {
    const Rules bounded = part_rules::physical<M>(key, rules);
    FieldTable<T>::field(std::move(key), member, std::move(doc), bounded);
    return *this;
  }
  template <Described M>
  PartTable& fields_of(M T::*member) {
    FieldTable<T>::fields_of(member);
    return *this;
  }
};

}  // namespace stepcast
