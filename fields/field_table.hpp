#pragma once

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "fields/json_text.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What a field accepts beyond its type.
struct Rules {
  bool required = false;
  double min = -std::numeric_limits<double>::infinity();  ///< of numbers, in the unit that the key names
  double max = std::numeric_limits<double>::infinity();   ///< the same
  bool above_min = false;                                 ///< the minimum itself is excluded
  std::string refers_to{};  ///< catalogue kind whose id the string is; checked when the scenario is resolved
};

/// Names of an enum's values, in order of their declaration: specialise with `static constexpr std::array names{…}`
/// whose i-th entry is the name of the value i.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::names.size();
};

template <NamedEnum E>
std::vector<std::string> names_of() {
  return {EnumNames<E>::names.begin(), EnumNames<E>::names.end()};
}
template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return EnumNames<E>::names[static_cast<std::size_t>(value)];
}
template <NamedEnum E>
std::optional<E> parse_enum(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<E>::names.size(); ++i)
    if (EnumNames<E>::names[i] == name) return static_cast<E>(i);
  return std::nullopt;
}

template <class T>
class FieldTable;

/// A type described by a field table: `static const FieldTable<T>& fields()`. The table is the one place that yields
/// its parser, its JSON Schema, its reference page and its form.
template <class T>
concept Described = requires {
  { T::fields() } -> std::same_as<const FieldTable<T>&>;
};

namespace detail {

inline std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> out;
  for (const auto& [key, value] : object.items()) out.push_back(key);
  return out;
}

inline void wrong_type(Diagnostics& d, const std::string& at, const Json& found, std::string_view expected) {
  d.error(at, fmt::format("found {}, expected {}", describe(found), expected));
}

inline std::string bounds(const Rules& r) {
  const bool low = r.min > -std::numeric_limits<double>::infinity();
  const bool high = r.max < std::numeric_limits<double>::infinity();
  if (low && high) return fmt::format("{} {} and at most {}", r.above_min ? "more than" : "at least", r.min, r.max);
  if (low) return fmt::format("{} {}", r.above_min ? "more than" : "at least", r.min);
  return fmt::format("at most {}", r.max);
}

inline bool within(double v, const Rules& r) { return (r.above_min ? v > r.min : v >= r.min) && v <= r.max; }

inline Json number_schema(const char* type, const Rules& r) {
  Json schema{{"type", type}};
  if (r.min > -std::numeric_limits<double>::infinity()) schema[r.above_min ? "exclusiveMinimum" : "minimum"] = r.min;
  if (r.max < std::numeric_limits<double>::infinity()) schema["maximum"] = r.max;
  return schema;
}

/// Scale and dimension exponents of a unit, found by the last `_unit` of a key (`bandwidth_GBps` → 1e9 B/s).
struct UnitOfKey {
  double scale;
  std::array<int, 5> dimension;
  std::string_view unit;
};
/// Throws std::logic_error when the key names no unit: a quantity's key must.
UnitOfKey unit_of_key(std::string_view key);

}  // namespace detail

/// How a C++ type is read from JSON, written, and described. Specialise for a type that needs its own.
template <class M>
struct Codec;

template <>
struct Codec<bool> {
  static void read(bool& out, const Json& in, const std::string& at, std::string_view, const Rules&, Diagnostics& d) {
    if (in.is_boolean()) {
      out = in.get<bool>();
    } else {
      detail::wrong_type(d, at, in, "true or false");
    }
  }
  static Json write(const bool& v, std::string_view) { return v; }
  static Json schema(std::string_view, const Rules&) { return {{"type", "boolean"}}; }
};

template <std::integral I>
requires(!std::same_as<I, bool>) struct Codec<I> {
  static void read(I& out, const Json& in, const std::string& at, std::string_view, const Rules& r, Diagnostics& d) {
    const bool whole =
        in.is_number_integer() || (in.is_number_float() && in.get<double>() == std::floor(in.get<double>()));
    if (!whole) return detail::wrong_type(d, at, in, "a whole number");
    const double v = in.get<double>();
    Rules limits = r;
    limits.min = std::max(limits.min, static_cast<double>(std::numeric_limits<I>::lowest()));
    // The largest integer of 64 bits rounds up to a double that no longer fits.
    limits.max = std::min(limits.max, sizeof(I) < 8 ? static_cast<double>(std::numeric_limits<I>::max()) : 9e18);
    if (!detail::within(v, limits))
      return d.error(at, fmt::format("found {}, expected {}", describe(in), detail::bounds(limits)));
    out = in.is_number_float() ? static_cast<I>(v) : in.get<I>();
  }
  static Json write(const I& v, std::string_view) { return v; }
  static Json schema(std::string_view, const Rules& r) { return detail::number_schema("integer", r); }
};

template <>
struct Codec<double> {
  static void read(double& out, const Json& in, const std::string& at, std::string_view, const Rules& r,
                   Diagnostics& d) {
    if (!in.is_number()) return detail::wrong_type(d, at, in, "a number");
    const double v = in.get<double>();
    if (!detail::within(v, r))
      return d.error(at, fmt::format("found {}, expected {}", describe(in), detail::bounds(r)));
    out = v;
  }
  static Json write(const double& v, std::string_view) { return v; }
  static Json schema(std::string_view, const Rules& r) { return detail::number_schema("number", r); }
};

/// A quantity's number is in the unit that its key names; rules are in that unit too.
template <int T, int D, int W, int E, int M>
struct Codec<Quantity<T, D, W, E, M>> {
  using Q = Quantity<T, D, W, E, M>;
  static double scale(std::string_view key) {
    const detail::UnitOfKey unit = detail::unit_of_key(key);
    if (unit.dimension != std::array<int, 5>{T, D, W, E, M})
      throw std::logic_error(fmt::format("field {}: its unit is not of its type's dimension", key));
    return unit.scale;
  }
  static void read(Q& out, const Json& in, const std::string& at, std::string_view key, const Rules& r,
                   Diagnostics& d) {
    double v = 0;
    const std::size_t before = d.faults().size();
    Codec<double>::read(v, in, at, key, r, d);
    if (d.faults().size() == before) out = Q(v * scale(key));
  }
  static Json write(const Q& v, std::string_view key) { return v.value() / scale(key); }
  static Json schema(std::string_view, const Rules& r) { return detail::number_schema("number", r); }
};

template <>
struct Codec<std::string> {
  static void read(std::string& out, const Json& in, const std::string& at, std::string_view, const Rules&,
                   Diagnostics& d) {
    if (in.is_string()) {
      out = in.get<std::string>();
    } else {
      detail::wrong_type(d, at, in, "a string");
    }
  }
  static Json write(const std::string& v, std::string_view) { return v; }
  static Json schema(std::string_view, const Rules&) { return {{"type", "string"}}; }
};

template <NamedEnum E>
struct Codec<E> {
  static void read(E& out, const Json& in, const std::string& at, std::string_view, const Rules&, Diagnostics& d) {
    const auto names = names_of<E>();
    const auto value = in.is_string() ? parse_enum<E>(in.get<std::string>()) : std::nullopt;
    if (value) {
      out = *value;
      return;
    }
    d.error(at, fmt::format("found {}, {}", describe(in), expected_one_of(names)),
            in.is_string() ? did_you_mean(in.get<std::string>(), names) : std::string{});
  }
  static Json write(const E& v, std::string_view) { return std::string(name_of(v)); }
  static Json schema(std::string_view, const Rules&) { return {{"enum", names_of<E>()}}; }
};

template <class M>
struct Codec<std::optional<M>> {
  static void read(std::optional<M>& out, const Json& in, const std::string& at, std::string_view key, const Rules& r,
                   Diagnostics& d) {
    M value{};
    Codec<M>::read(value, in, at, key, r, d);
    out = std::move(value);
  }
  static Json write(const std::optional<M>& v, std::string_view key) {
    return v ? Codec<M>::write(*v, key) : Json(nullptr);
  }
  static Json schema(std::string_view key, const Rules& r) { return Codec<M>::schema(key, r); }
};

template <class M>
struct Codec<std::vector<M>> {
  static void read(std::vector<M>& out, const Json& in, const std::string& at, std::string_view key, const Rules& r,
                   Diagnostics& d) {
    if (!in.is_array()) return detail::wrong_type(d, at, in, "an array");
    out.clear();
    for (std::size_t i = 0; i < in.size(); ++i) {
      M value{};
      Codec<M>::read(value, in[i], fmt::format("{}/{}", at, i), key, r, d);
      out.push_back(std::move(value));
    }
  }
  static Json write(const std::vector<M>& v, std::string_view key) {
    Json out = Json::array();
    for (const M& m : v) out.push_back(Codec<M>::write(m, key));
    return out;
  }
  static Json schema(std::string_view key, const Rules& r) {
    return {{"type", "array"}, {"items", Codec<M>::schema(key, r)}};
  }
};

template <class M>
struct Codec<std::map<std::string, M>> {
  static void read(std::map<std::string, M>& out, const Json& in, const std::string& at, std::string_view key,
                   const Rules& r, Diagnostics& d) {
    if (!in.is_object()) return detail::wrong_type(d, at, in, "an object");
    out.clear();
    for (const auto& [name, value] : in.items()) {
      M m{};
      Codec<M>::read(m, value, child_pointer(at, name), key, r, d);
      out.emplace(name, std::move(m));
    }
  }
  static Json write(const std::map<std::string, M>& v, std::string_view key) {
    Json out = Json::object();
    for (const auto& [name, value] : v) out[name] = Codec<M>::write(value, key);
    return out;
  }
  static Json schema(std::string_view key, const Rules& r) {
    return {{"type", "object"}, {"additionalProperties", Codec<M>::schema(key, r)}};
  }
};

template <Described T>
struct Codec<T> {
  static void read(T& out, const Json& in, const std::string& at, std::string_view, const Rules&, Diagnostics& d) {
    T::fields().read(out, in, at, d);
  }
  static Json write(const T& v, std::string_view) { return T::fields().write(v); }
  static Json schema(std::string_view, const Rules&) { return T::fields().schema(); }
};

/// The fields of a JSON object of type T.
template <class T>
class FieldTable {
 public:
  struct Entry {
    std::string key;
    std::string doc;
    Rules rules;
    std::function<void(T&, const Json&, const std::string& at, Diagnostics&)> read;
    std::function<Json(const T&)> write;
    Json schema;
  };

  FieldTable(std::string name, std::string doc) : name_(std::move(name)), doc_(std::move(doc)) {}

  /// Adds a field. The default of an absent field is what a fresh T holds.
  template <class M>
  FieldTable& field(std::string key, M T::*member, std::string doc, Rules rules = {}) {
    Entry entry{key, std::move(doc), rules, {}, {}, Codec<M>::schema(key, rules)};
    entry.schema["description"] = entry.doc;
    entry.read = [key, member, rules](T& out, const Json& in, const std::string& at, Diagnostics& d) {
      Codec<M>::read(out.*member, in, at, key, rules, d);
    };
    entry.write = [key, member](const T& v) { return Codec<M>::write(v.*member, key); };
    entries_.push_back(std::move(entry));
    return *this;
  }

  /// Adds the fields of a described member as if they were T's own: in JSON they stand beside T's, not in an object
  /// below.
  template <Described M>
  FieldTable& fields_of(M T::*member) {
    for (const auto& inner : M::fields().entries()) {
      Entry entry{inner.key, inner.doc, inner.rules, {}, {}, inner.schema};
      entry.read = [member, read = inner.read](T& out, const Json& in, const std::string& at, Diagnostics& d) {
        read(out.*member, in, at, d);
      };
      entry.write = [member, write = inner.write](const T& v) { return write(v.*member); };
      entries_.push_back(std::move(entry));
    }
    return *this;
  }

  /// Reads an object: unknown keys, missing required keys and every field's own faults go to the diagnostics.
  void read(T& out, const Json& in, const std::string& at, Diagnostics& d) const {
    if (!in.is_object()) return detail::wrong_type(d, at, in, fmt::format("an object ({})", name_));
    for (const auto& [key, value] : in.items()) {
      const Entry* entry = find(key);
      if (entry) {
        entry->read(out, value, child_pointer(at, key), d);
      } else {
        d.unknown_key(at, name_, key, keys(), detail::keys_of(in));
      }
    }
    for (const Entry& entry : entries_)
      if (entry.rules.required && !in.contains(entry.key) && !d.meant(child_pointer(at, entry.key)))
        d.error(child_pointer(at, entry.key), fmt::format("missing: {}", entry.doc));
  }

  /// Writes every field that has a value; unset optional fields are left out.
  [[nodiscard]] Json write(const T& value) const {
    Json out = Json::object();
    for (const Entry& entry : entries_)
      if (Json field = entry.write(value); !field.is_null()) out[entry.key] = std::move(field);
    return out;
  }

  /// JSON Schema of the object: keys, types, bounds, defaults; no other keys.
  [[nodiscard]] Json schema() const {
    Json properties = Json::object();
    Json required = Json::array();
    const T fresh{};
    for (const Entry& entry : entries_) {
      properties[entry.key] = entry.schema;
      if (entry.rules.required) {
        required.push_back(entry.key);
      } else if (Json standard = entry.write(fresh); standard.is_primitive() && !standard.is_null()) {
        properties[entry.key]["default"] = std::move(standard);
      }
    }
    Json out{{"type", "object"}, {"description", doc_}, {"properties", std::move(properties)}};
    if (!required.empty()) out["required"] = std::move(required);
    out["additionalProperties"] = false;
    return out;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& doc() const { return doc_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Of all fields, in the table's order.
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const Entry& entry : entries_) out.push_back(entry.key);
    return out;
  }

 private:
  const Entry* find(std::string_view key) const {
    for (const Entry& entry : entries_)
      if (entry.key == key) return &entry;
    return nullptr;
  }

  std::string name_;
  std::string doc_;
  std::vector<Entry> entries_;
};

/// Reads a whole described document; faults go to the diagnostics.
template <Described T>
T read_document(const Json& document, Diagnostics& diagnostics) {
  T out{};
  T::fields().read(out, document, "", diagnostics);
  return out;
}

/// The published JSON Schema of a described type (draft 2020-12).
template <Described T>
Json published_schema(std::string_view title) {
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
  out.update(T::fields().schema());
  return out;
}

}  // namespace stepcast
