#pragma once

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
        d.error(at, "found an empty list, which leaves nothing to choose", "leave it out: all legal ones");
      return Codec<std::vector<T>>::read(out.values, in, at, key, rules, d);
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
