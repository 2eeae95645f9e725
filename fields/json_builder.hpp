#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// A JSON file opened for reading; a folder or what cannot be read is a fault, and the stream then not open.
std::ifstream open_json(const std::filesystem::path& file, Diagnostics& diagnostics);

/// parse_json of what a program writes that gives some keys again and again: those whose pointer `may_repeat` takes are
/// no fault, and their last value counts.
Json parse_json(std::string_view text, Diagnostics& diagnostics,
                const std::function<bool(std::string_view pointer)>& may_repeat);

/// Builds a document from a parser's events. Keys given twice, which the plain parser would swallow, numbers that are
/// not finite and values nested too deep are faults, with pointers.
class JsonBuilder : public nlohmann::json_sax<Json> {
 public:
  JsonBuilder(Json& root, Diagnostics& diagnostics) : root_(root), diagnostics_(diagnostics) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& raw) override;
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& name) override;
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

 protected:
  struct Level {
    Json* value;
    std::set<std::string> keys;  ///< of an object: those that it has
    std::string key;             ///< of an object: where the next value goes
    std::size_t taken = 0;       ///< of an array: elements that are no longer in it
    [[nodiscard]] std::size_t count() const { return taken + value->size(); }
  };
  /// Whether a key that is given again is no fault.
  [[nodiscard]] virtual bool may_repeat(std::string_view /*pointer*/) const { return false; }
  /// A value inside the innermost level has just ended. False ends the reading.
  virtual bool finished_value() { return true; }
  /// Pointer of the value that comes next.
  [[nodiscard]] std::string pointer() const;
  /// Tells a number beyond what a double holds, which the parser reports as text that is no JSON; false: it was another
  /// failure.
  bool told_overflow(const nlohmann::json::exception& failure);
  /// Pointer of the value that the first `depth` levels lead to.
  [[nodiscard]] std::string pointer_to(std::size_t depth) const;

  std::vector<Level>& levels() { return levels_; }
  Diagnostics& diagnostics() { return diagnostics_; }

 private:
  Json* place(Json value);
  bool put(Json value);
  bool open(Json value);
  bool close();

  Json& root_;
  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
};

}  // namespace stepcast
