#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>

#include "cli/byte_sizes.hpp"
#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "fields/option_fault.hpp"
#include "fields/plain_text.hpp"
#include "report/collective_cluster.hpp"
#include "report/collective_question.hpp"

namespace stepcast {

namespace {

constexpr int kMostRanks = 1 << 20;

struct CollectiveOptions {
  CollectiveQuestion question;
  std::string op, sizes, dtype, flows{"folded"}, server_placement;
  std::string fabric, routing, placement, plot;
  std::optional<double> oversubscription;
  std::optional<double> jitter_us;
};

template <class E>
E named(const char* option, const std::string& name, char dash) {
  std::string spelt = name;
  for (char& c : spelt)
    if (c == '-' || c == '_') c = dash;
  if (const auto value = parse_enum<E>(spelt)) return *value;
  refuse_option(option, fmt::format("found \"{}\"", name), nearest_choice(spelt, names_of<E>()));
}

ElementType element_type(const std::string& name) {
  std::vector<std::string> known;
  for (const ElementType& type : element_types()) {
    for (const char* spelt : {type.name, type.nccl_name, type.precision}) {
      if (name == spelt) return type;
      if (known.empty() || known.back() != spelt) known.emplace_back(spelt);
    }
  }
  refuse_option("--dtype", fmt::format("found \"{}\"", name), nearest_choice(name, known));
}

/// Options of the fabric are keys of a scenario's fabric by another name.
void add_overrides(const CollectiveOptions& options, std::vector<std::string>& overrides) {
  if (!options.fabric.empty()) overrides.push_back("cluster.fabric.preset=" + options.fabric);
  if (options.oversubscription)
    overrides.push_back(fmt::format("cluster.fabric.oversubscription={}", *options.oversubscription));
  if (!options.routing.empty()) overrides.push_back("cluster.fabric.routing=" + options.routing);
  if (!options.placement.empty()) overrides.push_back("cluster.fabric.placement=" + options.placement);
}

CollectiveQuestion question_of(const CollectiveOptions& options) {
  CollectiveQuestion question = options.question;
  question.op = named<ExchangeKind>("--op", options.op, '_');
  if (!options.sizes.empty()) question.sizes = parse_byte_sizes(options.sizes);
  // As tables print them and NCCL's own settings spell them: LL128, Simple, Ring.
  question.algorithm = lower_case(question.algorithm);
  question.protocol = lower_case(question.protocol);
  if (!options.dtype.empty()) question.type = element_type(options.dtype);
  question.full = options.flows == "full";
  if (!options.server_placement.empty())
    question.server_placement = named<ServerPlacement>("--server-placement", options.server_placement, '-');
  if (options.jitter_us && !std::isfinite(*options.jitter_us))
    refuse_option("--jitter", "found nan", "a number of microseconds");
  if (options.jitter_us) question.jitter = Seconds(*options.jitter_us * 1e-6);
  add_overrides(options, question.overrides);
  return question;
}

/// Beside what is wrong with the cluster, so that one mistake does not hide another.
void require_sizes(const CollectiveQuestion& question, const Catalog& catalog) {
  if (!question.sizes.empty() || question.op == ExchangeKind::barrier) return;
  std::vector<Fault> faults{{"--sizes", "", "is missing", "as nccl-tests: --sizes 8:128M"}};
  try {
    (void)find_cluster(question, catalog);
  } catch (const InputError& error) {
    faults.insert(faults.end(), error.faults().begin(), error.faults().end());
  }
  throw InputError(std::move(faults));
}

void print(const CollectiveOptions& options, Session& session) {
  keep_inputs({{"--plot", options.plot}}, {options.question.cluster}, session);
  const CollectiveQuestion question = question_of(options);
  require_sizes(question, session.catalog());
  const CollectiveTable table = answer(question, session.catalog());
  if (!options.plot.empty()) write_file(options.plot, collective_svg(table));
  if (session.json) {
    session.print(collective_json(table));
  } else {
    session.print(collective_text(table));
  }
}

void add_machine_options(CLI::App& app, CollectiveOptions& options) {
  CollectiveQuestion& question = options.question;
  const auto count = whole_number(1, kMostRanks);
  app.add_option("--cluster", question.cluster,
                 "A node (stepcast catalog list nodes), a scenario file, or a preset of raw hosts: single-gpu-star")
      ->required()
      ->type_name("X");
  app.add_option("--ranks", question.ranks, "How many; default: all devices of a scenario")
      ->check(count)
      ->type_name("N");
  app.add_option("--ranks-per-node", question.ranks_per_node, "Default: all devices of a node")
      ->check(count)
      ->type_name("P");
  app.add_option("--nodes", question.nodes, "Instead of --ranks-per-node")->check(count)->type_name("K");
  app.add_option("--fabric", options.fabric, "How the nodes are joined; default: fat-tree")
      ->check(CLI::IsMember(names_of<FabricPreset>()));
  app.add_option("--oversubscription", options.oversubscription, "Capacity of a leaf's down-links over its up-links")
      ->check(number_between(1, 1000))
      ->type_name("RATIO");
  app.add_option("--routing", options.routing, "adaptive, or ecmp with its collisions")
      ->check(CLI::IsMember(names_of<FabricRouting>()));
  app.add_option("--placement", options.placement, "Of nodes over the fabric: packed or scattered")
      ->check(CLI::IsMember(names_of<FabricPlacement>()));
  app.add_option("--set", question.overrides,
                 "Set a key of the fabric, or of the scenario: cluster.fabric.nics_per_node=4 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_exchange_options(CLI::App& app, CollectiveOptions& options) {
  CollectiveQuestion& question = options.question;
  app.add_option("--op", options.op, expected_one_of(names_of<ExchangeKind>()))->required()->type_name("OP");
  app.add_option(
         "--sizes", options.sizes,
         "Of the whole buffer: 1K:16G doubles, 8:1K*4 quadruples; 1M,64M,1G is a list. Required, but for barrier")
      ->type_name("LIST");
  app.add_option("--dtype", options.dtype, "Element type; default: float32")->type_name("TYPE");
  app.add_option("--library", question.library,
                 "nccl; openmpi-4.1 (or openmpi), openmpi-4.0 (and before), openmpi-5, mpich and gloo on host memory; "
                 "default: nccl, without accelerators openmpi-4.1")
      ->type_name("NAME");
  app.add_option("--algorithm", question.algorithm, "Instead of the library's own choice: ring, tree, nvls …")
      ->type_name("A");
  app.add_option("--protocol", question.protocol, "Instead of the library's own choice: simple, ll, ll128")
      ->type_name("P");
  app.add_option("--servers", question.servers, "parameter_server_*: how many hold a shard each; default 1")
      ->check(whole_number(1, kMostRanks))
      ->type_name("K");
  app.add_option("--servers-per-node", question.servers_per_node, "parameter_server_*: default 1")
      ->check(whole_number(1, kMostRanks))
      ->type_name("K");
  app.add_option("--server-placement", options.server_placement, "On nodes apart, or colocated with workers")
      ->check(CLI::IsMember(names_of<ServerPlacement>()));
  app.add_option("--graph", question.graph,
                 "gossip: ring, torus, exponential, random-regular, or a file of edges (two ranks a line)")
      ->type_name("KIND|FILE");
  app.add_option("--degree", question.degree, "gossip over a random-regular graph: peers of a rank; default 4")
      ->check(whole_number(1, kMostRanks))
      ->type_name("D");
  app.add_option("--imbalance", question.imbalance,
                 "all_to_all_v: what the busiest rank sends or receives over the mean, which --sizes says")
      ->type_name("X");
}

}  // namespace

void add_collective(CLI::App& app, Session& session) {
  auto options = std::make_shared<CollectiveOptions>();
  CLI::App* command = app.add_subcommand(
      "collective", "Predict a collective over sizes and print the table that nccl-tests prints of a real one");
  add_exchange_options(*command, *options);
  add_machine_options(*command, *options);
  command->add_option("--flows", options->flows, "folded: representative ranks (default); full: every rank and flow")
      ->check(CLI::IsMember({"folded", "full"}));
  command->add_option("--seed", options->question.seed, "Of what chance decides; default 1")
      ->check(whole_number(0, kMostSeed))
      ->type_name("N");
  command
      ->add_option("--jitter", options->jitter_us,
                   "Ranks come late by so much in the mean; default: what the calibration says, else 0")
      ->check(number_between(0.0, 1e9))
      ->type_name("US");
  command->add_option("--plot", options->plot, "Draw bus bandwidth and time against size")
      ->check([](const std::string& name) { return name.empty() ? "expected the name of a file" : std::string(); }, "")
      ->type_name("FILE");
  add_calibration_option(*command, session);
  command->callback([options, &session] { print(*options, session); });
}

}  // namespace stepcast
