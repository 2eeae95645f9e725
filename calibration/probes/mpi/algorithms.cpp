#include <cstdlib>
#include <map>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/mpi/collectives.hpp"

namespace stepcast::probes {
namespace {

struct Tuned {
  std::string parameter;             ///< middle of coll_tuned_…_algorithm
  std::map<std::string, int> names;  ///< numbers of Open MPI 4.1 (`ompi_info --all`)
};

const std::map<std::string, Tuned>& tuned() {
  static const std::map<std::string, Tuned> table{
      {"all_reduce",
       {"allreduce",
        {{"linear", 1}, {"nonoverlapping", 2}, {"recursive_doubling", 3}, {"ring", 4}, {"segmented_ring", 5}}}},
      {"all_gather",
       {"allgather", {{"linear", 1}, {"bruck", 2}, {"recursive_doubling", 3}, {"ring", 4}, {"neighbor_exchange", 5}}}},
      {"reduce_scatter",
       {"reduce_scatter", {{"nonoverlapping", 1}, {"recursive_halving", 2}, {"ring", 3}, {"butterfly", 4}}}},
      {"broadcast",
       {"bcast",
        {{"linear", 1},
         {"chain", 2},
         {"pipeline", 3},
         {"split_binary_tree", 4},
         {"binary_tree", 5},
         {"binomial_tree", 6}}}},
      {"reduce", {"reduce", {{"linear", 1}, {"chain", 2}, {"pipeline", 3}, {"binary_tree", 4}, {"binomial_tree", 5}}}},
      {"all_to_all", {"alltoall", {{"linear", 1}, {"pairwise", 2}, {"bruck", 3}, {"linear_sync", 4}}}}};
  return table;
}

}  // namespace

void force_algorithm(const std::vector<std::string>& ops, const std::string& algorithm) {
  setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
  for (const std::string& op : ops) {
    const auto entry = tuned().find(op);
    if (entry == tuned().end())
      throw bad_input("--algorithm: " + op + " has one algorithm only; leave it out of --ops");
    const auto& names = entry->second.names;
    const auto number = names.find(algorithm);
    if (number == names.end()) {
      std::vector<std::string> known;
      known.reserve(names.size());
      for (const auto& [name, unused] : names) known.push_back(name);
      std::string fault = "--algorithm: " + op;
      throw bad_input(fault.append(" has no \"").append(algorithm).append("\"; it has ").append(listed(known)));
    }
    setenv(("OMPI_MCA_coll_tuned_" + entry->second.parameter + "_algorithm").c_str(),
           std::to_string(number->second).c_str(), 1);
  }
}

}  // namespace stepcast::probes
