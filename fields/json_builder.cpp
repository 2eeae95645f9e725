#include "fields/json_builder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace stepcast {

bool JsonBuilder::number_float(number_float_t v, const string_t& raw) {
  if (!std::isfinite(v)) diagnostics_.error(pointer(), fmt::format("the number {} is too large", raw));
  return put(std::isfinite(v) ? v : 0.0);
}

bool JsonBuilder::told_overflow(const nlohmann::json::exception& failure) {
  constexpr int kNumberOverflow = 406;  // nlohmann::json's out_of_range.406
  if (failure.id != kNumberOverflow) return false;
  const std::string_view words = failure.what();
  const auto open = words.find('\''), close = words.rfind('\'');
  diagnostics_.error(pointer(), fmt::format("the number {} is too large", words.substr(open + 1, close - open - 1)));
  return true;
}

bool JsonBuilder::key(string_t& name) {
  Level& level = levels_.back();
  level.key = name;
  if (level.keys.insert(name).second) return true;
  const std::string at = child_pointer(pointer_to(levels_.size() - 1), name);
  if (!may_repeat(at)) diagnostics_.error(at, "this key is given twice", "keep one of them");
  return true;
}

std::string JsonBuilder::pointer_to(std::size_t depth) const {
  std::string out;
  for (std::size_t i = 0; i < depth; ++i)
    out = levels_[i].value->is_array() ? fmt::format("{}/{}", out, levels_[i].count() - 1)
                                       : child_pointer(out, levels_[i].key);
  return out;
}

std::string JsonBuilder::pointer() const {
  if (levels_.empty()) return {};
  const std::string above = pointer_to(levels_.size() - 1);
  const Level& top = levels_.back();
  return top.value->is_array() ? fmt::format("{}/{}", above, top.count()) : child_pointer(above, top.key);
}

Json* JsonBuilder::place(Json value) {
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

bool JsonBuilder::put(Json value) {
  place(std::move(value));
  return finished_value();
}

bool JsonBuilder::open(Json value) {
  if (levels_.size() >= kDeepestJson) {
    diagnostics_.error(pointer(), fmt::format("nested more than {} deep", kDeepestJson));
    return false;
  }
  levels_.push_back({place(std::move(value)), {}, {}, 0});
  return true;
}

bool JsonBuilder::close() {
  levels_.pop_back();
  return finished_value();
}

}  // namespace stepcast
