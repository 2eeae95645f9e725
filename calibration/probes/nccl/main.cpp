// stepcast-probe-nccl: collectives between NVIDIA devices (and AMD's, by RCCL's equal functions).
#include <algorithm>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/host_facts.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/nccl/collectives.hpp"

namespace stepcast::probes {
namespace {

constexpr const char* kProgram = "stepcast-probe-nccl";

struct Options {
  CommonOptions common;
  NcclRequest request;
  std::string sizes, most;
  int devices = 0;
  bool pairs = true, overlap = true;
  Rendezvous rendezvous;
};

void add_options(Arguments& arguments, Options& options) {
  arguments.add("--ops", "LIST",
                "of all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv; all by default",
                [&](const std::string& value) { options.request.ops = parse_words(value, nccl_collectives()); });
  arguments.add("--max", "BYTES", "largest size, from 8 B on by factors of 2; as large as fits by default, 8G at most",
                [&](const std::string& value) { options.most = (parse_bytes(value), value); });
  arguments.add("--sizes", "LIST", "instead: 8:64M doubles, 8:64M*4 by a factor, 1M:4M+1M by a difference, 1K,1M",
                [&](const std::string& value) { options.sizes = (parse_sizes(value), value); });
  arguments.add("--place", "in|out|both", "in place, out of place or both, the default", [&](const std::string& value) {
    if (value != "in" && value != "out" && value != "both")
      throw bad_input("no \"" + value + "\"; expected in, out, both");
    options.request.in_place = value != "out";
    options.request.out_of_place = value != "in";
  });
  arguments.add("--algorithms", "LIST", "NCCL_ALGO of each pass, as auto,ring,tree,nvls; auto by default",
                [&](const std::string& value) { options.request.algorithms = parse_words(value); });
  arguments.add("--protocols", "LIST", "NCCL_PROTO of each pass, as auto,ll,ll128,simple; auto by default",
                [&](const std::string& value) { options.request.protocols = parse_words(value); });
  arguments.add("--devices", "N", "of this process; one under mpirun, srun and torchrun, else all",
                [&](const std::string& value) { options.devices = static_cast<int>(parse_integer(value, 1, 1024)); });
  arguments.add("--samples", "N", "of each row; 10 by default", [&](const std::string& value) {
    options.request.samples = static_cast<int>(parse_integer(value, 1, 100000));
  });
  arguments.add("--no-pairs", "", "no messages between every pair of up to 16 devices",
                [&](const std::string&) { options.pairs = false; });
  arguments.add("--no-overlap", "", "no two collectives at once, none beside a matrix product",
                [&](const std::string&) { options.overlap = false; });
  arguments.add("--rendezvous", "HOST:PORT", "of rank 0, where the launcher does not tell its host",
                [&](const std::string& value) { options.rendezvous.address = value; });
  arguments.add("--id-file", "PATH", "instead: a file that all hosts share",
                [&](const std::string& value) { options.rendezvous.file = value; });
  arguments.add("--timeout-s", "S", "until processes that do not meet give up; 60 by default",
                [&](const std::string& value) {
                  options.rendezvous.timeout_s = static_cast<int>(parse_integer(value, 1, 86400));
                });
}

/// Sizes to measure: what was asked for, or up to what fits the fullest device.
std::vector<std::int64_t> sizes_of(const Options& options, Ranks& ranks) {
  if (!options.sizes.empty()) return parse_sizes(options.sizes);
  if (!options.most.empty()) return parse_sizes("8:" + options.most);
  // Input and output, and as much again for NCCL and the second collective of the overlap.
  double least = 8.0 * (std::int64_t{1} << 30);
  for (const LocalRank& rank : ranks.local())
    least = std::min(least, static_cast<double>(rank.device->free_bytes()) / 5);
  std::vector<double> negative{-least};
  ranks.largest(negative);
  return parse_sizes("8:" + std::to_string(static_cast<std::int64_t>(-negative[0])));
}

void describe(const Ranks& ranks, const CudaDriver& driver, const CudaDevice& device, const LaunchPlace& place,
              ResultFile& file) {
  file.versions()["nccl"] = ranks.nccl().version();
  file.versions()["cuda_driver"] = driver.version();
  Json& environment = file.environment();
  environment["hosts"] = ranks.hosts();
  environment["accelerator"] = device.name();
  environment["accelerators"] = ranks.ranks_per_node();
  environment["accelerator_memory_bytes"] = device.memory_bytes();
  environment["launcher"] = place.launcher;
  if (!environment_variable("STEPCAST_STAND_IN").empty()) environment["stand_in"] = true;
}

void measure(const Options& options, int argc, char** argv) {
  const LaunchPlace place = launch_place();
  const Rendezvous rendezvous = complete(options.rendezvous, place);
  const CudaDriver driver;
  const NcclLibrary nccl;
  const bool alone = place.processes == 1;
  const int count = options.devices > 0 ? options.devices : alone ? driver.devices() : 1;
  // A launcher may show a process its own device alone, or all of them.
  const int begin = alone ? 0 : place.local_rank * count % driver.devices();
  if (begin + count > driver.devices())
    throw bad_input("--devices: " + std::to_string(count) + " asked for, " + std::to_string(driver.devices()) +
                    " here");
  std::vector<std::unique_ptr<CudaDevice>> devices;
  devices.reserve(count);
  for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<CudaDevice>(driver, begin + i));
  if (place.processes * count < 2)
    throw bad_input("one device has nobody to talk to; two are needed, on one host or on several");

  ResultFile file("nccl", argc, argv);
  note_common(file, options.common);
  std::unique_ptr<Nvml> nvml;
  std::vector<int> sampled;
  try {
    nvml = std::make_unique<Nvml>();
    file.versions()["driver"] = nvml->driver_version();
    for (const auto& device : devices)
      if (const int number = nvml->at_pci_address(device->pci_address()); number >= 0) sampled.push_back(number);
    if (!sampled.empty())
      if (const auto limit = nvml->power_limit_W(sampled[0])) file.environment()["power_limit_W"] = *limit;
  } catch (const Fault& fault) {
    if (place.rank == 0) file.warn(std::string("no clocks and no power: ") + fault.what());
  }
  Ranks ranks(nccl, devices, place, rendezvous);
  describe(ranks, driver, *devices[0], place, file);
  PowerSampler power(sampled.empty() ? nullptr : nvml.get(), sampled, 20);
  NcclRequest request = options.request;
  request.sizes = sizes_of(options, ranks);
  power.enter("collective");
  // Only the first process's file is kept; the others measure along with it.
  const std::int64_t large = std::min<std::int64_t>(request.sizes.back(), 64 << 20);
  if (options.pairs) probe_nccl_pairs(ranks, large, request.samples, file);
  probe_nccl_collectives(ranks, request, power, file);
  if (options.overlap) probe_nccl_overlap(ranks, large, request.samples, file);
  power.finish(file);
  if (place.rank == 0) file.write(options.common.out);
}

int main_of(int argc, char** argv) {
  Options options;
  options.request.ops = nccl_collectives();
  Arguments arguments(kProgram,
                      "collectives between NVIDIA devices: of one process, or of one process for each device under "
                      "mpirun, srun or torchrun.");
  add_options(arguments, options);
  return run_probe(kProgram, arguments, options.common, argc, argv, [&] { measure(options, argc, argv); });
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
