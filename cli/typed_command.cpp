#include "cli/typed_command.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace stepcast {

namespace {

/// What no shell reads as anything but itself.
bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
}

std::string quoted_word(const std::string& word) {
  if (is_plain(word)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string typed_command() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/cmdline", std::ios::binary).rdbuf();
  std::istringstream words(text.str());
  std::string out, word;
  for (bool first = true; std::getline(words, word, '\0'); first = false)
    out += first ? std::filesystem::path(word).filename().string() : " " + quoted_word(word);
  return out;
}

}  // namespace stepcast
