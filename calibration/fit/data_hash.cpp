#include "calibration/fit/data_hash.hpp"

#include <fstream>
#include <iterator>

#include "fields/fnv1a.hpp"

namespace stepcast {

std::string data_hash(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.hex();
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
