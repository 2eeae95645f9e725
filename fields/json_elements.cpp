#include "fields/json_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <streambuf>

#include "fields/json_builder.hpp"

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

/// Hands over the values that lie on a path, and forgets them.
class ElementBuilder : public JsonBuilder {
 public:
  ElementBuilder(Json& root, const JsonElements& elements, Diagnostics& faults)
      : JsonBuilder(root, faults), elements_(elements) {}

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    if (told_overflow(error)) return false;
    std::string reason = error.what();
    if (const auto at = reason.find("line "); at != std::string::npos) reason = reason.substr(at);
    diagnostics().error("", fmt::format("not valid JSON: {}", reason));
    return false;
  }

 private:
  /// Whether the value just finished is one to hand over: the levels above it follow the path.
  bool is_wanted() {
    if (levels().size() != elements_.path.size()) return false;
    for (std::size_t i = 0; i < levels().size(); ++i) {
      const bool any = elements_.path[i] == "*";
      if (levels()[i].value->is_array() != any || (!any && levels()[i].key != elements_.path[i])) return false;
    }
    return true;
  }
  bool finished_value() override {
    if (levels().empty() || !is_wanted()) return true;
    Level& top = levels().back();
    std::vector<std::size_t> indices;
    for (const Level& level : levels())
      if (level.value->is_array()) indices.push_back(level.count() - 1);
    const bool more = elements_.take(top.value->back(), pointer_to(levels().size()), indices);
    top.value->clear();
    ++top.taken;
    return more;
  }

  const JsonElements& elements_;
};

}  // namespace

Json read_json_elements(const std::filesystem::path& file, const JsonElements& elements, Diagnostics& diagnostics) {
  std::ifstream in = open_json(file, diagnostics);
  if (!in.is_open()) return nullptr;
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
