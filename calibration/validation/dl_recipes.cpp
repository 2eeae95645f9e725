#include <array>

#include "calibration/validation/dl_run.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct Entry {
  std::string_view source, model, accelerator;
  long wide, half;  ///< samples of a device in fp32 or TF32, and in 16 bit
};

// Read in NVIDIA/DeepLearningExamples, the train_benchmark scripts of each example: --train_batch_size, or -b. All of
// these take batch norm's statistics over all devices: batch_norm='syncbn' of the two configurations (one all-reduce of
// a layer's moments, efficientnet/model/layers/normalization.py), --sync-bn of EfficientDet.
constexpr std::string_view kEfficientNet1 = "TensorFlow2/Classification/ConvNets/efficientnet_v1",
                           kEfficientNet2 = "TensorFlow2/Classification/ConvNets/efficientnet_v2",
                           kEfficientDet = "PyTorch/Detection/Efficientdet";
constexpr std::array kEntries{Entry{kEfficientNet1, "efficientnet-v1-b0", "v100", 256, 512},
                              Entry{kEfficientNet1, "efficientnet-v1-b0", "a100", 512, 1024},
                              Entry{kEfficientNet1, "efficientnet-v1-b4", "v100", 32, 64},
                              Entry{kEfficientNet1, "efficientnet-v1-b4", "a100", 80, 160},
                              Entry{kEfficientNet2, "efficientnet-v2-s", "v100", 64, 128},
                              Entry{kEfficientNet2, "efficientnet-v2-s", "a100", 230, 460},
                              Entry{kEfficientDet, "efficientdet-d0", "v100", 30, 60},
                              Entry{kEfficientDet, "efficientdet-d0", "a100", 80, 150}};

}  // namespace

Recipe recipe_of(std::string_view source, std::string_view model, std::string_view accelerator, bool wide) {
  for (const Entry& entry : kEntries)
    if (contains(source, entry.source) && model == entry.model && accelerator.starts_with(entry.accelerator))
      return {wide ? entry.wide : entry.half, true};
  return {};
}

}  // namespace stepcast
