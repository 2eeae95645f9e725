// stepcast-probe-storage: what a file system gives, measured by fio.
#include <algorithm>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/storage/fio_job.hpp"

namespace stepcast::probes {
namespace {

constexpr const char* kProgram = "stepcast-probe-storage";

std::vector<StoragePattern> chosen_patterns(const std::string& text) {
  const std::vector<StoragePattern>& all = storage_patterns();
  std::vector<std::string> known;
  known.reserve(all.size());
  for (const StoragePattern& pattern : all) known.push_back(pattern.name);
  std::vector<StoragePattern> out;
  for (const std::string& word : parse_words(text, known))
    out.push_back(*std::find_if(all.begin(), all.end(), [&](const StoragePattern& p) { return p.name == word; }));
  return out;
}

int main_of(int argc, char** argv) {
  CommonOptions common;
  StorageRequest request;
  std::vector<StoragePattern> patterns = storage_patterns();
  Arguments arguments(kProgram, "what a file system gives, by fio; files are made in --dir and removed again.");
  arguments.add("--dir", "DIR", "directory on the storage to be measured; required",
                [&](const std::string& value) { request.folder = value; });
  arguments.add("--patterns", "LIST",
                "sequential_read, random_write, checkpoint_write, many_files_read …; all by default",
                [&](const std::string& value) { patterns = chosen_patterns(value); });
  arguments.add("--size", "BYTES",
                "of each process's file; 1G by default, and more than the memory where the cache is in the way",
                [&](const std::string& value) { request.size_bytes = parse_bytes(value); });
  arguments.add("--seconds", "N", "of each pattern that is not run to its end; 10 by default",
                [&](const std::string& value) { request.seconds = static_cast<int>(parse_integer(value, 1, 86400)); });
  arguments.add("--jobs", "N", "processes at once where several work; 4 by default",
                [&](const std::string& value) { request.jobs = static_cast<int>(parse_integer(value, 1, 1024)); });
  arguments.add("--files", "N", "of each process in many_files_*; 1000 by default",
                [&](const std::string& value) { request.files = static_cast<int>(parse_integer(value, 1, 1000000)); });
  arguments.add("--fio", "PATH", "fio, where it is not in PATH",
                [&](const std::string& value) { request.fio = value; });
  return run_probe(kProgram, arguments, common, argc, argv, [&] {
    if (request.folder.empty()) throw bad_input("--dir: missing; expected a directory on the storage to be measured");
    if (!std::filesystem::is_directory(request.folder))
      throw bad_input("--dir: " + request.folder.string() + " is no directory");
    constexpr std::int64_t kLeastSize = 8 << 20;  // one request of the largest pattern
    if (request.size_bytes < kLeastSize)
      throw bad_input("--size: expected 8M or more, one request of the largest pattern");
    ResultFile file("storage", argc, argv);
    note_common(file, common);
    file.versions()["fio"] = fio_version(request);
    for (const StoragePattern& pattern : patterns) file.add(storage_row(request, pattern, file));
    file.write(common.out);
  });
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
