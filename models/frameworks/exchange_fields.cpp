#include "models/frameworks/exchange_profile.hpp"

namespace stepcast {

const FieldTable<ExchangeProfile>& ExchangeProfile::fields() {
  static const auto kTable = [] {
    using E = ExchangeProfile;
    FieldTable<E> t("exchange", "How the framework's processes exchange gradients, beside collectives of devices");
    t.field("pattern", &E::pattern, "Through what workers exchange gradients when they are synchronous")
        .field("updates", &E::updates, "Ways of updating that it offers; the first is its default")
        .field("worker", &E::worker, "What exchanges: each device, or a node that has reduced its devices' gradients")
        .field("sharding", &E::sharding, "How parameters lie on parameter servers")
        .field("large_array_elements", &E::large_array_elements,
               "Sharding large-arrays: a tensor of so many elements is cut", {.min = 0, .max = 1e12})
        .field("servers_on_every_node", &E::servers_on_every_node,
               "Servers are part of it: one on every worker's node, unless the scenario says otherwise")
        .field("cycle_ms", &E::cycle, "Gradients that are ready are agreed upon once in such a time",
               {.min = 0, .max = 1e5})
        .field("transport_GBps", &E::transport, "Most that one process sends or takes; 0: no limit but the network",
               {.min = 0, .max = 1e5})
        .field("server_update_GBps", &E::server_update,
               "Bytes of gradients that a server process applies in a second; 0: what the host's memory allows",
               {.min = 0, .max = 1e5})
        .field("locked_server", &E::locked_server, "A server serves one worker at a time, under a lock of the model")
        .field("reduce_on_host", &E::reduce_on_host, "Gradients of a node's devices are summed by its processors")
        .field(
            "all_reduce_GBps", &E::all_reduce,
            "What one process sends in the ring of an all-reduce on processors; 0: devices reduce by their own library",
            {.min = 0, .max = 1e5})
        .field("tensor_owners", &E::tensor_owners,
               "Inside a node each tensor is summed on one device, which sends the sum to the others")
        .field("wire_bytes", &E::wire_bytes, "Bytes of a gradient element on the network; 0: as it is",
               {.min = 0, .max = 8})
        .field("overlap_pull", &E::overlap_pull, "Parameters arrive under the next forward pass, else before it")
        .field("pull_after_push", &E::pull_after_push,
               "Nothing is pulled before the step's last gradient has been applied: of all workers where updates are "
               "synchronous, else one's own")
        .field("workers_update", &E::workers_update,
               "Servers only sum gradients; every worker applies the sum that it pulls by its own optimizer")
        .field("launch_per_worker_ms", &E::launch_per_worker,
               "Time of the driver to start the tasks of one step on one worker", {.min = 0, .max = 1e5})
        .field("feed_per_sample_us", &E::feed_per_sample,
               "Time of one sample through the one process that feeds a node", {.min = 0, .max = 1e6});
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
