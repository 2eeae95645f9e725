#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace stepcast {

/// A command line, one option with its value a line.
class Arguments {
 public:
  void flag(const char* name) { out_.emplace_back(name); }
  template <class T>
  void value(const char* name, const T& v) {
    out_.push_back(fmt::format("{} {}", name, v));
  }
  std::vector<std::string> take() { return std::move(out_); }

 private:
  std::vector<std::string> out_;
};

}  // namespace stepcast
