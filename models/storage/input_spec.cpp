#include "models/storage/input_spec.hpp"

namespace stepcast {

const FieldTable<InputSpec>& InputSpec::fields() {
  using I = InputSpec;
  static const auto kTable = [] {
    // An exabyte is more than any data set; a sample of a terabyte is more than the memory of a device.
    const Rules size{.min = 0, .max = 1e9};
    FieldTable<I> t("input", "How training data is stored, read and prepared");
    t.field("source", &I::source, "Where it lies; default: cluster.storage, else the nodes' own drives")
        .field("dataset_GB", &I::dataset, "Stored size of the data set; default: the model's usual one", size)
        .field("sample_kB", &I::sample, "Stored size of a sample; default: the model's", size)
        .field("device_sample_kB", &I::device_sample,
               "Size of a sample as it is copied to the device; default: as stored", size)
        .field("decode_ms", &I::decode, "Time of one core to decode and augment a sample; default: not counted",
               {.min = 0, .max = 1e9})
        .field("workers", &I::workers, "Loader processes of one device; default: its share of the node's cores",
               {.min = 1, .max = 4096})
        .field("prefetch", &I::prefetch,
               "Batches that each of them has ready; rides out unevenness, and changes no forecast",
               {.min = 1, .max = 4096})
        .field("samples_per_file", &I::samples_per_file, "Samples of one file; default: shards of 100 MB and more",
               {.min = 1, .max = 1e12})
        .field("connections", &I::connections, "Connections of one node to an object store; default: 64",
               {.min = 1, .max = 1e6})
        .field("page_cache", &I::page_cache, "Host memory that is left keeps what has been read")
        .field("pinned", &I::pinned, "Batches lie in pinned memory, so that copies to the device run at full rate")
        .field("shuffle", &I::shuffle, "Samples are taken at random: small files then cost a random access each");
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
