// stepcast-probe-mpi: collectives, messages and a training loop between processes with host memory.
#include <mpi.h>

#include <algorithm>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/common/host_facts.hpp"
#include "calibration/probes/common/program.hpp"
#include "calibration/probes/common/sizes.hpp"
#include "calibration/probes/mpi/collectives.hpp"
#include "calibration/probes/mpi/ping_pong.hpp"
#include "calibration/probes/mpi/train_loop.hpp"

namespace stepcast::probes {
namespace {

constexpr const char* kProgram = "stepcast-probe-mpi";
constexpr double kLongest_us = 1e8;

struct Options {
  CommonOptions common;
  std::string sizes, most = "64M";
  std::vector<std::string> ops = mpi_collectives();
  bool ping_pong = true, all_hosts = true;
  CollectiveRequest collectives;
  Measuring measuring;
  bool train = false;
  std::vector<TrainSettings> training{TrainSettings{}};
};

/// Every setting so far with every value of one more list.
template <typename Value, typename Set>
void multiply(std::vector<TrainSettings>& settings, const std::vector<Value>& values, Set set) {
  std::vector<TrainSettings> out;
  for (const TrainSettings& one : settings)
    for (const Value& value : values) {
      out.push_back(one);
      set(out.back(), value);
    }
  settings = out;
}

template <typename Choice>
Choice chosen(const std::string& word, const std::vector<std::pair<std::string, Choice>>& choices) {
  std::vector<std::string> known;
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
    known.push_back(name);
  }
  throw bad_input("no \"" + word + "\"; expected " + listed(known));
}

void choose_ops(Options& options, const std::string& text) {
  options.ops.clear();
  options.ping_pong = false;
  std::vector<std::pair<std::string, std::string>> known;
  for (const std::string& name : mpi_collectives()) known.emplace_back(name, name);
  known.emplace_back("ping_pong", "ping_pong");
  for (const std::string& word : parse_words(text)) {
    if (chosen(word, known) == "ping_pong")
      options.ping_pong = true;
    else
      options.ops.push_back(word);
  }
}

void add_measuring(Arguments& arguments, Options& options) {
  arguments.add(
      "--ops", "LIST",
      "of all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv, ping_pong; all by default",
      [&](const std::string& value) { choose_ops(options, value); });
  arguments.add("--max", "BYTES", "largest size, from 8 B on by factors of 4; 64M by default",
                [&](const std::string& value) { options.most = (parse_bytes(value), value); });
  arguments.add("--sizes", "LIST", "instead: 8:64M doubles, 8:64M*4 by a factor, 1M:4M+1M by a difference, 1K,1M",
                [&](const std::string& value) { options.sizes = (parse_sizes(value), value); });
  arguments.add("--place", "in|out|both", "in place, out of place or both, the default", [&](const std::string& value) {
    const int place = chosen<int>(value, {{"in", 1}, {"out", 2}, {"both", 3}});
    options.collectives.in_place = place != 2;
    options.collectives.out_of_place = place != 1;
  });
  arguments.add("--algorithm", "NAME", "have Open MPI use this one, as ring; auto, its own choice, by default",
                [&](const std::string& value) { options.collectives.algorithm = value; });
  arguments.add("--pairs", "first|hosts",
                "messages between the first two hosts, or also between every pair of up to 16, the default",
                [&](const std::string& value) {
                  options.all_hosts = chosen<bool>(value, {{"first", false}, {"hosts", true}});
                });
  arguments.add("--samples", "N", "of each row; 20 by default", [&](const std::string& value) {
    options.measuring.samples = static_cast<int>(parse_integer(value, 1, 100000));
  });
  arguments.add("--row-seconds", "S", "fewer samples, but 5, in rows that would take longer; 0.5 by default",
                [&](const std::string& value) { options.measuring.row_seconds = parse_number(value, 0.001, 3600); });
}

void add_training(Arguments& arguments, Options& options) {
  auto& settings = options.training;
  arguments.add("--train-loop", "",
                "a data-parallel training loop with known computation instead; the lists below are combined",
                [&](const std::string&) { options.train = true; });
  const auto list = [&arguments, &settings](const char* name, const char* value, const char* help, auto parse,
                                            auto set) {
    arguments.add(name, value, help, [&settings, parse, set](const std::string& text) {
      std::vector<decltype(parse(text))> values;
      for (const std::string& word : parse_words(text)) values.push_back(parse(word));
      multiply(settings, values, set);
    });
  };
  const auto time = [](const std::string& word) { return parse_number(word, 0, kLongest_us); };
  const auto bytes = [](const std::string& word) {
    const std::int64_t value = parse_bytes(word);
    if (value < 4 || value > (std::int64_t{1} << 32)) throw bad_input("\"" + word + "\": expected 4 to 4G");
    return value;
  };
  list(
      "--layers", "LIST", "8 by default", [](const std::string& word) { return parse_integer(word, 1, 100000); },
      [](TrainSettings& s, std::int64_t value) { s.layers = static_cast<int>(value); });
  list("--layer-bytes", "LIST", "gradients of a layer; 1M by default", bytes,
       [](TrainSettings& s, std::int64_t value) { s.layer_bytes = value; });
  list("--bucket-bytes", "LIST", "gradients are summed in buckets of at least so many; 4M by default", bytes,
       [](TrainSettings& s, std::int64_t value) { s.bucket_bytes = value; });
  list("--forward-us", "LIST", "computation of a layer, forward; 1000 by default", time,
       [](TrainSettings& s, double value) { s.forward_us = value; });
  list("--backward-us", "LIST", "and backward; 2000 by default", time,
       [](TrainSettings& s, double value) { s.backward_us = value; });
  list(
      "--compute", "LIST", "sleep, the default, or busy: a calibrated loop",
      [](const std::string& word) {
        return chosen<Computing>(word, {{"sleep", Computing::sleep}, {"busy", Computing::busy}});
      },
      [](TrainSettings& s, Computing value) { s.computing = value; });
  list(
      "--overlap", "LIST", "thread, the default; test: MPI_Test between pieces of computation; none",
      [](const std::string& word) {
        return chosen<Overlapping>(
            word, {{"none", Overlapping::none}, {"test", Overlapping::test}, {"thread", Overlapping::thread}});
      },
      [](TrainSettings& s, Overlapping value) { s.overlapping = value; });
  arguments.add("--steps", "N", "measured steps; 20 by default", [&](const std::string& value) {
    const int steps = static_cast<int>(parse_integer(value, 1, 100000));
    for (TrainSettings& one : settings) one.steps = steps;
  });
}

void measure_all(const Options& options, const World& here, ResultFile& file) {
  if (options.train) {
    for (const TrainSettings& settings : options.training) probe_training(here, settings, file);
    return;
  }
  if (here.ranks < 2) throw bad_input("one process has nobody to talk to; start it with mpirun -n 2 or more");
  const std::vector<std::int64_t> sizes =
      parse_sizes(options.sizes.empty() ? "8:" + options.most + "*4" : options.sizes);
  constexpr int kMostHostsInPairs = 16;  // 120 pairs: a minute
  if (options.all_hosts && here.nodes > kMostHostsInPairs && options.ping_pong && here.first())
    file.warn("more than 16 hosts: messages are measured between the first two alone");
  if (options.ping_pong)
    probe_ping_pong(here, options.measuring, sizes, options.all_hosts && here.nodes <= kMostHostsInPairs, file);
  CollectiveRequest request = options.collectives;
  request.ops = options.ops;
  request.sizes = sizes;
  probe_collectives(here, options.measuring, request, file);
}

void run(const Options& options, int argc, char** argv) {
  const World here = world();
  ResultFile file("mpi", argc, argv);
  file.versions()["mpi"] = here.library;
  file.environment()["hosts"] = here.hosts;
  note_common(file, options.common);
  if (options.collectives.algorithm != "auto" && here.library.find("Open MPI") == std::string::npos)
    throw bad_input("--algorithm: only Open MPI can be told; this is " + here.library);
  measure_all(options, here, file);
  if (here.first()) file.write(options.common.out);
}

/// Every process reads the same command line; only the first one answers.
bool speaks() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const std::string rank = environment_variable(name); !rank.empty()) return rank == "0";
  return true;
}

int main_of(int argc, char** argv) {
  Options options;
  Arguments arguments(kProgram,
                      "collectives and messages between processes with host memory, and a training loop over them.");
  add_measuring(arguments, options);
  add_training(arguments, options);
  add_common(arguments, options.common);
  if (answered(arguments, kProgram, argc, argv)) return 0;
  int code = 0;
  const auto prepare = [&] {
    arguments.parse(argc, argv);
    require_writable(options.common.out);
    if (options.collectives.algorithm != "auto") force_algorithm(options.ops, options.collectives.algorithm);
  };
  if (speaks())
    code = guarded(kProgram, prepare);
  else
    try {
      prepare();
    } catch (const Fault& fault) {
      code = static_cast<int>(fault.code());
    }
  if (code != 0) return code;

  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  code = guarded(kProgram, [&] {
    const bool threads = std::any_of(options.training.begin(), options.training.end(),
                                     [](const TrainSettings& s) { return s.overlapping == Overlapping::thread; });
    if (options.train && threads && provided < MPI_THREAD_SERIALIZED)
      throw missing("this MPI cannot be used from a second thread; --overlap test needs none");
    run(options, argc, argv);
  });
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace stepcast::probes

int main(int argc, char** argv) { return stepcast::probes::main_of(argc, argv); }
