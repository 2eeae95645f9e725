#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/probes/common/result_file.hpp"

namespace stepcast::probes {

/// One way of using storage, as fio runs it.
struct StoragePattern {
  std::string name;              ///< `pattern` of the row
  std::string rw;                ///< fio's rw
  std::int64_t block_bytes = 0;  ///< of one request
  int queue_depth = 1;
  bool many_jobs = false;  ///< as many processes as asked for; else one
  bool whole = false;      ///< runs until all is done and on the medium; else for the time asked for
  bool many_files = false;
};

/// The patterns, with what they stand for.
const std::vector<StoragePattern>& storage_patterns();

struct StorageRequest {
  std::string fio = "fio";
  std::filesystem::path folder;                     ///< where files are made, and removed again
  std::int64_t size_bytes = std::int64_t{1} << 30;  ///< of each process
  int seconds = 10, jobs = 4, files = 1000;
  std::int64_t file_bytes = 128 * 1024;  ///< of each of many files
};

/// fio's version, as "fio-3.33". Throws Fault (missing) when it cannot be run.
std::string fio_version(const StorageRequest& request);

/// Runs one pattern and gives its row. Where the file system refuses to pass the page cache by, the cache is used and
/// the file's warnings say so. Throws Fault with fio's own words when it fails.
Json storage_row(const StorageRequest& request, const StoragePattern& pattern, ResultFile& file);

}  // namespace stepcast::probes
