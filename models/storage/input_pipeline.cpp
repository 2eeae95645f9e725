#include "models/storage/input_pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/layout.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/storage/decimal_bytes.hpp"
#include "models/storage/rates.hpp"
#include "models/storage/storage.hpp"

namespace stepcast {

namespace {

/// Of a host's memory, what is left to the page cache beside processes, pinned buffers and the kernel. Estimated.
constexpr double kCacheShare = 0.7;
/// Connections of one node to an object store: AWS's advice is one for each 85–90 MB/s wanted (S3 performance
/// guidelines); 64 of them fill a 50 Gb/s NIC.
constexpr int kConnections = 64;
/// A shard of a node's reads from an object store, where nobody states the samples of a file: 100 MB (WebDataset's and
/// FFCV's usual order; S3's guidelines ask for 8–16 MB and more a request).
constexpr Bytes kShard = 100_MB;
/// Largest random read that a drive answers as one; larger files are several (Linux's usual limit of a request).
constexpr Bytes kRequest = 128_KiB;
/// Opening a file (storage small-file-open: measured on local NVMe and on Lustre).
constexpr Seconds kOpenLocal = 11_us;
constexpr Seconds kOpenShared = 2300_us;
/// Token ids are stored in 16 bits while the vocabulary fits, else in 32 (Megatron-LM's indexed data set).
constexpr int kSixteenBits = 65536;

/// Of a node's memory, what is left to the page cache beside what devices offload and checkpoints copy.
Bytes page_cache_of(const Scenario& scenario) {
  const StrategySpec& strategy = scenario.spec.strategy;
  const bool taken = strategy.offload_optimizer || strategy.offload_activations ||
                     scenario.spec.run.checkpoint.kind == CheckpointKind::asynchronous;
  const Bytes of_devices =
      taken ? memory_of(lower(scenario)).host() * static_cast<double>(scenario.devices_per_node()) : Bytes(0);
  return kCacheShare * std::max(Bytes(0), scenario.node->memory - of_devices);
}

std::optional<Bytes> stored_dataset(const Scenario& scenario, Bytes sample) {
  const WorkloadSpec& workload = scenario.spec.workload;
  if (workload.input.dataset) return workload.input.dataset;
  if (scenario.model->dataset_samples > 0) return sample * scenario.model->dataset_samples;
  // Language models hardly see a token twice: what they train on is their data set.
  if (workload.tokens && scenario.seq_len > 0) return sample * (*workload.tokens / scenario.seq_len);
  return std::nullopt;
}

/// Whether the data set is read more than once.
bool repeats(const Scenario& scenario, const InputPipeline& pipeline) {
  const WorkloadSpec& workload = scenario.spec.workload;
  if (workload.epochs) return *workload.epochs > 1;
  if (!pipeline.dataset || !(pipeline.sample > Bytes(0))) return false;
  const double in_set = *pipeline.dataset / pipeline.sample;
  if (workload.samples) return *workload.samples > in_set;
  return workload.tokens && scenario.seq_len > 0 && *workload.tokens / scenario.seq_len > in_set * (1 + 1e-9);
}

/// Loader processes of one reader; where nobody states them, one for each of its share of the cores.
int workers_of(const Scenario& scenario, const InputPipeline& pipeline) {
  const int share = std::max(1, static_cast<int>(pipeline.cores_per_node / pipeline.readers_per_node));
  return scenario.spec.workload.input.workers.value_or(share);
}

/// "8 nodes", or "16 of 64 nodes" where pipelines have their first stage on those.
std::string nodes_text(const Scenario& scenario, const InputPipeline& pipeline) {
  const int all = scenario.spec.cluster.nodes;
  const int reading = static_cast<int>(std::ceil(pipeline.nodes()));
  const std::string of = reading < all ? fmt::format("{} of ", reading) : "";
  return fmt::format("{}{} {}", of, all, all == 1 ? "node" : "nodes");
}

double samples_per_file(const Scenario& scenario, Bytes sample) {
  if (scenario.spec.workload.input.samples_per_file) return *scenario.spec.workload.input.samples_per_file;
  return sample > Bytes(0) ? std::max(1.0, kShard / sample) : 1;
}

/// Adds a stage; one without a rate does not limit.
void add(InputPipeline& out, InputStage stage, double samples_per_s, std::string words) {
  if (samples_per_s > 0 && samples_per_s < std::numeric_limits<double>::infinity())
    out.limits.push_back({stage, samples_per_s, std::move(words)});
}

/// Reads that the cache does not answer are what storage must serve.
double past_cache(const InputPipeline& pipeline, double samples_per_s) {
  return pipeline.cached < 1 ? samples_per_s / (1 - pipeline.cached) : std::numeric_limits<double>::infinity();
}

/// What all readers get of a shared system whose rate nobody states: no more than their NICs carry. Of an object store
/// the requests' own stage tells the rest.
std::optional<BytesPerSecond> through_nics(InputPipeline& out, const Scenario& scenario) {
  const std::optional<BytesPerSecond> way = out.local ? std::nullopt : way_to_shared(scenario);
  if (!way) return std::nullopt;
  const BytesPerSecond rate = *way * out.nodes();
  if (!object_store(scenario))
    out.assumed = fmt::format("input is read as fast as NICs carry it, {} over {}: the catalogue has no rates of {}",
                              decimal_text(rate), nodes_text(scenario, out), scenario.storage->id);
  return rate;
}

/// Of storage that states how fast it writes alone, which reads no slower than that.
std::optional<BytesPerSecond> as_fast_as_writes(InputPipeline& out, const Scenario& scenario) {
  const std::optional<BytesPerSecond> rate = joint_write_rate(scenario, out.local, out.nodes());
  if (rate)
    out.assumed = fmt::format("input is read as fast as {} writes: it states no rate of reading",
                              out.local ? scenario.node->id : scenario.storage->id);
  return rate;
}

void add_storage(InputPipeline& out, const Scenario& scenario) {
  if (!(out.sample > Bytes(0))) return;
  std::optional<BytesPerSecond> rate = joint_read_rate(scenario, out.local, out.nodes());
  if (!rate) rate = as_fast_as_writes(out, scenario);
  const bool stated = rate.has_value();
  if (!stated) rate = through_nics(out, scenario);
  if (!rate) return;
  const std::string where = out.local ? std::string("own drives") : scenario.storage->id;
  const std::string cache = out.cached > 0 ? fmt::format(", {:.0f} % of reads from memory", 100 * out.cached) : "";
  add(out, InputStage::storage, past_cache(out, (*rate / out.sample).value()),
      fmt::format("{} at {} over {}{}{}", where, decimal_text(*rate), nodes_text(scenario, out),
                  stated ? "" : ", what their NICs carry", cache));
}

/// Until the first bytes of a file that was opened arrive, which its reader waits for; zero where nobody states it.
Seconds first_read(const Scenario& scenario, bool local) {
  const StoragePart* part = local ? scenario.local_drive : scenario.storage;
  return part != nullptr ? part->read_latency.value_or(Seconds(0)) : Seconds(0);
}

/// What requests cost apart from their bytes: random accesses, opened files, first bytes of objects.
void add_requests(InputPipeline& out, const Scenario& scenario) {
  if (!(out.sample > Bytes(0))) return;
  const InputSpec& input = scenario.spec.workload.input;
  const double in_file = samples_per_file(scenario, out.sample);
  const Bytes file = out.sample * in_file;
  if (const auto store = out.local ? std::nullopt : object_store(scenario)) {
    const double connections = input.connections.value_or(kConnections) * out.nodes();
    const double objects = connections / (store->first_byte + file / store->per_connection).value();
    const double limited = std::min(objects, store->requests.value());
    return add(out, InputStage::requests, past_cache(out, limited * in_file),
               fmt::format("{:.0f} connections at {}, {:.0f} ms to the first byte, objects of {}", connections,
                           decimal_text(store->per_connection), store->first_byte.in(1_ms), decimal_text(file)));
  }
  if (in_file > 1 || !input.shuffle) return;
  const double readers = workers_of(scenario, out) * out.readers;
  const Seconds open = out.local ? kOpenLocal : kOpenShared;
  const Seconds first = first_read(scenario, out.local);
  double limit = readers / (open + first).value();
  if (const auto random = out.local ? local_random_reads(scenario) : std::nullopt)
    limit = std::min(limit, random->value() * out.nodes() / std::max(1.0, std::ceil(out.sample / kRequest)));
  add(out, InputStage::requests, past_cache(out, limit),
      fmt::format("a small file a sample: {:.0f} readers open one in {:.0f} us and wait {:.0f} us for its first read",
                  readers, open.in(1_us), first.in(1_us)));
}

void add_decode(InputPipeline& out, const Scenario& scenario) {
  if (!out.decode || !(out.cores_per_node > 0) || !(*out.decode > Seconds(0))) return;
  const double cores = std::min(out.cores_per_node, workers_of(scenario, out) * out.readers_per_node) * out.nodes();
  add(out, InputStage::decode, cores / out.decode->value(),
      fmt::format("{:.0f} cores at {:.3g} ms a sample", cores, out.decode->in(1_ms)));
}

void add_copy(InputPipeline& out, const Scenario& scenario) {
  const std::optional<BytesPerSecond> link = input_copy_rate(scenario);
  if (!link || !(out.device_sample > Bytes(0))) return;
  add(out, InputStage::copy, (*link * out.readers / out.device_sample).value(),
      fmt::format("host links at {}{}", decimal_text(*link),
                  scenario.spec.workload.input.pinned ? "" : " (not pinned)"));
}

std::string from_memory(const InputPipeline& pipeline) {
  return fmt::format("shard the data set by node, so that the {} of each fit its {} of page cache",
                     decimal_text(*pipeline.dataset / pipeline.nodes()), decimal_text(pipeline.page_cache));
}

/// Kinds of nodes that hold a first pipeline stage.
std::vector<const Scenario*> reading_kinds(const Scenario& scenario) {
  std::vector<const Scenario*> out;
  const std::vector<const Scenario*> kinds = kinds_by_node(scenario);
  rank_layout(scenario).each_node_of_stage(0, [&](int node, int) {
    const Scenario* kind = kinds[static_cast<std::size_t>(node)];
    if (std::find(out.begin(), out.end(), kind) == out.end()) out.push_back(kind);
  });
  return out;
}

/// Takes each stage of nodes of another kind that is slower there.
void take_slower(InputPipeline& pipeline, const InputPipeline& other) {
  pipeline.page_cache = std::min(pipeline.page_cache, other.page_cache);
  pipeline.cached = std::min(pipeline.cached, other.cached);
  pipeline.cores_per_node = std::min(pipeline.cores_per_node, other.cores_per_node);
  if (pipeline.assumed.empty()) pipeline.assumed = other.assumed;
  for (const InputLimit& limit : other.limits) {
    const auto same = std::find_if(pipeline.limits.begin(), pipeline.limits.end(),
                                   [&](const InputLimit& own) { return own.stage >= limit.stage; });
    if (same == pipeline.limits.end() || same->stage != limit.stage)
      pipeline.limits.insert(same, limit);
    else if (limit.samples_per_s < same->samples_per_s)
      *same = limit;
  }
}

/// The least of a figure over the kinds that read; nothing where one of them states none.
template <class Figure>
auto least_of_readers(const Scenario& scenario, Figure figure) -> decltype(figure(scenario)) {
  decltype(figure(scenario)) least;
  for (const Scenario* kind : reading_kinds(scenario)) {
    const auto here = figure(*kind);
    if (!here) return std::nullopt;
    least = least ? std::min(*least, *here) : *here;
  }
  return least;
}

void advise_storage(std::vector<std::string>& out, const Scenario& scenario, const InputPipeline& pipeline,
                    double wanted) {
  const BytesPerSecond needed(wanted * (1 - pipeline.cached) * pipeline.sample.value());
  const auto own_drives = [&](const Scenario& kind) { return joint_read_rate(kind, true, pipeline.nodes()); };
  if (!pipeline.local)
    if (const auto own = least_of_readers(scenario, own_drives); own && *own >= needed) {
      const std::optional<Bytes> room = least_of_readers(scenario, local_capacity);
      if (!pipeline.dataset || !room || *pipeline.dataset <= *room)
        out.push_back(
            fmt::format("copy the data set to the nodes' own drives, which read {} together", decimal_text(*own)));
    }
  if (pipeline.dataset && repeats(scenario, pipeline) && *pipeline.dataset <= pipeline.page_cache * pipeline.nodes())
    out.push_back(from_memory(pipeline));
  out.push_back(fmt::format("storage that reads {} in all", decimal_text(needed)));
}

}  // namespace

double cores_per_node(const Scenario& scenario) {
  const Node& node = *scenario.node;
  if (node.cpu_count > 0 && scenario.cpu != nullptr)
    return node.cpu_count * (node.cpu_cores > 0 ? node.cpu_cores : scenario.cpu->cores);
  // A virtual processor is a thread, two of which share a core.
  return node.vcpus / 2.0;
}

Bytes stored_sample(const Scenario& scenario) {
  const InputSpec& input = scenario.spec.workload.input;
  if (input.sample) return *input.sample;
  if (scenario.model->sample_bytes > Bytes(0)) return scenario.model->sample_bytes;
  if (!scenario.model->transformer) return Bytes(0);
  // A latent's mean and variance in 16 bit, of which every step draws anew.
  if (const auto& diffusion = scenario.model->transformer->diffusion)
    return Bytes(4.0 * (scenario.seq_len * static_cast<double>(diffusion->patch_elements)) +
                 2.0 * diffusion->context_tokens * diffusion->context_width);
  return Bytes(scenario.seq_len * (scenario.model->transformer->vocab < kSixteenBits ? 2.0 : 4.0));
}

const InputLimit* InputPipeline::slowest() const {
  const auto least = std::min_element(limits.begin(), limits.end(), [](const InputLimit& a, const InputLimit& b) {
    return a.samples_per_s < b.samples_per_s;
  });
  return least == limits.end() ? nullptr : &*least;
}

bool InputPipeline::reads() const {
  return std::any_of(limits.begin(), limits.end(),
                     [](const InputLimit& limit) { return limit.stage == InputStage::storage; });
}

InputPipeline own_input_pipeline(const Scenario& scenario) {
  const InputSpec& input = scenario.spec.workload.input;
  InputPipeline out;
  out.sample = stored_sample(scenario);
  out.device_sample = input.device_sample.value_or(out.sample);
  out.dataset = stored_dataset(scenario, out.sample);
  out.local = !reads_shared(scenario);
  // A replica's first stage takes its input; the ranks that share it get it once each.
  out.readers = static_cast<double>(scenario.devices()) / scenario.degrees.pp;
  out.readers_per_node = std::min<double>(rank_layout(scenario).side_by_side, out.readers);
  out.cores_per_node = cores_per_node(scenario);
  out.decode = input.decode;
  // Every node draws from the whole data set, so its memory holds the same share of each epoch's reads.
  if (out.dataset && repeats(scenario, out)) {
    out.page_cache = page_cache_of(scenario);
    if (input.page_cache) out.cached = std::min(1.0, out.page_cache / *out.dataset);
  }
  add_storage(out, scenario);
  add_requests(out, scenario);
  add_decode(out, scenario);
  add_copy(out, scenario);
  return out;
}

InputPipeline input_pipeline(const Scenario& scenario) {
  if (scenario.other_kinds.empty()) return own_input_pipeline(scenario);
  std::optional<InputPipeline> out;
  const std::vector<const Scenario*> kinds = reading_kinds(scenario);
  for (const Scenario* kind : kinds) {
    InputPipeline here = own_input_pipeline(*kind);
    if (kinds.size() > 1)
      for (InputLimit& limit : here.limits) limit.words += fmt::format(", as {} has it", kind->node->id);
    if (out)
      take_slower(*out, here);
    else
      out = std::move(here);
  }
  return std::move(*out);
}

std::optional<Seconds> decode_budget(const InputPipeline& pipeline, double samples_per_s) {
  if (!(pipeline.cores_per_node > 0) || !(samples_per_s > 0)) return std::nullopt;
  return Seconds(pipeline.cores_per_node * pipeline.nodes() / samples_per_s);
}

std::optional<std::string> beyond_drives(const Scenario& scenario, const InputPipeline& pipeline) {
  if (!pipeline.local || !pipeline.dataset) return std::nullopt;
  const int nodes = scenario.spec.cluster.nodes;
  Bytes all;
  for (const NodeKind& kind : node_kinds(scenario)) {
    const std::optional<Bytes> each = local_capacity(*kind.scenario);
    if (!each) return std::nullopt;
    all += *each * kind.nodes;
  }
  if (*pipeline.dataset <= all) return std::nullopt;
  return fmt::format("the data set of {} is more than the drives of {} hold: {}", decimal_text(*pipeline.dataset),
                     nodes == 1 ? "the node" : fmt::format("all {} nodes", nodes), decimal_text(all));
}

std::vector<std::string> input_advice(const Scenario& scenario, const InputPipeline& pipeline, double samples_per_s) {
  std::vector<std::string> out;
  for (const InputLimit& limit : pipeline.limits) {
    if (limit.samples_per_s >= samples_per_s) continue;
    switch (limit.stage) {
      case InputStage::storage:
        advise_storage(out, scenario, pipeline, samples_per_s);
        break;
      case InputStage::requests:
        // Of a sample as large as a shard several in a file gain nothing.
        if (kShard >= 2 * pipeline.sample)
          out.push_back(fmt::format("larger files: shards of {:.0f} samples ({:.3g} MB)", kShard / pipeline.sample,
                                    kShard.in(1_MB)));
        break;
      case InputStage::decode:
        out.push_back(fmt::format("samples stored decoded, or decoded on the devices: {:.0f} cores would be needed",
                                  std::ceil(samples_per_s * pipeline.decode->value())));
        break;
      case InputStage::copy:
        out.push_back(scenario.spec.workload.input.pinned ? fmt::format("smaller samples on the way to the device")
                                                          : fmt::format("pinned memory for batches"));
        break;
    }
  }
  return out;
}

}  // namespace stepcast
