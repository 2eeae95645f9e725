#include "models/reliability/reliability_spec.hpp"

namespace stepcast {

const FieldTable<ReliabilitySpec>& ReliabilitySpec::fields() {
  using R = ReliabilitySpec;
  static const auto kTable = [] {
    const Rules rate{.min = 0, .max = 1e9};
    const Rules time{.min = 0, .max = 1e9};
    FieldTable<R> t("reliability", "What interrupts the run and how it goes on");
    t.field("published", &R::published,
            "Catalogue id of a reliability record whose rate of interruptions is taken; default: by the kind of device",
            {.refers_to = "reliability"})
        .field("interruptions_per_1000_node_days", &R::interruptions_per_1000_node_days,
               "Unexpected interruptions of the job for every 1000 nodes and days; default: the published record's",
               rate)
        .field("rate_factor", &R::rate_factor, "Factor on every rate of failure; 0: nothing fails",
               {.min = 0, .max = 1e6})
        .field("detection_s", &R::detection, "From an interruption until the job is stopped", time)
        .field("restart_s", &R::restart, "From there until training goes on, reading the checkpoint apart", time)
        .field("spares", &R::spares, "Idle nodes in reserve; default: another node is always to be had",
               {.min = 0, .max = 1e6})
        .field("repair_h", &R::repair, "Until a node that failed is back", {.min = 0, .max = 1e6})
        .field("elastic", &R::elastic, "Where spares are out, the job goes on with the nodes that are left")
        .field("spot", &R::spot, "The provider may take nodes back; default: where cluster.cost.basis is \"spot\"")
        .field("spot_interruptions_per_1000_node_days", &R::spot_interruptions_per_1000_node_days,
               "How often it does, for every 1000 nodes and days; default: the instance's published band", rate)
        .field("slow_nodes_per_1000_node_days", &R::slow_nodes_per_1000_node_days,
               "Nodes that turn slow without failing, for every 1000 nodes and days", rate)
        .field("slow_node_speed", &R::slow_node_speed, "Speed of such a node, of a healthy one's",
               {.min = 0.001, .max = 1})
        .field("slow_node_found_h", &R::slow_node_found, "Until such a node is found and replaced",
               {.min = 0, .max = 1e6})
        .field("link_flaps_per_1000_nic_days", &R::link_flaps_per_1000_nic_days,
               "Links that go down and come back, for every 1000 NICs and days", rate)
        .field("link_flap_s", &R::link_flap, "Time for which a flap stalls the job", time)
        .field("horizon_days", &R::horizon, "Length of the run where the scenario states no work",
               {.min = 0, .max = 36500, .above_min = true})
        .field("trials", &R::trials, "Runs of the Monte Carlo", {.min = 1, .max = 1000000});
    return t;
  }();
  return kTable;
}

const FieldTable<CheckpointSpec>& CheckpointSpec::fields() {
  using C = CheckpointSpec;
  static const auto kTable = [] {
    FieldTable<C> t("checkpoint", "How the state of the training is saved");
    t.field("kind", &C::kind,
            "full: one node gathers everything and writes it; sharded: every node writes its share; "
            "asynchronous: sharded, copied to host memory and written while training goes on")
        .field("target", &C::target, "Where to; default: cluster.storage, else the nodes' own drives")
        .field("interval_s", &C::interval, "Time between two; default: the best for the goodput",
               {.min = 0, .max = 1e9, .above_min = true})
        .field("size_GB", &C::size, "Size of one; default: parameters and optimizer states of the memory model",
               // A petabyte is the state of 60 trillion parameters at 16 bytes each.
               {.min = 0, .max = 1e6, .above_min = true});
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
