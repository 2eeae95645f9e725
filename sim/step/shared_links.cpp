#include "sim/step/shared_links.hpp"

#include <fmt/format.h>

namespace stepcast {

namespace {

std::string name_of_level(std::size_t level) {
  if (level == 0) return "leaf";
  if (level == 1) return "pod";
  return level == 2 ? "site" : "group";
}

}  // namespace

SharedLinks::UpDown SharedLinks::of(std::size_t level, int member, int rails, BytesPerSecond bandwidth) {
  const std::tuple<std::size_t, int, int> key{level, member, rails};
  if (const auto found = links_.find(key); found != links_.end()) return found->second;
  std::string name = fmt::format("{} {}", name_of_level(level), member);
  if (rails > 0) name += fmt::format(" rails {}", rails);
  UpDown made{};
  made.up = graph_.add_link({name + " up-links", bandwidth, -1});
  made.down = graph_.add_link({name + " down-links", bandwidth, -1});
  links_.emplace(key, made);
  return made;
}

LinkId SharedLinks::storage(const std::string& id, BytesPerSecond bandwidth) {
  if (const auto found = storage_.find(id); found != storage_.end()) return found->second;
  const LinkId made = graph_.add_link({"storage " + id, bandwidth, -1});
  storage_.emplace(id, made);
  return made;
}

}  // namespace stepcast
