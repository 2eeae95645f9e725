#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "calibration/validation/machines.hpp"
#include "calibration/validation/published_row.hpp"

namespace stepcast {

namespace {

/// Slices of a pod that the data-centre network joins: "… 4 slice(s) …".
long slices_of(const std::string& network) {
  const std::size_t word = network.find(" slice(s)");
  if (word == std::string::npos) return 1;
  std::size_t begin = word;
  while (begin > 0 && network[begin - 1] >= '0' && network[begin - 1] <= '9') --begin;
  return std::max(1L, std::strtol(network.substr(begin, word - begin).c_str(), nullptr, 10));
}

}  // namespace

Json published_cluster(PublishedRow& reading) {
  const std::string accelerator = reading.row.text("accelerator_id"), network = reading.row.text("network");
  if (!reading.row.whole("gpus")) {
    reading.refuse("the number of GPUs is not stated");
    return nullptr;
  }
  const long stated = reading.out.gpus;
  if (contradicted_devices(reading.row)) reading.unstated("gpus");
  reading.gpus = stated;
  reading.slices = slices_of(network);
  const long per_node = reading.row.whole("gpus_per_node").value_or(stated);
  const std::optional<StatedNetwork> parsed = network_of(network, std::min(per_node, reading.gpus));
  if (!parsed && reading.gpus > per_node) reading.unstated("network");
  if (reading.notes("accelerator assumed")) reading.unstated(kUnstatedAccelerator);
  Json cluster = cluster_of_slices(accelerator, reading.gpus, reading.slices);
  if (!cluster.is_null()) reading.slices = cluster.at("nodes").get<long>();
  if (cluster.is_null()) cluster = cluster_of_machine(network, accelerator, reading.gpus);
  if (cluster.is_null()) cluster = cluster_of(accelerator, reading.gpus, per_node, parsed);
  if (cluster.is_null())
    reading.refuse(reading.slices > 1 ? fmt::format("no node of the catalogue stands for {} of {} in a slice",
                                                    reading.gpus / reading.slices, accelerator)
                                      : no_cluster(accelerator, reading.gpus, per_node));
  return cluster;
}

}  // namespace stepcast
