#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "hardware-catalog/catalog.hpp"
#include "hardware-catalog/operator_profile.hpp"
#include "models/cost/cost_spec.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/frameworks/framework.hpp"
#include "models/phases/phase_spec.hpp"
#include "models/power/facility_spec.hpp"
#include "models/reliability/reliability_spec.hpp"
#include "models/scenario/actor_spec.hpp"
#include "models/scenario/conditions.hpp"
#include "models/scenario/update_spec.hpp"
#include "models/storage/input_spec.hpp"
#include "models/workload/context_method.hpp"
#include "models/workload/model.hpp"
#include "models/workload/operators.hpp"
#include "models/workload/optimizer.hpp"
#include "units/quantity.hpp"

namespace stepcast {

struct LinkProfile;
struct NetworkProfile;
struct LibraryProfile;

inline constexpr int kScenarioFormatVersion = 1;

struct ClusterSpec {
  std::string node;  ///< catalogue id
  int nodes = 1;
  /// Calibration files, the first of which goes first; relative ones lie beside the scenario's file.
  std::vector<std::string> calibrations;
  std::map<std::string, std::string> software;  ///< versions by name, as probes call them: nccl, driver, mpi …
  FabricSpec fabric;
  std::string storage;  ///< id of a shared storage system; empty: the node's own drives
  std::string site;     ///< id of a site; empty: a stated default PUE, price and carbon
  std::string cooling;  ///< id of a cooling kind; empty: the node's
  std::vector<NodeConditionSpec> conditions;
  std::vector<OtherNodesSpec> other_nodes;
  std::optional<Watts> power_cap;   ///< of each device; absent: its board limit
  std::optional<double> clock_MHz;  ///< at which devices are locked; absent: what their power allows
  std::optional<int> local_raid;    ///< level of a node's drives: 0, 1, 5, 6 or 10; absent: the node's
  FacilitySpec facility;
  CostSpec cost;
  static const FieldTable<ClusterSpec>& fields();
};

/// How QLoRA holds the frozen weights of blocks: whole numbers of 8 bit with a scale a row, or 4-bit normal floats with
/// a scale of 8 bit for every 64 of them and one of 32 bit for every 256 such scales.
enum class PackedWeights { int8, nf4 };
template <>
struct EnumNames<PackedWeights> {
  static constexpr std::array names{"int8", "nf4"};
};

struct WorkloadSpec {
  ModelChoice model;                   ///< preset id or explicit description
  long global_batch = 0;               ///< samples (sequences) per step over the whole cluster
  std::optional<int> seq_len;          ///< default: the model's
  std::optional<Precision> precision;  ///< of the matrix products; default: the framework's for the device
  int adapter_rank = 0;                ///< >0: low-rank adapters of this rank are trained, the model is frozen
  std::optional<AdapterTargets> adapter_targets;  ///< absent: attention
  std::optional<PackedWeights> frozen_weights;    ///< of blocks; absent: as the products' format has them
  int document_len = 0;                           ///< >0: mean tokens of the documents that a sequence is packed of
  double expert_imbalance = 1;                    ///< tokens of the busiest expert-parallel rank over the mean
  std::optional<double> tokens;                   ///< to train, language models
  std::optional<double> samples;                  ///< to train, others
  std::optional<double> epochs;                   ///< over the preset's data set
  /// Batch, in samples, at which twice the least samples are needed to reach the target (McCandlish et al. 2018).
  std::optional<double> critical_batch;
  std::optional<double> stated_at_batch;  ///< batch at which the stated work reaches the target; absent: global_batch
  InputSpec input;
  static const FieldTable<WorkloadSpec>& fields();
};

enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble };
template <>
struct EnumNames<PipelineSchedule> {
  static constexpr std::array names{"gpipe", "1f1b", "interleaved-1f1b", "zero-bubble"};
};
/// `selective`: the attention core (Megatron). `per_operator`: all but every second matrix product and the attention
/// core (torchtitan's selective checkpointing by operator).
enum class Recompute { none, selective, full, modules, per_operator };
template <>
struct EnumNames<Recompute> {
  static constexpr std::array names{"none", "selective", "full", "modules", "per-operator"};
};
/// Parts of a layer whose activations can be recomputed on their own (`recompute: "modules"`).
enum class RecomputeModule { attention_core, attention, mlp, norm, moe };
template <>
struct EnumNames<RecomputeModule> {
  static constexpr std::array names{"attention_core", "attention", "mlp", "norm", "moe"};
};
/// Where an optimizer's states lie that are offloaded: in host memory, or on the node's own drives, through which every
/// update streams them (ZeRO-Infinity).
enum class OffloadDevice { host, nvme };
template <>
struct EnumNames<OffloadDevice> {
  static constexpr std::array names{"host", "nvme"};
};
/// How a token reaches its experts. `all_to_all`: a copy for each of them. `deepep`: one to each node and rank that
/// holds any of them (DeepEP, HybridEP; models/parallelism/expert_dispatch.hpp).
enum class ExpertDispatch { all_to_all, deepep };
template <>
struct EnumNames<ExpertDispatch> {
  static constexpr std::array names{"all_to_all", "deepep"};
};
enum class Sharding { none, zero1, zero2, zero3, fsdp, hsdp };
template <>
struct EnumNames<Sharding> {
  static constexpr std::array names{"none", "zero-1", "zero-2", "zero-3", "fsdp", "hsdp"};
};
/// How a collective's data moves: the algorithms that other code names, in the order of the table of all, which may
/// hold more (models/collectives/algorithm_table.cpp). `direct`: every pair on its own; `nvls` and `collnet` sum in a
/// switch.
enum class CollectiveAlgorithm {
  automatic,
  ring,
  tree,
  hierarchical,
  halving_doubling,
  recursive_doubling,
  nvls,
  nvls_tree,
  collnet,
  pat,
  chain,
  direct
};
template <>
struct EnumNames<CollectiveAlgorithm> {
  static const std::span<const char* const> names;  ///< of the table
};
/// How data and flags are sent (NCCL's protocols): quick to start, or the whole rate.
enum class CollectiveProtocol { automatic, simple, ll, ll128 };
template <>
struct EnumNames<CollectiveProtocol> {
  static constexpr std::array names{"auto", "simple", "ll", "ll128"};
};

/// Order of the elements of images in memory (PyTorch's memory_format, Keras's data_format): pixels of all channels
/// side by side (NHWC), or channel after channel (NCHW).
enum class MemoryFormat { channels_last, channels_first };
template <>
struct EnumNames<MemoryFormat> {
  static constexpr std::array names{"channels_last", "channels_first"};
};

struct StrategySpec {
  std::string framework;  ///< id of a profile; empty: usual_framework (draft.hpp)
  int tensor_parallel = 1;
  bool sequence_parallel = false;  ///< Megatron's, within the tensor-parallel group
  int pipeline_parallel = 1;
  int virtual_pipeline = 1;  ///< model chunks per pipeline rank (interleaved schedule)
  int context_parallel = 1;
  std::optional<ContextMethod> context_method;  ///< default: ring, or all_gather with sparse attention
  int expert_parallel = 1;
  std::optional<int> expert_tensor_parallel;  ///< tensor ranks that share one expert: all (default) or 1
  std::optional<int> data_parallel;           ///< follows from the device count; checked when given
  std::optional<int> micro_batch;  ///< samples per micro-batch and model replica; default: whole share of the batch
  std::optional<PipelineSchedule> schedule;  ///< default: 1f1b, or interleaved-1f1b with virtual_pipeline > 1
  std::optional<std::vector<int>>
      stage_layers;  ///< layers of each stage (of each chunk in order), for uneven pipelines
  Recompute recompute = Recompute::none;
  std::vector<RecomputeModule> recompute_modules;
  std::optional<int> recompute_layers;            ///< first ones of each chunk that recompute; default: all
  bool recompute_last_stage = true;               ///< false: the last stage keeps its activations
  std::optional<Sharding> sharding;               ///< default: the framework's
  std::optional<int> hsdp_shard_size;             ///< ranks of one shard group (hsdp); default: one node
  std::string order = "tp-cp-ep-dp-pp";           ///< dimensions over ranks, innermost first
  std::optional<bool> overlap_tensor_parallel;    ///< default: the framework's, where it can
  std::optional<ExpertDispatch> expert_dispatch;  ///< default: the framework's
  bool overlap_expert_parallel = false;           ///< all_to_alls of experts beside another micro-batch's computation
  std::optional<bool> overlap_gradients;          ///< default: the framework's
  std::optional<bool> overlap_parameter_gather;
  std::optional<bool> fused_loss;  ///< default: the framework's
  std::optional<bool> gradients_in_fp32;
  std::optional<OptimizerKind> optimizer;           ///< default: the model's usual one
  bool parameters_in_16_bit = false;                ///< and gradients and states, with no fp32 copy
  std::optional<bool> fused_activation;             ///< default: the framework's
  std::optional<bool> fused_norm;                   ///< default: the framework's
  std::optional<bool> fused_rotary;                 ///< default: the framework's
  std::optional<AttentionKernel> attention_kernel;  ///< default: the framework's
  bool torch_compile = false;                       ///< element-wise kernels of a block are fused by torch.compile
  bool fp8_dot_product_attention = false;           ///< attention's products in 8 bit, where others are in 8 or 4
  std::optional<MemoryFormat> memory_format;        ///< of images; default: models/scenario/memory_format.hpp
  bool sync_batch_norm = false;                     ///< batch norms take their statistics over all replicas
  bool offload_optimizer = false;  ///< optimizer states lie in host memory, and processors update them (ZeRO-Offload)
  OffloadDevice offload_optimizer_device = OffloadDevice::host;  ///< where these states lie
  bool offload_activations = false;  ///< what blocks keep for the backward pass waits in host memory
  CollectiveAlgorithm collective_algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol collective_protocol = CollectiveProtocol::automatic;
  std::optional<UpdateMode> update;    ///< default: the framework's
  std::optional<WorkerUnit> worker;    ///< default: the framework's
  std::optional<int> staleness_bound;  ///< steps that a worker may be ahead of the slowest (stale-synchronous)
  int backup_workers = 0;              ///< gradients that a step does not wait for
  int local_steps = 1;                 ///< between two exchanges (local, asynchronous)
  std::optional<ParameterServerSpec> parameter_servers;
  GossipTopology gossip_graph = GossipTopology::ring;
  CompressionSpec compression;
  std::optional<FederatedSpec> federated;
  std::optional<ActorSpec> actors;
  std::optional<double> step_spread;  ///< of a worker's step time from step to step; updates beside collectives
  static const FieldTable<StrategySpec>& fields();
  bool operator==(const StrategySpec&) const = default;
};

enum class Fidelity { simulated, analytic };
template <>
struct EnumNames<Fidelity> {
  static constexpr std::array names{"simulated", "analytic"};
};
enum class Granularity { segment, operation };
template <>
struct EnumNames<Granularity> {
  static constexpr std::array names{"segment", "operator"};
};

/// What counts as a FLOP of the model in TFLOP/s and MFU.
struct FlopConvention {
  bool causal_halved = true;
  bool output_layer = true;
  static const FieldTable<FlopConvention>& fields();
};

struct RunSpec {
  Fidelity fidelity = Fidelity::simulated;
  Granularity granularity = Granularity::segment;
  FlowDetail flows = FlowDetail::folded;
  FlopConvention flop_convention;
  long seed = 1;
  std::vector<PhaseSpec> phases;
  CheckpointSpec checkpoint;
  ReliabilitySpec reliability;
  static const FieldTable<RunSpec>& fields();
};

/// What the user wrote.
struct ScenarioSpec {
  int format_version = kScenarioFormatVersion;
  std::string schema;  ///< "$schema", for editors
  std::string name;
  std::string description;
  ClusterSpec cluster;
  WorkloadSpec workload;
  StrategySpec strategy;
  RunSpec run;
  static const FieldTable<ScenarioSpec>& fields();
};

/// Parallel degrees and what follows from them. tp·cp·dp·pp = devices; expert_parallel divides expert_ranks() (expert
/// groups lie inside them, as in Megatron).
struct Degrees {
  int tp = 1, cp = 1, ep = 1, dp = 1, pp = 1, vpp = 1;
  int etp = 1;             ///< tensor ranks that share one expert: tp, or 1 where each holds whole experts
  long micro_batch = 1;    ///< samples
  long micro_batches = 1;  ///< per step and model replica
  [[nodiscard]] int devices() const { return tp * cp * dp * pp; }
  /// Ranks of a stage over which expert groups lie.
  [[nodiscard]] int expert_ranks() const { return tp / etp * cp * dp; }
};

/// The scenario with every reference resolved and every default filled in; legal by construction. Points into the
/// catalogue, which must outlive it.
struct Scenario {
  ScenarioSpec spec;  ///< as written, with overrides applied
  const Node* node = nullptr;
  const Accelerator* accelerator = nullptr;  ///< null on CPU-only nodes
  const Cpu* cpu = nullptr;                  ///< null when the node's is unknown
  const ComputeProfile* compute = nullptr;
  const OperatorProfile* operators = nullptr;  ///< of single operators; null: the family was never measured
  const StoragePart* storage = nullptr;        ///< null: local drives
  const StoragePart* local_drive = nullptr;    ///< part of the node's local storage; null when it names none
  const Site* site = nullptr;                  ///< null: defaults
  const Cooling* cooling = nullptr;            ///< null: plain air
  const Psu* psu = nullptr;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const FrameworkProfile> framework;  ///< with its bucket in bytes for this scenario
  Degrees degrees;
  int seq_len = 0;
  Precision precision = Precision::bf16;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  ContextMethod context_method = ContextMethod::ring;
  Sharding sharding = Sharding::none;
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
  UpdateMode update = UpdateMode::synchronous;
  WorkerUnit worker = WorkerUnit::node;        ///< what exchanges, unless by collectives of all devices
  std::optional<ParameterServerSpec> servers;  ///< null: no parameter servers
  const Node* server_node = nullptr;           ///< of servers on nodes of their own; null: the workers' kind
  /// On the nodes of strategy.actors alone, a step of one token of each concurrent sequence; null: there are none.
  std::shared_ptr<const Scenario> actors;
  int shard_size = 1;             ///< ranks over which parameters (zero-3, fsdp, hsdp) or states are sharded
  std::vector<int> stage_layers;  ///< transformer layers (or CNN layers) of each chunk, in model order: pp·vpp entries
  int nics_per_node = 0;          ///< after fabric overrides
  BytesPerSecond nic_bandwidth;
  NetworkKind network = NetworkKind::infiniband;
  const LinkProfile* link_profile = nullptr;        ///< what collectives reach of the node's links
  const LinkProfile* host_link_profile = nullptr;   ///< of PCIe where those do not join all devices; null: they do
  const NetworkProfile* network_profile = nullptr;  ///< and of the network
  const LibraryProfile* library_profile = nullptr;
  const SwitchPart* network_switch = nullptr;  ///< that the fabric is built of; null: none is needed
  /// The scenario on each of cluster.other_nodes' kinds alone: nothing but node, devices, NICs and drives differ.
  std::vector<std::shared_ptr<const Scenario>> other_kinds;
  /// Two for each of run.phases: as it starts, and as it ends where its batch ramps; null: as the scenario, or stated.
  std::vector<std::shared_ptr<const Scenario>> phases;
  std::vector<std::string> assumptions;  ///< defaults that were taken, in words, for the report

  [[nodiscard]] int devices() const { return spec.cluster.nodes * node->devices(); }
  [[nodiscard]] int devices_per_node() const { return node->devices(); }
};

/// What the strategy names, else the model's usual one.
OptimizerKind optimizer_of(const Scenario& scenario);

/// The published JSON Schema of a scenario file (models/scenario/scenario.schema.json).
Json scenario_schema();
/// Every key of a scenario file in Markdown (docs/formats/scenario-keys.md).
std::string scenario_reference();

/// Makes relative names of a document's calibrations those of files beside the scenario's, for documents that leave
/// their file. What is no list of names stays, for whoever resolves it.
void anchor_calibrations(Json& document, const std::filesystem::path& scenario);

/// Reads, overrides (`--set`), validates and resolves a scenario. Throws InputError with every fault found.
/// `file` is for messages; `document` is the parsed JSON of it.
Scenario resolve(Json document, const std::string& file, const std::vector<std::string>& overrides,
                 const Catalog& catalog);
/// The same from a file.
Scenario load_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const Catalog& catalog);
/// The scenario as JSON with every default spelt out; resolving it again gives the same scenario.
Json to_json(const Scenario& scenario);

/// A legal default scenario for `stepcast run --model M --node N --nodes K`: the fastest strategy that leaves room in
/// memory, or a plainer one that is as fast, by stated rules; `description` says why. Throws InputError.
Json default_scenario(const std::string& model, const std::string& node, int nodes, const Catalog& catalog);

}  // namespace stepcast
