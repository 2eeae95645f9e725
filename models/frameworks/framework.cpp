#include "models/frameworks/framework.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "fields/data_directory.hpp"
#include "models/frameworks/check_framework.hpp"

namespace stepcast {

namespace {

constexpr double kMostSeconds = 3600;

/// What it runs on and what it offers.
void add_offers(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("id", &F::id, "Name that scenarios use; the same as the file's", {.required = true})
      .field("title", &F::title, "Name and generation, for people", {.required = true})
      .field("on_accelerators", &F::on_accelerators, "Runs on nodes with accelerators")
      .field("accelerator_makers", &F::makers,
             "Makers (`vendor` in the catalogue) of the accelerators that it runs on; none: anybody's")
      .field("on_processors", &F::on_processors, "Runs on nodes without accelerators")
      .field("usual_for", &F::usual_for,
             "Ways to spread a model that it is chosen for where nobody names a framework: whole, sharded, or cut by "
             "tensor, pipeline and expert parallelism")
      .field("usual_makers", &F::usual_makers,
             "Makers on whose accelerators it is; none: wherever no other framework is")
      .field("launch_settings", &F::launch_settings,
             "How a plan is written and started: by torchrun with PyTorch's, DeepSpeed's or Megatron-LM's settings, as "
             "JAX's processes, by horovodrun, or by programs of its own, for which no script is written")
      .field("shardings", &F::shardings, "Shardings that it offers; the first is its default", {.required = true})
      .field("tensor_parallel", &F::tensor_parallel, "Offers tensor parallelism")
      .field("pipeline_parallel", &F::pipeline_parallel, "Offers pipeline parallelism")
      .field("pipelines_shard_gradients", &F::pipelines_shard_gradients,
             "What shards gradients (zero-2, zero-3, fsdp, hsdp) runs beside pipeline parallelism")
      .field("pipelines_accumulate", &F::pipelines_accumulate,
             "Pipelines add sharded gradients up whole and reduce them once a step; else each micro-batch's")
      .field("schedules", &F::schedules, "Orders of passes that its pipelines run; none: each")
      .field("context_parallel", &F::context_parallel, "Offers context parallelism")
      .field("context_methods", &F::context_methods,
             "Ways of keys and values to the other context-parallel ranks that it offers; the first is its default; "
             "none: each")
      .field("expert_parallel", &F::expert_parallel, "Offers expert parallelism")
      .field("expert_dispatches", &F::expert_dispatches,
             "Ways of a token to its experts that it offers; the first is its default")
      .field("needs_sequence_parallel", &F::needs_sequence_parallel,
             "Expert parallelism and overlap_tensor_parallel beside tensor parallelism need sequence parallelism");
}

/// In which pieces gradients and parameters are exchanged, and what stays of them.
void add_gradients(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("sharded_gradients", &F::sharded_gradients, "ZeRO-1 and 2: how gradients are reduced")
      .field("updated_parameters", &F::updated_parameters, "ZeRO-1 and 2: how updated parameters reach the other ranks")
      .field("parameter_bucket_MiB", &F::parameter_bucket,
             "Size of one gather or broadcast of updated parameters; 0: as the gradients' buckets",
             {.min = 0, .max = 1e6})
      .field("data_parallel_overhead", &F::data_parallel_overhead,
             "Hooks and copies of the data-parallel wrapper, as a share of forward and backward time",
             {.min = 0, .max = 1})
      .field("overlap_gradients", &F::overlap_gradients, "Gradient buckets are sent while the backward pass goes on")
      .field("overlap_parameter_gather", &F::overlap_parameter_gather,
             "ZeRO-1 and 2: parameters are gathered under the next forward pass")
      .field("bucket_MiB", &F::bucket, "Size at which a gradient bucket closes; 0: one bucket of everything",
             {.min = 0, .max = 1e6})
      .field("first_bucket_MiB", &F::first_bucket,
             "Of PyTorch's reducer, which cuts no tensor: size at which the first bucket closes; 0: another reducer, "
             "which "
             "cuts a layer that is larger than a bucket",
             {.min = 0, .max = 1e6})
      .field("bucket_parameters", &F::bucket_parameters, "Buckets counted in parameters; 0: by bucket_MiB",
             {.min = 0, .max = 1e12})
      .field("bucket_parameters_per_rank", &F::bucket_parameters_per_rank,
             "A bucket has at least so many parameters for each data-parallel rank", {.min = 0, .max = 1e12})
      .field("gradients_in_fp32", &F::gradients_in_fp32,
             "Gradients are reduced in fp32, else in the parameters' format")
      .field("main_gradients_fp32", &F::main_gradients_fp32, "Gradients are accumulated in fp32")
      .field("model_gradients_kept", &F::model_gradients_kept,
             "Gradients in the parameters' format stay beside the accumulated fp32 ones")
      .field("persistent_buckets", &F::persistent_buckets,
             "Every gradient has a place in a bucket, beside its own memory, all the time")
      .field("frees_gradients", &F::frees_gradients,
             "Gradients are freed after each step, so that none exist when its first backward pass begins");
}

/// What is one kernel, and what kernels keep for the backward pass.
void add_kernels(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("fused_activation", &F::fused_activation,
          "A gated activation is one kernel; else its inner result is kept for the backward pass, too")
      .field(
          "fused_expert_biases", &F::fused_expert_biases,
          "Biases of experts' second products are added by what writes the results; else by passes in fp32 over them")
      .field(
          "fused_norm", &F::fused_norm,
          "An RMS norm is one kernel that keeps its input; else it also keeps that in fp32 and the normalised result")
      .field("keeps_wide_norms", &F::keeps_wide_norms,
             "An RMS norm keeps its input in fp32 and the normalised result, though it is one kernel")
      .field("rotary_passes", &F::rotary_passes,
             "Passes over queries and keys, either way, of rotary positions that run operator by operator, in time of "
             "streaming kernels; 0: one kernel",
             {.min = 0, .max = 200})
      .field("automatic_mixed_precision", &F::automatic_mixed_precision,
             "Weights, norms and the sums of blocks are in fp32, cast for each product that reads them; a weight's "
             "copy stays for the backward pass")
      .field("kernels_by_element", &F::kernels_by_element,
             "Permutations, pooling, rolls and resizing of CNNs and compact networks find each element's place for "
             "themselves, as PyTorch's own kernels do where nothing compiles them; else they stream")
      .field("keeps_gathered_inputs", &F::keeps_gathered_inputs,
             "Sequence parallelism: a product's gathered input is kept for its weight gradient, else gathered again")
      .field(
          "gathers_cast_operands", &F::gathers_cast_operands,
          "Sequence parallelism in 8 or 4 bit: each rank casts its part of a product's operand and that is gathered; "
          "else it is gathered in 16 bit and cast in full")
      .field("loss_bytes_per_logit", &F::loss_bytes_per_logit,
             "Most bytes that an unfused loss holds for each logit; PyTorch's holds three fp32 copies",
             {.min = 0, .max = 64})
      .field("parallel_loss_bytes_per_logit", &F::parallel_loss_bytes_per_logit,
             "The same where tensor-parallel ranks share the vocabulary; 0: as much", {.min = 0, .max = 64})
      .field("update_group_parameters", &F::update_group_parameters,
             "Sharded parameters (zero-3) that an optimizer step on the device updates at once, with their gradients "
             "copied to fp32 before; 0: none are copied",
             {.min = 0, .max = 1e13})
      .field("attention_kernel", &F::attention_kernel,
             "Attention: products and softmax one by one over stored scores, or a generation of fused kernels")
      .field("score_traffic", &F::score_traffic,
             "Unfused attention: memory traffic of scores between the products, over four accesses forward and five "
             "backward",
             {.min = 0, .max = 10})
      .field("fused_softmax_multiple", &F::fused_softmax_multiple,
             "Unfused attention: its softmax is one kernel where sequences × heads of a device are a multiple of this, "
             "else several; 0: always several",
             {.min = 0, .max = 1024})
      .field("fused_loss", &F::fused_loss, "Cross-entropy is one kernel each way that keeps 16-bit logits");
}

/// What runs beside what.
void add_overlaps(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("tensor_parallel_exposed", &F::tensor_parallel_exposed,
          "Share of a tensor-parallel gather or scatter that its neighbouring product does not hide where they "
          "overlap; 1: they cannot",
          {.min = 0, .max = 1})
      .field("overlap_tensor_parallel", &F::overlap_tensor_parallel,
             "Tensor-parallel gathers and scatters overlap with products where the strategy does not say")
      .field("overlap_input_gradients", &F::overlap_input_gradients,
             "A tensor-parallel input gradient is summed or scattered beside the weight gradient of the same product")
      .field("recompute_stops_early", &F::recompute_stops_early,
             "Full recomputation ends before the last product of a dense block, whose result its backward pass does "
             "not read")
      .field("fused_gradient_accumulation", &F::fused_gradient_accumulation,
             "Weight-gradient products add to the gradient; else a pass of its own does")
      .field("overlap_pipeline_messages", &F::overlap_pipeline_messages,
             "Computation goes on while an activation is sent to the next pipeline stage")
      .field("scatter_gather_messages", &F::scatter_gather_messages,
             "Tensor-parallel ranks send a share of an activation each and gather it in the receiving node")
      .field("cuda_graphs", &F::cuda_graphs, "Layers are launched as recorded graphs");
}

/// Memory traffic over that of the kernels that operators need.
void add_traffic(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("memory_efficiency", &F::memory_efficiency,
          "Traffic of the streaming kernels over that of fused ones; above 1: extra passes", {.min = 0.5, .max = 20})
      .field("compiled_memory_efficiency", &F::compiled_memory_efficiency,
             "memory_efficiency with strategy.torch_compile; 0: the framework does not compile", {.min = 0, .max = 20})
      .field("streaming_in_fp32", &F::streaming_in_fp32,
             "Mixed precision casts products' inputs alone: norms, softmax and what lies between stay in fp32 in "
             "networks of sequences")
      .field("convolution_memory_efficiency", &F::convolution_memory_efficiency,
             "Traffic of the streaming kernels of CNNs and compact networks over that of one kernel each for norm, "
             "activation and addition; below 1: fused; 0: memory_efficiency",
             {.min = 0, .max = 20})
      .field("half_convolution_memory_efficiency", &F::half_convolution_memory_efficiency,
             "The same in 16 bit of networks that convolve; 0: as convolution_memory_efficiency", {.min = 0, .max = 20})
      .field(
          "unrecomputed_activations", &F::unrecomputed_activations,
          "What blocks keep for their backward pass where nothing is recomputed, over what fused kernels need; above "
          "1: a compiler keeps the operands of every operator",
          {.min = 1, .max = 10})
      .field(
          "kept_activation_passes", &F::kept_activation_passes,
          "Passes over what a block keeps for its backward pass, beside those of its kernels: into the stacked arrays "
          "of a compiled loop over layers, and out of them",
          {.min = 0, .max = 20});
}

/// What FSDP wraps and fetches at once.
void add_units(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("layers_per_unit", &F::layers_per_unit, "FSDP: layers of one wrapped unit", {.min = 1, .max = 10000})
      .field("backward_prefetch", &F::backward_prefetch,
             "FSDP: the next gather is issued before this unit's gradients");
}

/// What hosts, experts and each step cost.
void add_costs(FieldTable<FrameworkProfile>& t) {
  using F = FrameworkProfile;
  t.field("host_per_layer_forward_us", &F::host_per_layer_forward,
          "Host time to issue the forward pass of one dense layer", {.min = 0, .max = kMostSeconds * 1e6})
      .field("host_backward_factor", &F::host_backward_factor, "Host time of the backward pass over the forward pass",
             {.min = 0, .max = 10})
      .field("host_per_peer_us", &F::host_per_peer,
             "Time by which hosts that issue kernels one by one are out of step at a tensor-parallel collective, for "
             "each peer",
             {.min = 0, .max = kMostSeconds * 1e6})
      .field("compiled_host_factor", &F::compiled_host_factor,
             "Host time of a layer with strategy.torch_compile over without", {.min = 0, .max = 10})
      .field("host_expert_factor", &F::host_expert_factor, "Host time of a mixture-of-experts layer over a dense one's",
             {.min = 0, .max = 100})
      .field("host_low_precision_factor", &F::host_low_precision_factor,
             "Host time of a layer in 8 or 4 bit over one in 16", {.min = 0, .max = 100})
      .field("expert_half_rows", &F::expert_half_rows,
             "Rows of each expert whose arithmetic grouped products take longer by, at the peak of an A100",
             {.min = 0, .max = 1e5})
      .field("expert_memory_efficiency", &F::expert_memory_efficiency,
             "Traffic of moving tokens to experts and back over the least", {.min = 0.5, .max = 20})
      .field("step_overhead_ms", &F::step_overhead, "Fixed time of a step", {.min = 0, .max = kMostSeconds * 1e3})
      .field("micro_batch_bytes_per_parameter", &F::micro_batch_bytes_per_parameter,
             "Memory traffic of each trained parameter in a micro-batch: casts, unscaling, checks and clipping",
             {.min = 0, .max = 1000})
      .field("single_ring", &F::single_ring, "Devices of a node exchange over one ring in their order (NCCL 1)")
      .field("communication_sms", &F::communication_sms, "SMs that a collective kernel holds beside computation",
             {.min = 0, .max = 1024})
      .field("optimizer_bytes_per_parameter", &F::optimizer_bytes_per_parameter,
             "Memory traffic of the optimizer step for each parameter that a rank updates", {.min = 0, .max = 1000});
}

FieldTable<FrameworkProfile> table() {
  using F = FrameworkProfile;
  FieldTable<FrameworkProfile> t("framework profile",
                                 "How a framework runs a step: what it overlaps, in which pieces it communicates, and "
                                 "what its host costs.");
  add_offers(t);
  add_gradients(t);
  add_kernels(t);
  add_overlaps(t);
  add_traffic(t);
  add_units(t);
  add_costs(t);
  t.field("exchange", &F::exchange, "How its processes exchange gradients, beside collectives of devices")
      .field("sources", &F::sources, "Where each figure comes from", {.required = true})
      .field("evidence", &F::evidence, "How each figure was obtained", {.required = true})
      .field("note", &F::note, "What else is worth knowing");
  return t;
}

bool contains(const auto& values, const auto& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::filesystem::path file_of(std::string_view id) {
  return data_directory("models/frameworks/profiles") / (std::string(id) + ".json");
}

/// A profile is read once a process; a faulty one throws each time it is asked for.
struct LoadedProfiles {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const FrameworkProfile>> by_file;
  std::map<std::string, std::vector<std::shared_ptr<const FrameworkProfile>>> usual_by_folder;
};

LoadedProfiles& loaded_profiles() {
  static LoadedProfiles loaded;
  return loaded;
}

/// Null when it has not been read yet.
std::shared_ptr<const FrameworkProfile> loaded_profile(const std::string& id) {
  LoadedProfiles& loaded = loaded_profiles();
  const std::lock_guard lock(loaded.mutex);
  const auto known = loaded.by_file.find(file_of(id).string());
  return known == loaded.by_file.end() ? nullptr : known->second;
}

std::shared_ptr<const FrameworkProfile> load(const std::string& id) {
  const auto file = file_of(id);
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  auto profile = std::make_shared<FrameworkProfile>(read_document<FrameworkProfile>(document, diagnostics));
  if (profile->id != id)
    diagnostics.error("/id", fmt::format("found \"{}\", expected the file's name \"{}\"", profile->id, id));
  check_framework(*profile, diagnostics);
  diagnostics.throw_if_faulty();
  LoadedProfiles& loaded = loaded_profiles();
  const std::lock_guard lock(loaded.mutex);
  return loaded.by_file.emplace(file.string(), std::move(profile)).first->second;
}

}  // namespace

const FieldTable<FrameworkProfile>& FrameworkProfile::fields() {
  static const FieldTable<FrameworkProfile> kTable = table();
  return kTable;
}

Bytes FrameworkProfile::bucket_of(double bytes_per_gradient, int data_parallel) const {
  if (bucket_parameters <= 0) return bucket;
  return Bytes(std::max(bucket_parameters, bucket_parameters_per_rank * data_parallel) * bytes_per_gradient);
}

bool FrameworkProfile::runs_on(std::string_view maker) const {
  if (maker.empty()) return on_processors;
  return on_accelerators && (makers.empty() || contains(makers, maker));
}

std::vector<std::string> framework_ids() { return data_ids("models/frameworks/profiles"); }

namespace {

/// Profiles that are usual for anything, in order of their ids.
const std::vector<std::shared_ptr<const FrameworkProfile>>& usual_profiles() {
  LoadedProfiles& loaded = loaded_profiles();
  const std::string folder = data_directory("models/frameworks/profiles").string();
  {
    const std::lock_guard lock(loaded.mutex);
    if (const auto known = loaded.usual_by_folder.find(folder); known != loaded.usual_by_folder.end())
      return known->second;
  }
  std::vector<std::shared_ptr<const FrameworkProfile>> usual;
  for (const std::string& id : framework_ids()) {
    auto profile = loaded_profile(id);
    if (!profile) profile = load(id);
    if (!profile->usual_for.empty()) usual.push_back(std::move(profile));
  }
  const std::lock_guard lock(loaded.mutex);
  return loaded.usual_by_folder.emplace(folder, std::move(usual)).first->second;
}

}  // namespace

std::string default_framework(std::string_view maker, Spread spread) {
  std::string elsewhere;
  for (const auto& profile : usual_profiles()) {
    if (!(maker.empty() ? profile->on_processors : profile->on_accelerators)) continue;
    if (!contains(profile->usual_for, spread)) continue;
    if (contains(profile->usual_makers, maker)) return profile->id;
    if (profile->usual_makers.empty()) elsewhere = profile->id;
  }
  if (elsewhere.empty())
    throw std::logic_error(fmt::format("no framework profile is usual for {} models on {}", name_of(spread),
                                       maker.empty() ? "processors" : maker));
  return elsewhere;
}

std::shared_ptr<const FrameworkProfile> find_framework(std::string_view id, const std::string& pointer,
                                                       Diagnostics& diagnostics) {
  if (auto known = loaded_profile(std::string(id))) return known;
  const auto ids = framework_ids();
  // Looked up in the list and not on disk, so that an id can name no file elsewhere.
  if (!std::binary_search(ids.begin(), ids.end(), id)) {
    const std::string near = did_you_mean(id, ids);
    diagnostics.error(pointer, fmt::format("no framework profile \"{}\"", id),
                      near.empty() ? expected_one_of(ids) : near);
    return nullptr;
  }
  return load(std::string(id));
}

}  // namespace stepcast
