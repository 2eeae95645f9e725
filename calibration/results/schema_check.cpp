#include "calibration/results/schema_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <regex>

namespace stepcast {

namespace {

constexpr std::string_view kDefinitions = "#/$defs/";

class Checker {
 public:
  Checker(const Json& root, Diagnostics& diagnostics) : root_(root), diagnostics_(diagnostics) {}

  void check(const Json& value, const Json& schema, const std::string& at) {
    if (schema.contains("$ref")) return check(value, definition(schema["$ref"].get<std::string>()), at);
    if (schema.contains("oneOf")) return check_kind(value, schema["oneOf"], at);
    if (schema.contains("const") && value != schema["const"])
      return fault(at, fmt::format("found {}, expected {}", describe(value), schema["const"].dump()));
    if (schema.contains("enum")) return check_choice(value, schema["enum"], at);
    if (schema.contains("type") && !has_type(value, schema["type"].get<std::string>()))
      return fault(at, fmt::format("found {}, expected {}", describe(value), schema["type"].get<std::string>()));
    if (value.is_number()) check_number(value.get<double>(), schema, at);
    if (value.is_string() && schema.contains("pattern") &&
        !std::regex_match(value.get<std::string>(), std::regex(schema["pattern"].get<std::string>())))
      fault(at, fmt::format("found {}, expected the form {}", describe(value), schema["pattern"].get<std::string>()));
    if (value.is_array()) check_elements(value, schema, at);
    if (value.is_object()) check_members(value, schema, at);
  }

 private:
  void fault(const std::string& at, std::string message, std::string hint = {}) {
    diagnostics_.error(at, std::move(message), std::move(hint));
  }

  const Json& definition(const std::string& reference) const {
    return root_["$defs"].at(reference.substr(kDefinitions.size()));
  }

  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    if (type == "integer")
      return value.is_number_integer() || (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
    return true;
  }

  void check_number(double value, const Json& schema, const std::string& at) {
    if (schema.contains("minimum") && value < schema["minimum"].get<double>())
      fault(at, fmt::format("found {}, expected at least {}", value, schema["minimum"].dump()));
    if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"].get<double>())
      fault(at, fmt::format("found {}, expected more than {}", value, schema["exclusiveMinimum"].dump()));
    if (schema.contains("maximum") && value > schema["maximum"].get<double>())
      fault(at, fmt::format("found {}, expected at most {}", value, schema["maximum"].dump()));
  }

  void check_choice(const Json& value, const Json& choices, const std::string& at) {
    std::vector<std::string> names;
    for (const Json& choice : choices) {
      if (choice == value) return;
      names.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
    }
    fault(at, fmt::format("found {}, {}", describe(value), expected_one_of(names)),
          value.is_string() ? did_you_mean(value.get<std::string>(), names) : std::string());
  }

  void check_elements(const Json& value, const Json& schema, const std::string& at) {
    if (schema.contains("minItems") && value.size() < schema["minItems"].get<std::size_t>())
      fault(at, fmt::format("has {} elements, expected at least {}", value.size(), schema["minItems"].dump()));
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i) check(value[i], schema["items"], fmt::format("{}/{}", at, i));
  }

  void check_members(const Json& value, const Json& schema, const std::string& at) {
    static const Json kNone = Json::object();
    const Json& known = schema.contains("properties") ? schema["properties"] : kNone;
    const Json& others = schema.contains("additionalProperties") ? schema["additionalProperties"] : kNone;
    for (const auto& [key, member] : value.items()) {
      const std::string place = child_pointer(at, key);
      if (known.contains(key)) {
        check(member, known[key], place);
      } else if (others.is_object()) {
        check(member, others, place);
      } else if (others == Json(false)) {
        std::vector<std::string> keys;
        for (const auto& property : known.items()) keys.push_back(property.key());
        diagnostics_.unknown_key(at, "this object", key, keys);
      }
    }
    if (!schema.contains("required")) return;
    for (const Json& key : schema["required"])
      if (const std::string place = child_pointer(at, key.get<std::string>());
          !value.contains(key.get<std::string>()) && !diagnostics_.meant(place))
        fault(place, "missing");
  }

  /// Of several kinds of rows the one that the row says it is.
  void check_kind(const Json& value, const Json& choices, const std::string& at) {
    if (!value.is_object()) return fault(at, fmt::format("found {}, expected object", describe(value)));
    if (!value.contains("kind")) return check_kind_key(value, at);
    if (!value["kind"].is_string())
      return fault(at + "/kind", fmt::format("found {}, expected string", describe(value["kind"])));
    std::vector<std::string> names;
    for (const Json& choice : choices) {
      const Json& schema = definition(choice["$ref"].get<std::string>());
      const Json& kind = schema["properties"]["kind"]["const"];
      if (kind == value["kind"]) return check(value, schema, at);
      names.push_back(kind.get<std::string>());
    }
    fault(at + "/kind", fmt::format("found {}, {}", describe(value["kind"]), expected_one_of(names)),
          did_you_mean(value["kind"].get<std::string>(), names));
  }

  /// A row that does not say its kind, or says it by a misspelt key.
  void check_kind_key(const Json& value, const std::string& at) {
    for (const auto& member : value.items())
      if (nearest(member.key(), {"kind"}) != nullptr)
        return diagnostics_.unknown_key(at, "a row", member.key(), {"kind"});
    fault(at + "/kind", "missing, expected the kind of the row");
  }

  const Json& root_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_schema(const Json& document, const Json& schema, Diagnostics& diagnostics) {
  Checker(schema, diagnostics).check(document, schema, "");
}

}  // namespace stepcast
