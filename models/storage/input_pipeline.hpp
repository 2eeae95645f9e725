#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A stage of the input pipeline and the rate that it can sustain over the whole cluster.
enum class InputStage { storage, requests, decode, copy };
template <>
struct EnumNames<InputStage> {
  static constexpr std::array names{"storage", "requests", "decode", "copy"};
};

struct InputLimit {
  InputStage stage = InputStage::storage;
  double samples_per_s = 0;  ///< over the whole cluster
  std::string words;         ///< what it is made of
};

/// What brings samples from where they are stored to the devices (docs/models/storage.md). Stages run beside one
/// another, so the slowest one decides.
struct InputPipeline {
  Bytes sample, device_sample;    ///< stored, and as it is copied
  std::optional<Bytes> dataset;   ///< null when nobody states it
  Bytes page_cache;               ///< of a node: what its memory has left for it
  double cached = 0;              ///< share of reads that the page cache answers, after the first epoch
  bool local = true;              ///< stored on the nodes' own drives
  double readers = 1;             ///< devices that take input in: those of a first pipeline stage
  double readers_per_node = 1;    ///< of a node that has any
  double cores_per_node = 0;      ///< that prepare samples; 0: unknown
  std::optional<Seconds> decode;  ///< of a core and sample; null when nobody states it
  std::vector<InputLimit> limits;
  std::string assumed;  ///< what stands for a rate that the catalogue does not know, in words; empty: nothing does

  /// Nodes that read, prepare and copy samples; a node with fewer readers than the others counts in part.
  [[nodiscard]] double nodes() const { return readers / readers_per_node; }
  /// The slowest stage; null when nothing is known that could limit it.
  [[nodiscard]] const InputLimit* slowest() const;
  /// Whether the way from storage is among what is known.
  [[nodiscard]] bool reads() const;
};

/// Of nodes of several kinds every one that reads has an equal share to feed, so each stage is as fast as on the kind
/// that is slowest at it.
InputPipeline input_pipeline(const Scenario& scenario);

/// The same where all nodes are of the scenario's own kind.
InputPipeline own_input_pipeline(const Scenario& scenario);

/// A sample as it is stored: as stated, as the model states it, or the token ids of a transformer's sequence; zero when
/// nothing says.
Bytes stored_sample(const Scenario& scenario);

/// Cores of a node that prepare samples; 0 when they are not known.
double cores_per_node(const Scenario& scenario);

/// Core time that a sample may take before preparing it limits a rate of training. Null when the cores are not known.
std::optional<Seconds> decode_budget(const InputPipeline& pipeline, double samples_per_s);

/// That the nodes' own drives, where the data set lies, hold less than it all together, in words. Null where they do
/// not.
std::optional<std::string> beyond_drives(const Scenario& scenario, const InputPipeline& pipeline);

/// What would lift the slowest stage to a rate of training, in words, the least effort first; empty when it suffices.
std::vector<std::string> input_advice(const Scenario& scenario, const InputPipeline& pipeline, double samples_per_s);

}  // namespace stepcast
