#include "fields/dotted_path.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

std::string type_of(const Json& schema) {
  if (schema.contains("enum")) {
    std::string out;
    for (const Json& name : schema["enum"])
      out += fmt::format("{}`{}`", out.empty() ? "" : ", ", name.get<std::string>());
    return out;
  }
  if (!schema.contains("type")) return schema.contains("oneOf") || schema.contains("anyOf") ? "id or object" : "any";
  if (schema["type"] == "array") return "list of " + type_of(schema["items"]);
  return schema["type"].get<std::string>();
}

std::string range_of(const Json& schema) {
  std::string out;
  if (schema.contains("exclusiveMinimum")) out = fmt::format("> {}", schema["exclusiveMinimum"].get<double>());
  if (schema.contains("minimum")) out = fmt::format("≥ {}", schema["minimum"].get<double>());
  if (schema.contains("maximum"))
    out += fmt::format("{}≤ {}", out.empty() ? "" : ", ", schema["maximum"].get<double>());
  return out;
}

/// The object with keys of its own that a value may be: always, or beside the id of a preset. Null: none.
const Json* object_in(const Json& schema) {
  if (schema.contains("properties")) return &schema;
  for (const char* choice : {"anyOf", "oneOf"})
    if (schema.contains(choice))
      for (const Json& alternative : schema[choice])
        if (alternative.contains("properties")) return &alternative;
  return nullptr;
}

/// One section for an object: a row a key; objects below it follow in sections of their own.
void write_section(std::string& out, const std::string& path, const Json& schema) {
  out += fmt::format("\n## {}\n\n{}.\n\n", path.empty() ? "The file" : '`' + path + '`',
                     schema["description"].get<std::string>());
  out += "| key | type | range | default | meaning |\n|---|---|---|---|---|\n";
  const Json required = schema.value("required", Json::array());
  for (const auto& [key, field] : schema["properties"].items()) {
    const bool needed = std::find(required.begin(), required.end(), key) != required.end();
    std::string standard = field.contains("default") ? field["default"].dump() : "";
    if (standard == "\"\"") standard.clear();
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", key, type_of(field), range_of(field),
                       needed ? "required" : standard, field["description"].get<std::string>());
  }
  for (const auto& [key, field] : schema["properties"].items()) {
    const std::string below = dotted_path(path, key);
    if (const Json* object = object_in(field)) write_section(out, below, *object);
    if (const Json* object = field.contains("items") ? object_in(field["items"]) : nullptr)
      write_section(out, below + "[]", *object);
  }
}

}  // namespace

std::string scenario_reference() {
  std::string out =
      "# Keys of a scenario file\n\n"
      "Generated from the field tables that also read the file; format version " +
      std::to_string(kScenarioFormatVersion) +
      ".\nAn unknown key is an error. A key that ends in a unit (`nic_bandwidth_Gbps`) holds a number in that unit.\n";
  write_section(out, "", scenario_schema());
  return out;
}

}  // namespace stepcast
