#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"
#include "hardware-catalog/parts.hpp"
#include "models/frameworks/exchange_profile.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// How gradients meet when optimizer states are sharded but parameters are not (ZeRO-1 and 2).
enum class ShardedGradients { reduce_scatter, all_reduce };
template <>
struct EnumNames<ShardedGradients> {
  static constexpr std::array names{"reduce_scatter", "all_reduce"};
};
/// How the parameters that a rank has updated reach the others: flat shards gathered, or whole tensors broadcast by
/// their owners.
enum class UpdatedParameters { all_gather, broadcast };
template <>
struct EnumNames<UpdatedParameters> {
  static constexpr std::array names{"all_gather", "broadcast"};
};

/// Generation of attention kernels that a framework calls. `native`: the newest that the accelerator's vendor or
/// compiler offers (cuDNN, FlashAttention-3, composable kernels, XLA's).
enum class AttentionKernel { unfused, flash_1, flash_triton, flash_2, native };
template <>
struct EnumNames<AttentionKernel> {
  static constexpr std::array names{"unfused", "flash-1", "flash-triton", "flash-2", "native"};
};

/// How a model is spread over devices, as people choose a framework by it: whole on each of them, gathered layer by
/// layer from all, or cut into parts that stay where they are (tensor, pipeline and expert parallelism).
enum class Spread { replicated, sharded, cut };
template <>
struct EnumNames<Spread> {
  static constexpr std::array names{"replicated", "sharded", "cut"};
};

/// Whose settings and program start a framework's training: torchrun with PyTorch's, DeepSpeed's or Megatron-LM's
/// settings, JAX's processes, horovodrun, or programs of its own.
enum class LaunchSettings { torch, deepspeed, megatron, jax, horovod, own };
template <>
struct EnumNames<LaunchSettings> {
  static constexpr std::array names{"torch", "deepspeed", "megatron", "jax", "horovod", "own"};
};

/// How a framework runs a step: what it overlaps, in which pieces it communicates, what its host costs. One JSON file
/// each in models/frameworks/profiles/. Sources beside each figure.
struct FrameworkProfile {
  std::string id;
  std::string title;
  bool on_accelerators = true;            ///< runs on nodes with accelerators
  std::vector<std::string> makers;        ///< accelerator_makers: whose accelerators it runs on; empty: anybody's
  bool on_processors = false;             ///< runs on nodes without
  std::vector<Spread> usual_for;          ///< what it is chosen for where nobody names a framework
  std::vector<std::string> usual_makers;  ///< on whose accelerators; empty: where no other is usual
  LaunchSettings launch_settings = LaunchSettings::torch;  ///< that `stepcast plan` writes; megatron's for transformers
  std::vector<std::string> shardings;  ///< names of Sharding that it offers; the first is its default
  bool tensor_parallel = false;        ///< offers tensor/pipeline/context/expert parallelism
  bool pipeline_parallel = false;
  std::vector<std::string> schedules;  ///< names of PipelineSchedule that its pipelines run; empty: each
  bool context_parallel = false;
  std::vector<std::string> context_methods;  ///< names of ContextMethod that it offers, its default first; empty: each
  bool expert_parallel = false;
  bool pipelines_shard_gradients = true;  ///< what shards gradients runs beside pipeline parallelism
  /// Shards beside pipeline parallelism: gradients of all micro-batches add up whole and are reduced once a step, and
  /// parameters stay whole after a backward pass.
  bool pipelines_accumulate = false;
  std::vector<std::string> expert_dispatches{
      "all_to_all"};                     ///< of ExpertDispatch that it offers; the first is its default
  bool needs_sequence_parallel = false;  ///< beside tensor parallelism, to cut experts or overlap products when asked
  ShardedGradients sharded_gradients = ShardedGradients::reduce_scatter;
  UpdatedParameters updated_parameters = UpdatedParameters::all_gather;
  Bytes parameter_bucket;  ///< parameter_bucket_MiB: size of one gather or broadcast of updated parameters; 0: as
                           ///< gradients
  double data_parallel_overhead =
      0;                          ///< hooks and copies of the data-parallel wrapper, share of forward and backward time
  bool overlap_gradients = true;  ///< gradient buckets are sent while the backward pass goes on
  bool overlap_parameter_gather = false;  ///< ZeRO-1/2: parameters are gathered under the next forward pass
  Bytes bucket;                           ///< bucket_MiB; 0: one bucket of everything
  Bytes first_bucket;                     ///< first_bucket_MiB; 0: as the others
  double bucket_parameters = 0;           ///< buckets counted in parameters instead of bytes (0: by `bucket`)
  double bucket_parameters_per_rank = 0;  ///< and at least so many for each data-parallel rank
  bool gradients_in_fp32 = false;         ///< reduced in fp32, else in the parameters' format
  bool main_gradients_fp32 = false;       ///< accumulated in fp32 buffers
  bool model_gradients_kept = false;      ///< 16-bit gradients stay beside the accumulated fp32 ones
  bool persistent_buckets = false;        ///< each gradient has a place in a bucket beside its own memory
  bool frees_gradients = false;           ///< after each step: none exist when its first backward pass begins
  bool fused_activation = false;          ///< a gated activation is one kernel; else its inner result is kept as well
  bool fused_expert_biases = true;        ///< added by what writes the experts' results; else by passes of their own
  bool fused_norm = true;                 ///< an RMS norm is one kernel; else its inner results are kept as well
  bool keeps_wide_norms = false;          ///< an RMS norm keeps inner results even so
  double rotary_passes = 0;  ///< over queries and keys, either way, of rotary positions that run operator by operator,
                             ///< at the rate of streaming kernels; 0: one kernel
  bool automatic_mixed_precision = false;  ///< weights, norms and what blocks add up are in fp32, and cast for each
                                           ///< product that reads them; a weight's copy stays for the backward pass
  bool kernels_by_element = false;         ///< permutations, pooling, rolls and resizing find each element's place for
                                           ///< themselves (PyTorch's own kernels); else they stream
  bool keeps_gathered_inputs = false;      ///< sequence parallelism: a product's gathered input is kept for its weight
                                           ///< gradient, not gathered again
  bool gathers_cast_operands = false;  ///< sequence parallelism: ranks cast their part to 8 or 4 bit and gather that
  double loss_bytes_per_logit = 12;    ///< that an unfused loss holds at most
  double parallel_loss_bytes_per_logit = 0;  ///< the same where tensor ranks share the vocabulary; 0: as much
  double update_group_parameters = 0;        ///< sharded parameters that an optimizer step updates at once, with their
                                             ///< gradients copied to fp32 before; 0: none are copied
  AttentionKernel attention_kernel = AttentionKernel::native;
  double score_traffic = 0.6;      ///< unfused attention: traffic of scores over six accesses forward and nine backward
  int fused_softmax_multiple = 0;  ///< unfused attention: its softmax is one kernel where sequences × heads of a device
                                   ///< are a multiple of this, else several; 0: always several
  bool fused_gradient_accumulation =
      false;  ///< weight-gradient products add to the gradient; else a pass of its own does
  bool overlap_pipeline_messages = false;  ///< computation goes on while an activation is sent to the next stage
  bool scatter_gather_messages = false;  ///< tensor ranks send a share each over the network and gather it in the node
  bool cuda_graphs = false;
  bool fused_loss = false;               ///< cross-entropy is one kernel each way that keeps 16-bit logits
  double tensor_parallel_exposed = 1;    ///< share of a tensor-parallel gather or scatter that its neighbouring product
                                         ///< does not hide where they overlap; 1: they cannot
  bool overlap_tensor_parallel = true;   ///< they do unless the strategy says otherwise, as far as they can
  bool recompute_stops_early = false;    ///< recomputation ends before a dense block's last product
  bool overlap_input_gradients = false;  ///< a tensor-parallel input gradient is summed or scattered beside the weight
                                         ///< gradient of the same product
  double memory_efficiency =
      1;  ///< share of the streaming kernels' traffic that fusion leaves: >1 = unfused extra passes
  double compiled_memory_efficiency = 0;  ///< the same with StrategySpec::torch_compile; 0: cannot be compiled
  bool streaming_in_fp32 = false;         ///< mixed precision casts products alone: norms, softmax and the
                                          ///< like stay in fp32 in networks of sequences
  double convolution_memory_efficiency =
      0;  ///< the same in networks that are no transformers, over separate kernels; 0: as above
  double half_convolution_memory_efficiency = 0;  ///< the same in 16 bit where they convolve; 0: as above
  double unrecomputed_activations = 1;  ///< what blocks keep that recompute nothing, over what fused kernels need
  double kept_activation_passes = 0;  ///< over what a block keeps for its backward pass, beside its kernels: a compiled
                                      ///< loop over layers writes it into stacked arrays and slices it out of them
  int layers_per_unit = 1;            ///< FSDP: layers per wrapped unit
  bool backward_prefetch = true;      ///< FSDP: next gather issued before this unit's gradients
  Seconds host_per_layer_forward;     ///< host_per_layer_forward_us: host time to issue one layer forward
  double host_backward_factor = 1.3;  ///< backward over forward
  Seconds host_per_peer;              ///< host_per_peer_us: at a tensor-parallel collective, hosts that issue
                                      ///< kernels one by one are out of step by so much for each peer
  double compiled_host_factor = 1;    ///< host time of a layer with StrategySpec::torch_compile over without
  double host_expert_factor = 1;      ///< a mixture-of-experts layer over a dense one
  double host_low_precision_factor = 1;  ///< a layer in 8 or 4 bit over one in 16: scaling and casting kernels
  double expert_half_rows = 56;          ///< rows of each expert whose arithmetic grouped products take longer by,
                                         ///< at the peak of an A100; grows with the peak
  double expert_memory_efficiency = 1;   ///< traffic of moving tokens to experts and back over the least
  Seconds step_overhead;                 ///< step_overhead_ms: fixed per step
  double micro_batch_bytes_per_parameter = 0;  ///< memory traffic of each parameter in a micro-batch: weights cast for
                                               ///< the forward pass, gradients unscaled, checked and clipped
  bool single_ring = false;                    ///< devices of a node exchange over one ring in their order (NCCL 1)
  double communication_sms = 0;                ///< SMs that a collective kernel holds while it runs beside computation
  double optimizer_bytes_per_parameter = 0;    ///< traffic of the optimizer step
  ExchangeProfile exchange;
  std::map<std::string, std::string> sources;
  std::map<std::string, Evidence> evidence;
  std::string note;
  static const FieldTable<FrameworkProfile>& fields();

  /// Whether it trains on accelerators of a maker (Accelerator::vendor), or on processors where there is none.
  [[nodiscard]] bool runs_on(std::string_view maker) const;
  [[nodiscard]] bool fused_attention() const { return attention_kernel != AttentionKernel::unfused; }
  /// Size at which a gradient bucket closes, whether the framework counts bytes or parameters; 0: one bucket of
  /// everything. A resolved scenario's profile has it in `bucket` already.
  [[nodiscard]] Bytes bucket_of(double bytes_per_gradient, int data_parallel) const;
};

/// Profile of an id from models/frameworks/profiles (found as the catalogue is). Null with a fault at `pointer` if
/// unknown.
std::shared_ptr<const FrameworkProfile> find_framework(std::string_view id, const std::string& pointer,
                                                       Diagnostics& diagnostics);
/// The framework where nobody names one, on accelerators of a maker or, where that is empty, on processors: the profile
/// that is usual for the maker, else the one that is usual where no other is. Throws std::logic_error without either.
std::string default_framework(std::string_view maker, Spread spread = Spread::replicated);
/// Ids of all profiles, sorted.
std::vector<std::string> framework_ids();

}  // namespace stepcast
