#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/probes/common/result_file.hpp"
#include "calibration/probes/mpi/world.hpp"

namespace stepcast::probes {

/// Names of the collectives that can be asked for.
std::vector<std::string> mpi_collectives();

struct CollectiveRequest {
  std::vector<std::string> ops;
  std::vector<std::int64_t> sizes;
  bool in_place = true, out_of_place = true;
  std::string algorithm = "auto";
};

/// Runs every op at every size and adds a row for each, on rank 0. The data of the first call is compared with what
/// must come out. Throws Fault (check failed), with rank, element, found and expected, when it differs.
void probe_collectives(const World& world, const Measuring& measuring, const CollectiveRequest& request,
                       ResultFile& file);

/// Has Open MPI use one algorithm for all ops; before MPI_Init. Throws Fault (bad input) for a name that an op does not
/// have, with those it has. Numbers as in Open MPI 4.1's `ompi_info --all`, coll_tuned_*_algorithm.
void force_algorithm(const std::vector<std::string>& ops, const std::string& algorithm);

}  // namespace stepcast::probes
