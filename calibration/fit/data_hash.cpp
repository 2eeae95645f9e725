#include "calibration/fit/data_hash.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>

namespace stepcast {

std::string data_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}", hash);
}

std::string data_hash(const std::vector<std::filesystem::path>& files) {
  std::string all;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  return data_hash(all);
}

}  // namespace stepcast
