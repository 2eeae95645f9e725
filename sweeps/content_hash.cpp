#include "sweeps/content_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "fields/data_directory.hpp"
#include "models/scenario/framework_constants.hpp"

namespace stepcast {

namespace {

class Fnv1a {
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash_ *= 0x100000001b3U;  // a zero byte: where one text ends
  }
  void add_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw InputError({{file.string(), "", "cannot be read", ""}});
    add(std::move(text).str());
  }
  /// The JSON files of a folder of data and those below it, by name.
  void add_folder(const std::string& name) {
    const std::filesystem::path folder = data_directory(name);
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".json") files.push_back(entry.path().lexically_relative(folder));
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      add(name + "/" + file.string());
      add_file(folder / file);
    }
  }
  [[nodiscard]] std::string hex() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace

std::string hash_of_catalog(const Catalog& catalog) {
  Fnv1a hash;
  for (const std::string& kind : Catalog::kinds())
    for (const std::string& id : catalog.ids(kind)) {
      const std::filesystem::path file = catalog.file_of(kind, id);
      if (file.empty()) continue;  // a file whose name is no id: nothing refers to it
      hash.add(kind);
      hash.add(id);
      hash.add_file(file);
    }
  // No kind of part, so that it has no list of ids.
  for (const std::string& id : framework_ids())
    if (const std::filesystem::path file = catalog.file_of(kFrameworkConstants, id); !file.empty()) {
      hash.add(kFrameworkConstants);
      hash.add(id);
      hash.add_file(file);
    }
  return hash.hex();
}

std::string hash_of_models() {
  Fnv1a hash;
  for (const char* folder : {"models/frameworks", "models/workload/presets"}) hash.add_folder(folder);
  return hash.hex();
}

std::string hash_of_text(std::string_view text) {
  Fnv1a hash;
  hash.add(text);
  return hash.hex();
}

}  // namespace stepcast
