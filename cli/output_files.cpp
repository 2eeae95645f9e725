#include "cli/output_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "fields/diagnostics.hpp"
#include "fields/streamed_file.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

/// What takes text as it comes, and may take it but once.
bool is_device(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

std::string place_of(const std::string& file) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(file, error);
  return error ? file : place.string();
}

}  // namespace

void check_output_files(const std::vector<OutputFile>& outputs) {
  std::vector<Fault> faults;
  std::map<std::string, std::string> options;  // by place
  for (const OutputFile& output : outputs) {
    if (output.file.empty() || is_device(output.file)) continue;
    const auto [known, fresh] = options.emplace(place_of(output.file), output.option);
    if (!fresh) {
      faults.push_back({output.option, "", fmt::format("names the file of {}: {}", known->second, output.file),
                        "a file of its own"});
      continue;
    }
    try {
      const StreamedFile tried(output.file);
    } catch (const InputError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void keep_inputs(const std::vector<OutputFile>& outputs, std::vector<std::string> inputs, const Session& session) {
  for (const fs::path& entries : session.catalog_directories) inputs.push_back(entries.string());
  std::vector<Fault> faults;
  for (const OutputFile& output : outputs) {
    if (output.file.empty() || is_device(output.file)) continue;
    const bool read = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
      std::error_code error;  // an id of the catalogue is no file
      return !input.empty() && fs::exists(input, error) && place_of(input) == place_of(output.file);
    });
    if (read)
      faults.push_back(
          {output.option, "", fmt::format("would overwrite {}, which is read", output.file), "a file of its own"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

}  // namespace stepcast
