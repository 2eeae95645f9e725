#pragma once

#include <set>
#include <string>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// What a question leaves open: one value, several to choose from, or (empty) whatever is legal.
template <class T>
struct Choices {
  std::vector<T> values;
  [[nodiscard]] bool open() const { return values.empty(); }
  /// Whether a value may be chosen.
  [[nodiscard]] bool allow(const T& value) const {
    return open() || std::find(values.begin(), values.end(), value) != values.end();
  }
};

/// A value, or a list of values.
template <class T>
struct Codec<Choices<T>> {
  static void read(Choices<T>& out, const Json& in, const std::string& at, std::string_view key, const Rules& rules,
                   Diagnostics& d) {
    if (in.is_array()) {
      if (in.empty())
        d.error(at, "found an empty list, which leaves nothing to choose",
                "name one at least, or leave it out for the default");
      const std::size_t before = d.faults().size();
      Codec<std::vector<T>>::read(out.values, in, at, key, rules, d);
      if (d.faults().size() == before) refuse_repetitions(out.values, at, key, d);
      return;
    }
    T value{};
    Codec<T>::read(value, in, at, key, rules, d);
    out.values = {std::move(value)};
  }
  static Json write(const Choices<T>& v, std::string_view key) {
    if (v.open()) return nullptr;
    return v.values.size() == 1 ? Codec<T>::write(v.values.front(), key) : Codec<std::vector<T>>::write(v.values, key);
  }
  static Json schema(std::string_view key, const Rules& rules) {
    const Json one = Codec<T>::schema(key, rules);
    return {{"anyOf", {one, Json{{"type", "array"}, {"items", one}, {"minItems", 1}}}}};
  }

 private:
  /// What is given twice would be searched, and counted, twice.
  static void refuse_repetitions(const std::vector<T>& values, const std::string& at, std::string_view key,
                                 Diagnostics& d) {
    std::set<std::string> known;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const Json value = Codec<T>::write(values[i], key); !known.insert(value.dump()).second)
        d.error(fmt::format("{}/{}", at, i), fmt::format("{} is given twice", describe(value)),
                "leave one of them out");
  }
};

/// Numbers to choose from: `8`, `[8, 16, 32]`, or `{"from": 8, "to": 64, "step": 8}`.
struct Counts {
  std::vector<int> values;
};
template <>
struct Codec<Counts> {
  static void read(Counts& out, const Json& in, const std::string& at, std::string_view key, const Rules& rules,
                   Diagnostics& d);
  static Json write(const Counts& v, std::string_view key);
  static Json schema(std::string_view key, const Rules& rules);
};

}  // namespace stepcast
