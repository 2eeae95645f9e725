#include "fields/json_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <streambuf>

namespace stepcast {

namespace {

/// Text of a file, up to a number of bytes: devices and pipes have no size to look at first.
class BoundedBuffer : public std::streambuf {
 public:
  BoundedBuffer(std::istream& in, std::size_t most) : in_(in), left_(most) {}
  [[nodiscard]] bool exceeded() const { return exceeded_; }

 protected:
  int_type underflow() override {
    in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    const auto count = static_cast<std::size_t>(in_.gcount());
    exceeded_ = count > left_;
    if (count == 0 || exceeded_) return traits_type::eof();
    left_ -= count;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::istream& in_;
  std::size_t left_;
  bool exceeded_ = false;
  std::array<char, 1 << 16> buffer_;
};

class ElementBuilder : public nlohmann::json_sax<Json> {
 public:
  ElementBuilder(Json& root, const JsonElements& elements, Diagnostics& diagnostics)
      : root_(root), elements_(elements), diagnostics_(diagnostics) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& raw) override {
    if (!std::isfinite(v)) diagnostics_.error(pointer(), fmt::format("the number {} is too large", raw));
    return put(std::isfinite(v) ? v : 0.0);
  }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (level.value->contains(name))
      diagnostics_.error(child_pointer(pointer_to(levels_.size() - 1), name), "this key is given twice",
                         "keep one of them");
    level.key = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    std::string reason = error.what();
    if (const auto at = reason.find("line "); at != std::string::npos) reason = reason.substr(at);
    diagnostics_.error("", fmt::format("not valid JSON: {}", reason));
    return false;
  }

 private:
  struct Level {
    Json* value;
    std::string key;        ///< of an object: where the next value goes
    std::size_t taken = 0;  ///< of an array: elements that have been handed over
  };

  std::size_t index_in(const Level& level) const { return level.taken + level.value->size(); }

  /// Pointer of the value that the first `depth` levels lead to.
  std::string pointer_to(std::size_t depth) const {
    std::string out;
    for (std::size_t i = 0; i < depth; ++i)
      out = levels_[i].value->is_array() ? fmt::format("{}/{}", out, index_in(levels_[i]) - 1)
                                         : child_pointer(out, levels_[i].key);
    return out;
  }
  std::string pointer() const {
    if (levels_.empty()) return {};
    const std::string above = pointer_to(levels_.size() - 1);
    const Level& top = levels_.back();
    return top.value->is_array() ? fmt::format("{}/{}", above, index_in(top)) : child_pointer(above, top.key);
  }
  Json* place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& top = levels_.back();
    if (top.value->is_array()) {
      top.value->push_back(std::move(value));
      return &top.value->back();
    }
    Json& slot = (*top.value)[top.key];
    slot = std::move(value);
    return &slot;
  }
  bool put(Json value) {
    place(std::move(value));
    return finish_value();
  }
  bool open(Json value) {
    if (levels_.size() >= kDeepestJson) {
      diagnostics_.error(pointer(), fmt::format("nested more than {} deep", kDeepestJson));
      return false;
    }
    levels_.push_back({place(std::move(value)), {}, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return finish_value();
  }

  /// Whether the value just finished is one to hand over: the levels above it follow the path.
  bool is_wanted() const {
    if (levels_.size() != elements_.path.size()) return false;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const bool any = elements_.path[i] == "*";
      if (levels_[i].value->is_array() != any || (!any && levels_[i].key != elements_.path[i])) return false;
    }
    return true;
  }
  bool finish_value() {
    if (levels_.empty() || !is_wanted()) return true;
    Level& top = levels_.back();
    std::vector<std::size_t> indices;
    for (const Level& level : levels_)
      if (level.value->is_array()) indices.push_back(index_in(level) - 1);
    const bool more = elements_.take(top.value->back(), pointer_to(levels_.size()), indices);
    top.value->clear();
    ++top.taken;
    return more;
  }

  Json& root_;
  const JsonElements& elements_;
  Diagnostics& diagnostics_;
  std::vector<Level> levels_;
};

}  // namespace

Json read_json_elements(const std::filesystem::path& file, const JsonElements& elements, Diagnostics& diagnostics) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    diagnostics.error("", "is a directory, expected a JSON file");
    return nullptr;
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    diagnostics.error("", fmt::format("cannot be read: {}", std::strerror(errno)));
    return nullptr;
  }
  BoundedBuffer buffer(in, kMostStreamedBytes);
  std::istream bounded(&buffer);
  Json root;
  ElementBuilder builder(root, elements, diagnostics);
  const std::size_t faults = diagnostics.faults().size();
  Json::sax_parse(bounded, &builder, Json::input_format_t::json, true, true);
  if (buffer.exceeded()) diagnostics.error("", fmt::format("larger than {} GiB", kMostStreamedBytes >> 30));
  return diagnostics.faults().size() == faults ? root : Json(nullptr);
}

}  // namespace stepcast
