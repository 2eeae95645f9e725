#pragma once

#include <string>
#include <string_view>

namespace stepcast {

/// `# OSU MPI-CUDA Allreduce Latency Test v7.3`, taken apart. Empty where a line is no title.
struct OsuTitle {
  std::string_view before;  ///< what stands before it in the line: a launcher's prefix
  std::string_view library, test, version;
};

/// The title of an OSU micro-benchmark in a line, or of its likes in Python: `# OMB-Py MPI Latency Test`, `# OMB Python
/// MPI Allreduce Test`, and `# MPI Latency Test` of mpi4py.
OsuTitle osu_title_in(std::string_view line);

/// What times a table holds, by its title.
struct OsuTable {
  std::string op;             ///< all_reduce …, or ping_pong; empty where none can be told from it
  bool non_blocking = false;  ///< its column of bare communication counts
  bool pairs = false;         ///< of several pairs at once, but for two ranks
  std::string_view holds;     ///< what it holds instead, where there is no operation
};
OsuTable osu_table_of(const OsuTitle& title);

}  // namespace stepcast
