#pragma once

#include <optional>

#include "fields/field_table.hpp"

namespace stepcast {

enum class InputSource { shared, local };
template <>
struct EnumNames<InputSource> {
  static constexpr std::array names{"shared", "local"};
};

/// How training data is stored, read and prepared. What is left out follows the model's kind of sample
/// (docs/models/storage.md).
struct InputSpec {
  std::optional<InputSource> source;       ///< default: the shared storage where the cluster has one
  std::optional<Bytes> dataset;            ///< stored size of all of it
  std::optional<Bytes> sample;             ///< stored size of one sample
  std::optional<Bytes> device_sample;      ///< of one sample as it is copied to the device
  std::optional<Seconds> decode;           ///< of one core, for one sample
  std::optional<int> workers;              ///< loader processes of one device
  std::optional<int> prefetch;             ///< batches that each worker has ready; adds no rate
  std::optional<double> samples_per_file;  ///< 1: small files; more: shards
  std::optional<int> connections;          ///< of one node, to an object store
  bool page_cache = true;
  bool pinned = true;
  bool shuffle = true;  ///< over the whole data set: small files are read at random
  static const FieldTable<InputSpec>& fields();
};

}  // namespace stepcast
