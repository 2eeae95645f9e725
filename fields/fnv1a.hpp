#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace stepcast {

/// FNV-1a of 64 bit (Fowler, Noll and Vo): a hash of bytes that is the same on every machine and in every release.
class Fnv1a {
 public:
  /// The bytes of a text.
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  /// The same and a zero byte, where one text ends and the next begins.
  void add_apart(std::string_view text) {
    add(text);
    add_byte(0);
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }
  /// In 16 hexadecimal digits.
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  void add_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3U; }
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace stepcast
