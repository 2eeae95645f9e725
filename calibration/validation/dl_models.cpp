#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "calibration/validation/dl_run.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

struct Alias {
  std::string_view name, preset;
};
// Names of rows for what a preset calls otherwise.
constexpr std::array kAliases{
    Alias{"resnet50-v1.5", "resnet50"},
    Alias{"bert-base (biobert)", "bert-base"},
    Alias{"efficientnet-v1-b0", "efficientnet-b0"},
    Alias{"efficientnet-v1-b4", "efficientnet-b4"},
    Alias{"gpt2-124m", "gpt2"},
    Alias{"gpt2-355m", "gpt2-medium"},
    Alias{"gpt2-774m", "gpt2-large"},
    Alias{"gpt2-1558m", "gpt2-xl"},
    Alias{"unet-2d", "unet-medical"},
    // Names of dl-models.csv, which say variant or size where a preset is the only one.
    Alias{"gnmt-v2 (4-layer, 1024)", "gnmt"},
    Alias{"unet-2d (572 valid)", "unet-medical"},
    Alias{"unet3d (nvidia)", "unet3d"},
    Alias{"ssd300-rn34 (mlperf)", "ssd300-rn34"},
    Alias{"ncf (mlperf ml-20m)", "ncf"},
    Alias{"dlrm mlperf (criteo 1tb, 40m cap)", "dlrm"},
    Alias{"vit-s16", "deit-s16"},  // DeiT-S is ViT-S/16, trained otherwise (arXiv 2012.12877, section 4)
    // 22.8 instead of 24.0 billion parameters: rows that hardly anybody looks up are left out.
    Alias{"dlrm-large", "dlrm"},
};

struct Refusal {
  std::string_view begins, reason;
};
constexpr std::array kRefusals{
    Refusal{"bert-large (mlperf)", "sequences are packed without padding, and their mean length is not stated"},
    Refusal{"dlrm (mlperf)", "the rate holds evaluations and start-up, and no profile stands for HugeCTR"},
    Refusal{"dlrm-small", "the rows of its tables are not stated"},
    Refusal{"dlrm-extra-large", "the rows of its tables are not stated"},
    Refusal{"dcnv2", "the widths of its cross layers are not stated"},
    Refusal{"wide-and-deep", "wide embedding tables have no description yet"},
    Refusal{"sim", "embedding tables with histories have no description yet"},
    Refusal{"vnet", "what TensorFlow 1 does beside XLA's part of its step has no description"},
    Refusal{"unet-industrial", "what TensorFlow 1 does beside XLA's part of its step has no description"},
    Refusal{"word2vec", "embedding tables on parameter servers have no description yet"},
};

/// The sequence length that words name as "seq128" or "seq_len=384"; 0 without one, -1 when it is no whole number.
int stated_length(std::string_view words) {
  for (const std::string_view mark : {std::string_view("seq_len="), std::string_view("seq")}) {
    const std::size_t at = words.find(mark);
    if (at == std::string_view::npos) continue;
    const char* begin = words.data() + at + mark.size();
    int length = 0;
    const auto [end, error] = std::from_chars(begin, words.data() + words.size(), length);
    if (error != std::errc{}) continue;
    const bool fraction =
        end + 1 < words.data() + words.size() && *end == '.' && std::isdigit(static_cast<unsigned char>(end[1])) != 0;
    return fraction ? -1 : length;
  }
  return 0;
}

/// Mean of WMT16 and WMT17 English-German after byte-pair encoding, each side (recalled).
constexpr double kTokensOfASentence = 27;

/// Some tables of question answering print a rate where others print a length; real ones are multiples of 64 there.
constexpr int kLengthStep = 64;

/// Pre-training on Wikipedia fills half of the 512 tokens that a sequence may have (Krell et al. 2021, arXiv
/// 2107.02027: packing doubles the tokens of a batch), and NVIDIA's examples of 2022 pad to the longest of a bin of 64.
constexpr int kLongest = 512, kBin = 64, kBinnedLength = kLongest / 2 + kBin / 2;

/// Examples of BERT whose revision the row does not name are those of 2022, which deal sequences out by length (LDDL).
bool bins_lengths(const StatedTask& stated) {
  const bool example =
      contains(stated.source, "NVIDIA/DeepLearningExamples P") && contains(stated.source, "LanguageModeling/BERT");
  return example && !contains(stated.source, "@") && contains(stated.dataset, "wiki+books");
}

/// "bert-large seq512" names the length of its sequences.
constexpr std::string_view kLengthInName = " seq";

void take_length(NamedNetwork& out, const Model& model, const StatedTask& stated) {
  const auto& [name, dataset, unit, notes, source, framework] = stated;
  if (contains(dataset, "-ner")) {  // BioBERT's entity recognition cuts at 128 (NVIDIA DeepLearningExamples)
    out.seq_len = 128;
    return;
  }
  const bool in_name = contains(name, kLengthInName);
  const bool named = in_name || contains(dataset, "seq");
  const int length = stated_length(in_name ? name : named ? dataset : notes);
  out.seq_len = length > 0 ? length : model.default_seq_len;
  const bool odd = length < 0 || (length > 0 && length % kLengthStep != 0) || (named && length == 0);
  if (odd) out.refusal = "the sequence length is not stated";
  if (out.seq_len == kLongest && bins_lengths(stated)) out.seq_len = kBinnedLength;
}

/// Pixels that those of NVIDIA's TensorFlow examples work through for a sample which read their images by tf.data on
/// the server's processors; 0 of the others, which do so on the GPU by DALI. EfficientNet and EfficientDet: those of
/// the network's input. Detection on COCO (tf_record_input_reader, tf_example_decoder.py) decodes whole photographs,
/// most of them 640 by 480: SSD320 cuts its input out of one; Mask R-CNN enlarges it, and decodes the mask of each
/// object, an image of the same size, of which there are 7.7 (Lin et al. 2014, section 5; recalled, not opened).
double decoded_pixels(const StatedTask& stated, const Model& preset) {
  constexpr double kPhotograph = 640.0 * 480, kObjects = 7.7, kMaskRcnnInput = 800.0 * 1333;
  if (contains(stated.source, "TensorFlow/Detection/SSD")) return kPhotograph;
  if (!contains(stated.source, "TensorFlow2/")) return 0;
  if (preset.id.starts_with("mask-rcnn")) return kMaskRcnnInput + kObjects * kPhotograph;
  return preset.id.starts_with("efficient") ? std::pow(image_side(preset), 2) : 0;
}

/// A core takes 0.2 µs for a pixel: from three image sizes and two servers at their limit, 0.18 to 0.25
/// (dl-runs-published, EfficientNet and EfficientDet in 16 bit on eight GPUs).
double decode_ms(const StatedTask& stated, const Model& preset) {
  constexpr double kCoreMsPerPixel = 0.2e-3;
  return kCoreMsPerPixel * decoded_pixels(stated, preset);
}

/// What a unit counts: samples of a preset, or parts of them (tokens, frames).
enum class Counted { samples, parts };

/// Null for a unit that is not known.
std::optional<Counted> counted_in(std::string_view unit) {
  const std::string lower = lower_case(unit);
  const auto says = [&](std::string_view word) { return contains(lower, word); };
  if (says("/gpu") || says("per gpu")) return std::nullopt;  // rates are of all devices together
  for (const std::string_view word : {"audio-samples", "tokens", "words", "mels", "mel-frames", "frames"})
    if (says(word)) return Counted::parts;
  for (const std::string_view word :
       {"images", "img", "image/", "sequences", "samples", "volumes", "utterances", "pairs"})
    if (says(word)) return Counted::samples;
  return std::nullopt;
}

/// What NVIDIA's example of HiFi-GAN counts as frames: the 80 mel channels of a segment, which has 32 frames. Its log
/// prints 35,109 a second in 1.17 s, 512 segments of 80, and 12,500 utterances · 6,500 epochs in 151.4 h are 149
/// segments a second where its table says 12,055 (PyTorch/SpeechSynthesis/HiFiGAN, README.md and train.py).
constexpr double kCountedOfSegment = 80;

double parts_of_sample(const StatedTask& stated, const Model& preset, int seq_len) {
  if (contains(stated.source, "NVIDIA/DeepLearningExamples") && preset.id == "hifi-gan") return kCountedOfSegment;
  return preset.is_transformer() ? seq_len : preset.default_seq_len;
}

/// "synthetic 320x320": FLOPs and activations of a convolutional network grow with the pixels.
void scale_to_images(NamedNetwork& out, const Model& preset, std::string_view dataset) {
  constexpr std::string_view kMark = "synthetic ";
  if (!dataset.starts_with(kMark)) return;
  int side = 0;
  std::from_chars(dataset.data() + kMark.size(), dataset.data() + dataset.size(), side);
  const int own = image_side(preset);
  if (side <= 0 || side == own) return;
  if (!preset.compact) {
    out.refusal = fmt::format("{} is described at {} pixels a side only", preset.id, own);
    return;
  }
  Model scaled = preset;
  const double more = std::pow(static_cast<double>(side) / own, 2);
  CompactShape& shape = *scaled.compact;
  for (double* total : {&shape.pointwise_GFLOPs, &shape.three_by_three_GFLOPs, &shape.window_GFLOPs,
                        &shape.grouped_GFLOPs, &shape.depthwise_GFLOPs, &shape.activation_Melements})
    *total *= more;
  for (NarrowWindows& narrow : shape.narrow_windows) narrow.GFLOPs *= more;
  for (ElementKernels& kernels : shape.element_kernels) kernels.Melements *= more;
  shape.image_side = side;
  out.model = Model::fields().write(scaled);
}

/// Presets of encoders score the masked positions only, as NVIDIA's examples gather them; Hugging Face's scores all.
void score_every_position(NamedNetwork& out, const Model& preset, std::string_view notes) {
  if (!preset.is_transformer() || !contains(notes, "loss over every position")) return;
  Model scored = preset;
  scored.transformer->predicted_share = 1;
  out.model = Model::fields().write(scored);
}

std::string_view preset_of(const StatedTask& stated) {
  // MXNet's example is the network of 2012 without its two groups, other programs' that of 2014.
  if (stated.model == "alexnet" && stated.framework.starts_with("mxnet")) return "alexnet-2012";
  // TensorFlow's example of GNMT builds its cells from single operators, PyTorch's calls cuDNN.
  if (stated.model == "gnmt" && stated.source.find("TensorFlow/Translation") != std::string_view::npos)
    return "gnmt-by-operators";
  const std::string_view name = stated.model.substr(0, stated.model.find(kLengthInName));
  for (const Alias& alias : kAliases)
    if (squashed(alias.name) == squashed(name)) return alias.preset;
  return name;
}

/// The preset whose id is the same word ("resnet-50"); the word itself where there is none.
std::string known_preset(std::string word) {
  const std::vector<std::string> known = model_ids();
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const std::string& id) { return squashed(id) == squashed(word); });
  return found == known.end() || std::binary_search(known.begin(), known.end(), word) ? word : *found;
}

}  // namespace

NamedNetwork named_network(const StatedTask& stated) {
  NamedNetwork out;
  for (const Refusal& refusal : kRefusals)
    if (stated.model.starts_with(refusal.begins)) out.refusal = refusal.reason;
  if (!out.refusal.empty()) return out;
  const std::string id = known_preset(std::string(preset_of(stated)));
  const std::vector<std::string> known = model_ids();
  if (!std::binary_search(known.begin(), known.end(), id)) {
    out.refusal = fmt::format("no preset describes {}", stated.model);
    return out;
  }
  out.model = id;
  Diagnostics diagnostics("");
  const auto preset = find_model(id, "", diagnostics);
  scale_to_images(out, *preset, stated.dataset);
  score_every_position(out, *preset, stated.notes);
  out.decode_ms = decode_ms(stated, *preset);
  if (preset->is_transformer()) take_length(out, *preset, stated);
  const std::optional<Counted> counted = counted_in(stated.unit);
  out.unit_known = counted.has_value();
  if (counted == Counted::parts) out.units_per_sample = parts_of_sample(stated, *preset, out.seq_len);
  // A pair of sentences is many of the pairs of tokens that such a preset counts.
  if (contains(stated.unit, "pairs") && preset->default_seq_len == 1) out.units_per_sample = 1 / kTokensOfASentence;
  if (out.units_per_sample <= 0)
    out.refusal = fmt::format("what one sample of {} holds in {} is not known", stated.model, stated.unit);
  return out;
}

}  // namespace stepcast
