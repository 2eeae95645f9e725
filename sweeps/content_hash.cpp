#include "sweeps/content_hash.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "fields/data_directory.hpp"
#include "fields/fnv1a.hpp"
#include "models/scenario/framework_constants.hpp"

namespace stepcast {

namespace {

void add_file(Fnv1a& hash, const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError({{file.string(), "", "cannot be read", ""}});
  hash.add_apart(std::move(text).str());
}

/// The JSON files of a folder of data and those below it, by name.
void add_folder(Fnv1a& hash, const std::string& name) {
  const std::filesystem::path folder = data_directory(name);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path().lexically_relative(folder));
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    hash.add_apart(name + "/" + file.string());
    add_file(hash, folder / file);
  }
}

}  // namespace

std::string hash_of_catalog(const Catalog& catalog) {
  Fnv1a hash;
  for (const std::string& kind : Catalog::kinds())
    for (const std::string& id : catalog.ids(kind)) {
      const std::filesystem::path file = catalog.file_of(kind, id);
      if (file.empty()) continue;  // a file whose name is no id: nothing refers to it
      hash.add_apart(kind);
      hash.add_apart(id);
      add_file(hash, file);
    }
  // No kind of part, so that it has no list of ids.
  for (const std::string& id : framework_ids())
    if (const std::filesystem::path file = catalog.file_of(kFrameworkConstants, id); !file.empty()) {
      hash.add_apart(kFrameworkConstants);
      hash.add_apart(id);
      add_file(hash, file);
    }
  return hash.hex();
}

std::string hash_of_models() {
  Fnv1a hash;
  for (const char* folder : {"models/frameworks", "models/workload/presets"}) add_folder(hash, folder);
  return hash.hex();
}

std::string hash_of_text(std::string_view text) {
  Fnv1a hash;
  hash.add_apart(text);
  return hash.hex();
}

}  // namespace stepcast
