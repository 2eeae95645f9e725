#include "models/fabric/most_nodes.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

// Bounds far beyond any machine, so that a slip of the keyboard is caught and products of degrees stay in range.
constexpr double kMostRanks = 1e8;
constexpr double kMostSamples = 1e18;
constexpr double kMostBatch = 1e9;

/// Devices of each dimension, and what a pipeline is cut into.
void add_degrees(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  const Rules degree{.min = 1, .max = kMostRanks};
  t.field("tensor_parallel", &S::tensor_parallel, "Devices that share each layer's matrices", degree)
      .field("sequence_parallel", &S::sequence_parallel,
             "Norms and dropout are split over the tensor-parallel group (Korthikanti et al. 2022)")
      .field("pipeline_parallel", &S::pipeline_parallel, "Stages of the pipeline", degree)
      .field("virtual_pipeline", &S::virtual_pipeline, "Model chunks of each stage (interleaved-1f1b)",
             {.min = 1, .max = 10000})
      .field("context_parallel", &S::context_parallel, "Devices that share each sequence", degree)
      .field("context_method", &S::context_method,
             "How attention meets the rest of its sequence; default: ring, or all-gather with sparse or compressed "
             "attention")
      .field("expert_parallel", &S::expert_parallel, "Devices that share the experts, inside data parallelism", degree)
      .field(
          "expert_tensor_parallel", &S::expert_tensor_parallel,
          "Tensor-parallel devices that share one expert: all of them (default), or 1: each holds whole experts, and "
          "expert_parallel extends over them",
          degree)
      .field("data_parallel", &S::data_parallel,
             "Replicas of the model; follows from the device count, and is checked when given", degree)
      .field("micro_batch", &S::micro_batch,
             "Samples of one micro-batch and replica; default: 1 where the model is cut, else a replica's whole share",
             {.min = 1, .max = kMostBatch})
      .field("schedule", &S::schedule,
             "Pipeline schedule; default: 1f1b, or interleaved-1f1b with virtual_pipeline above 1")
      .field("stage_layers", &S::stage_layers,
             "Layers of each chunk in model order, for uneven pipelines; default: even", {.min = 0, .max = 1e6});
}

/// What is computed again, what replicas share out, and where ranks lie.
void add_recomputation_and_shards(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  t.field("recompute", &S::recompute, "What the backward pass computes again instead of keeping it")
      .field("recompute_modules", &S::recompute_modules, "Parts of a layer that recompute \"modules\" repeats")
      .field("recompute_layers", &S::recompute_layers,
             "So many layers of each pipeline stage (interleaved: of each chunk) recompute, the others keep their "
             "activations; default: all",
             {.min = 1, .max = 1e6})
      .field("recompute_last_stage", &S::recompute_last_stage,
             "false: the last stage of a pipeline, whose backward pass follows at once, keeps its activations")
      .field("sharding", &S::sharding, "What data-parallel replicas share out; default: the framework's")
      .field("hsdp_shard_size", &S::hsdp_shard_size,
             "Ranks of one shard group (hsdp: default those of one node; zero-1: default all)",
             {.min = 1, .max = kMostRanks})
      .field("order", &S::order, "Dimensions over ranks, innermost first: tp, cp, ep, dp and pp joined by -");
}

/// What runs beside what.
void add_overlaps(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  t.field("overlap_tensor_parallel", &S::overlap_tensor_parallel,
          "Tensor-parallel gathers and scatters run beside products; default: the framework's")
      .field("expert_dispatch", &S::expert_dispatch,
             "How a token reaches its experts: a copy for each of them by all_to_all, or one for each node and rank "
             "that holds any of them (DeepEP, HybridEP); default: the framework's")
      .field("overlap_expert_parallel", &S::overlap_expert_parallel,
             "All_to_alls of experts run beside another micro-batch's computation, forward passes between backward "
             "passes (Megatron's combined 1f1b)")
      .field("overlap_gradients", &S::overlap_gradients,
             "Gradients are reduced beside the backward pass; default: the framework's")
      .field("overlap_parameter_gather", &S::overlap_parameter_gather,
             "ZeRO-1 and 2: parameters are gathered beside the next forward pass; default: the framework's");
}

/// Which kernels run, in which numbers.
void add_kernels(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  t.field("fused_loss", &S::fused_loss,
          "Cross-entropy is one kernel each way that keeps 16-bit logits; default: the framework's")
      .field("gradients_in_fp32", &S::gradients_in_fp32,
             "Gradients are reduced in fp32, else in the parameters' format; default: the framework's")
      .field("optimizer", &S::optimizer,
             "What updates parameters: its states and traffic; default: adam (AdamW and LAMB alike) for transformers "
             "and diffusion models, sgd (with momentum) for other networks; muon: of hidden matrices, beside adam, in "
             "shards that keep matrices whole (none, zero-1)")
      .field("parameters_in_16_bit", &S::parameters_in_16_bit,
             "Parameters are in 16 bit alone, and so are their gradients and the optimizer's states: no fp32 copy")
      .field("fused_activation", &S::fused_activation,
             "A gated activation is one kernel that keeps nothing inside; default: the framework's")
      .field("fused_norm", &S::fused_norm,
             "An RMS norm is one kernel that keeps its input alone; default: the framework's")
      .field("fused_rotary", &S::fused_rotary, "Rotary positions are one kernel; default: the framework's")
      .field("attention_kernel", &S::attention_kernel,
             "Attention: products and softmax one by one over stored scores, or a generation of fused kernels (native: "
             "the vendor's newest, as cuDNN's and FlashAttention-3); default: the framework's")
      .field("torch_compile", &S::torch_compile,
             "torch.compile makes one kernel of a block's neighbouring norms, additions, activations and casts")
      .field("fp8_dot_product_attention", &S::fp8_dot_product_attention,
             "Attention's products run in 8 bit, too, where a precision below 16 bit does (Transformer Engine)")
      .field(
          "memory_format", &S::memory_format,
          "Order of images' elements: channels_last (NHWC), which tensor cores take, or channels_first (NCHW), which "
          "convolutions convert for them; default: channels_last in 16 bit, channels_first in fp32 and TF32")
      .field("sync_batch_norm", &S::sync_batch_norm,
             "Batch norms take their statistics over all replicas, in every layer of both passes");
}

/// What lies in host memory.
void add_offload(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  t.field("offload_optimizer", &S::offload_optimizer,
          "Optimizer states lie in host memory and the processors update them (ZeRO-Offload)")
      .field("offload_optimizer_device", &S::offload_optimizer_device,
             "Where these states lie: in host memory, or on the node's own drives, which the processors' update reads "
             "and writes (ZeRO-Infinity; sharding zero-3)")
      .field("offload_activations", &S::offload_activations,
             "What blocks keep for the backward pass waits in host memory");
}

/// How and when gradients or models meet.
void add_exchange(FieldTable<StrategySpec>& t) {
  using S = StrategySpec;
  t.field("collective_algorithm", &S::collective_algorithm, "Algorithm of collectives; auto: the faster one")
      .field("update", &S::update, "When workers' gradients or models meet; default: the framework's")
      .field("worker", &S::worker, "What exchanges with others: each device, or each node; default: the framework's")
      .field("staleness_bound", &S::staleness_bound,
             "stale-synchronous: steps that a worker may be ahead of the slowest", {.min = 0, .max = 1e6})
      .field("backup_workers", &S::backup_workers, "backup-workers: gradients that a step does not wait for",
             {.min = 0, .max = kMostRanks})
      .field("local_steps", &S::local_steps, "local and asynchronous: steps of a worker between two exchanges",
             {.min = 1, .max = 1e6})
      .field("parameter_servers", &S::parameter_servers,
             "Processes that hold the parameters; default: the framework's, if it has any")
      .field("gossip_graph", &S::gossip_graph, "gossip: whom a worker averages with")
      .field("compression", &S::compression, "How gradients are made smaller before they are sent")
      .field("federated", &S::federated, "Clients of federated averaging and their network")
      .field("actors", &S::actors, "Reinforcement learning: nodes that generate the samples to train on")
      .field("step_spread", &S::step_spread,
             "Standard deviation of the logarithm of a worker's step time, from step to step, in updates other than "
             "collectives; default: a stated one",
             {.min = 0, .max = 1});
}

}  // namespace

const FieldTable<ClusterSpec>& ClusterSpec::fields() {
  static const auto kTable = [] {
    FieldTable<ClusterSpec> t("cluster", "The machines");
    t.field("node", &ClusterSpec::node, "Catalogue id of the server", {.required = true, .refers_to = "nodes"})
        .field("nodes", &ClusterSpec::nodes, "How many of them", {.min = 1, .max = kMostNodes})
        .field("fabric", &ClusterSpec::fabric, "How they are joined")
        .field("calibrations", &ClusterSpec::calibrations,
               "Files of `stepcast calibrate`, the first of which goes first; a relative name is one beside this file")
        .field("software", &ClusterSpec::software,
               "Versions by name, as probes call them (nccl, driver, cuda_driver, mpi, fio …): calibrations that were "
               "measured with others are named")
        .field("storage", &ClusterSpec::storage,
               "Catalogue id of a shared storage system; default: the nodes' own drives", {.refers_to = "storage"})
        .field("site", &ClusterSpec::site, "Catalogue id of the site; default: a stated PUE, price and grid carbon",
               {.refers_to = "sites"})
        .field("cooling", &ClusterSpec::cooling, "Catalogue id of the cooling; default: the node's",
               {.refers_to = "cooling"})
        .field("conditions", &ClusterSpec::conditions, "Nodes that are slower than their kind, or lack NICs")
        .field("other_nodes", &ClusterSpec::other_nodes, "Nodes of another kind among the cluster's")
        .field("power_cap_W", &ClusterSpec::power_cap, "Power limit of each device; default: its board limit",
               {.min = 0, .max = 1e5, .above_min = true})
        .field("clock_MHz", &ClusterSpec::clock_MHz,
               "Clock that devices are locked at; default: as fast as power allows",
               {.min = 0, .max = 1e5, .above_min = true})
        .field("local_raid", &ClusterSpec::local_raid,
               "RAID level of a node's own drives (0, 1, 5, 6 or 10); default: the node's", {.min = 0, .max = 10})
        .field("facility", &ClusterSpec::facility, "What the building gives and allows")
        .field("cost", &ClusterSpec::cost, "Terms on which the cluster is bought or rented");
    return t;
  }();
  return kTable;
}

const FieldTable<WorkloadSpec>& WorkloadSpec::fields() {
  static const auto kTable = [] {
    FieldTable<WorkloadSpec> t("workload", "What is trained");
    t.field("model", &WorkloadSpec::model, "Id of a model preset, or a model's description", {.required = true})
        .field("global_batch", &WorkloadSpec::global_batch, "Samples (sequences) of one step over the whole cluster",
               {.required = true, .min = 1, .max = kMostBatch})
        .field("seq_len", &WorkloadSpec::seq_len, "Tokens of a sequence; default: the model's",
               {.min = 1, .max = 1 << 26})
        .field("precision", &WorkloadSpec::precision,
               "Format of the matrix products; default: the first of bf16, fp16, tf32, fp32 that the device has")
        .field("adapter_rank", &WorkloadSpec::adapter_rank,
               "Fine-tuning of low-rank adapters (LoRA) of this rank; the model itself is frozen; 0: everything is "
               "trained",
               {.min = 0, .max = 1 << 16})
        .field("adapter_targets", &WorkloadSpec::adapter_targets,
               "Products with adapters: those in front of the attention core, these and the one behind it, or all of a "
               "block but routers' and experts'; default: attention")
        .field("frozen_weights", &WorkloadSpec::frozen_weights,
               "Format in which weights of blocks are held under adapters and unpacked for each product (QLoRA); "
               "default: the products' own")
        .field("document_len", &WorkloadSpec::document_len,
               "Mean tokens of the documents that a sequence is packed of, attention staying inside each; 0: one "
               "document a sequence",
               {.min = 0, .max = 1 << 26})
        .field(
            "expert_imbalance", &WorkloadSpec::expert_imbalance,
            "Tokens that the busiest expert-parallel rank gets, over the mean, in each layer; all ranks wait for it; "
            "1: routing is even, as after balancing losses in the runs that constants come from",
            {.min = 1, .max = kMostRanks})
        .field("tokens", &WorkloadSpec::tokens, "Tokens to train on (transformers)", {.min = 1, .max = kMostSamples})
        .field("samples", &WorkloadSpec::samples, "Samples to train on", {.min = 1, .max = kMostSamples})
        .field("epochs", &WorkloadSpec::epochs, "Passes over the model's usual data set",
               {.min = 0, .max = 1e6, .above_min = true})
        .field("critical_batch", &WorkloadSpec::critical_batch,
               "Batch, in samples, that needs twice the least samples to reach the target; default: the stated work "
               "suffices at any batch",
               {.min = 0, .max = kMostSamples, .above_min = true})
        .field("stated_at_batch", &WorkloadSpec::stated_at_batch,
               "Batch, in samples, at which the stated work reaches the target; default: global_batch",
               {.min = 1, .max = kMostBatch})
        .field("input", &WorkloadSpec::input, "How training data is stored, read and prepared");
    return t;
  }();
  return kTable;
}

const FieldTable<StrategySpec>& StrategySpec::fields() {
  static const auto kTable = [] {
    FieldTable<StrategySpec> t("strategy", "How the training is spread over the devices");
    t.field(
        "framework", &StrategySpec::framework,
        "Id of a framework profile; default: pytorch-ddp, or megatron-lm or pytorch-fsdp where degrees or a sharding "
        "are stated that only these offer; where they do not run jax (TPU) or neuronx (Trainium), or pytorch-cpu on "
        "nodes without accelerators");
    add_degrees(t);
    add_recomputation_and_shards(t);
    add_overlaps(t);
    add_kernels(t);
    add_offload(t);
    add_exchange(t);
    return t;
  }();
  return kTable;
}

const FieldTable<FlopConvention>& FlopConvention::fields() {
  static const auto kTable = [] {
    FieldTable<FlopConvention> t("flop convention", "What counts as a FLOP of the model in TFLOP/s and MFU");
    t.field("causal_halved", &FlopConvention::causal_halved, "Half of causal attention's scores count")
        .field("output_layer", &FlopConvention::output_layer, "The output layer counts");
    return t;
  }();
  return kTable;
}

const FieldTable<RunSpec>& RunSpec::fields() {
  static const auto kTable = [] {
    FieldTable<RunSpec> t("run", "How the forecast is made");
    t.field("fidelity", &RunSpec::fidelity, "simulated: the step graph on the engine; analytic: the closed form")
        .field("granularity", &RunSpec::granularity,
               "segment: runs of operators that cannot wait are one; operator: each by itself")
        .field("flows", &RunSpec::flows,
               "folded: devices that behave alike are simulated once; full: every rank and every flow")
        .field("flop_convention", &RunSpec::flop_convention, "What counts as a FLOP of the model")
        .field("seed", &RunSpec::seed, "Seed of everything random", {.min = 0, .max = 9e15})
        .field("phases", &RunSpec::phases,
               "Stretches of the run that differ, in order; default: one of the stated work")
        .field("checkpoint", &RunSpec::checkpoint, "How the state of the training is saved")
        .field("reliability", &RunSpec::reliability, "What interrupts the run and how it goes on");
    return t;
  }();
  return kTable;
}

const FieldTable<ScenarioSpec>& ScenarioSpec::fields() {
  static const auto kTable = [] {
    using S = ScenarioSpec;
    FieldTable<S> t("scenario", "A training step to forecast: cluster, workload, strategy and how to run it");
    t.field("$schema", &S::schema, "Address of this schema, for editors")
        .field("format_version", &S::format_version, "Version of this format",
               {.min = 1, .max = kScenarioFormatVersion})
        .field("name", &S::name, "Name for reports")
        .field("description", &S::description, "What the scenario stands for and where its figures come from")
        .field("cluster", &S::cluster, "The machines", {.required = true})
        .field("workload", &S::workload, "What is trained", {.required = true})
        .field("strategy", &S::strategy, "How the training is spread over the devices")
        .field("run", &S::run, "How the forecast is made");
    return t;
  }();
  return kTable;
}

Json scenario_schema() { return published_schema<ScenarioSpec>("Stepcast scenario"); }

}  // namespace stepcast
