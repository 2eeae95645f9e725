#include "models/scenario/update_spec.hpp"

namespace stepcast {

namespace {

/// A byte in eight seconds: no network is slower, and transfers end.
constexpr double kLeastMegabits = 1e-6;
constexpr double kMostMegabits = 1e7;

}  // namespace

const FieldTable<ParameterServerSpec>& ParameterServerSpec::fields() {
  static const auto kTable = [] {
    using S = ParameterServerSpec;
    FieldTable<S> t("parameter servers", "Processes that hold the parameters and apply gradients to them");
    t.field("count", &S::count, "How many of them; a driver has one", {.min = 1, .max = 1e6})
        .field("placement", &S::placement, "own-nodes: beside cluster.nodes; on-workers: one a node in turn; driver")
        .field("sharding", &S::sharding,
               "balanced: every tensor cut evenly; by-variable: whole tensors in turn; large-arrays: large ones cut, "
               "small ones whole; default: the framework's")
        .field("node", &S::node,
               "own-nodes and driver: catalogue id of their node; default: the workers' kind, its accelerators unused",
               {.refers_to = "nodes"});
    return t;
  }();
  return kTable;
}

const FieldTable<CompressionSpec>& CompressionSpec::fields() {
  static const auto kTable = [] {
    using S = CompressionSpec;
    FieldTable<S> t("compression", "How gradients are made smaller before they are sent");
    t.field("method", &S::method, "Method; residuals are kept where it loses something")
        .field("ratio", &S::ratio, "top-k and random-k: share of the elements that is sent",
               {.min = 0, .max = 1, .above_min = true})
        .field("rank", &S::rank, "powersgd: rank of the factors", {.min = 1, .max = 1024});
    return t;
  }();
  return kTable;
}

const FieldTable<FederatedSpec>& FederatedSpec::fields() {
  static const auto kTable = [] {
    using S = FederatedSpec;
    FieldTable<S> t("federated averaging", "Rounds in which cluster.nodes clients train on samples of their own");
    t.field("clients", &S::clients, "Clients of whom each round's are drawn; default: cluster.nodes",
            {.min = 1, .max = 1e9})
        .field("local_epochs", &S::local_epochs, "Passes of a client over its own samples in a round",
               {.min = 0, .max = 1e4, .above_min = true})
        .field("samples_per_client", &S::samples_per_client, "Samples that a client holds, mean",
               {.min = 1, .max = 1e12})
        .field("upload_Mbps", &S::upload, "Rate at which a client sends",
               {.required = true, .min = kLeastMegabits, .max = kMostMegabits})
        .field("download_Mbps", &S::download, "Rate at which a client receives",
               {.required = true, .min = kLeastMegabits, .max = kMostMegabits})
        .field("server_Mbps", &S::server, "Rate of the server, each direction",
               {.required = true, .min = kLeastMegabits, .max = kMostMegabits})
        .field("latency_ms", &S::latency, "Time of a message between a client and the server, one way",
               {.min = 0, .max = 60000})
        .field("secure_aggregation", &S::secure_aggregation, "The server sees sums alone (Bonawitz et al. 2017)")
        .field("speed_spread", &S::speed_spread, "Standard deviation of the logarithm of a client's speed",
               {.min = 0, .max = 3});
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
