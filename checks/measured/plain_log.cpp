#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <regex>
#include <vector>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/keras_bars.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"
#include "checks/measured/progress_bars.hpp"

namespace stepcast {

namespace {

/// Steps of these are no training.
bool is_of_other_steps(std::string_view before) {
  constexpr std::array<std::string_view, 8> kOthers{"eval",     "evaluation", "val",  "valid",
                                                    "validate", "validation", "test", "data"};
  before = trimmed(before);
  for (const std::string_view other : kOthers) {
    if (!before.ends_with(other)) continue;
    const std::string_view rest = before.substr(0, before.size() - other.size());
    if (rest.empty() || std::isalnum(static_cast<unsigned char>(rest.back())) == 0) return true;
  }
  return false;
}

/// "1,234.5": separators of thousands, nothing else.
bool separates_thousands(std::string_view text) {
  static const std::regex kThousands(R"([1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)");
  return std::regex_match(text.begin(), text.end(), kThousands);
}

std::optional<double> number_of(std::string text) {
  if (text.ends_with(',')) text.pop_back();
  if (text.find(',') != std::string::npos) {
    if (!separates_thousands(text)) return std::nullopt;
    std::erase(text, ',');
  }
  return figure_of(text);
}

/// What stands behind a number belongs to it: a clock's minutes, a ratio, a rate, a version.
bool goes_on(std::string_view after) {
  if (after.empty()) return false;
  const auto c = static_cast<unsigned char>(after.front());
  if (std::isalnum(c) != 0 || c == '_' || c == '%' || c == '/' || c >= 0x80) return true;
  const bool joins = c == '.' || c == ':' || c == ',' || c == '-';
  return joins && after.size() > 1 && std::isdigit(static_cast<unsigned char>(after[1])) != 0;
}

/// Seconds of a unit that stands behind a number, which `after` loses; `otherwise` where none does. Nothing where what
/// stands there is another.
std::optional<double> unit_behind(std::string_view after, std::optional<double> otherwise) {
  const std::string_view rest = after.substr(std::min(after.find_first_not_of(' '), after.size()));
  // Letters, of Greek, too.
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80;
  };
  std::size_t length = 0;
  while (length < rest.size() && is_letter(rest[length])) ++length;
  if (const auto unit = seconds_of_unit(rest.substr(0, length))) {
    if (goes_on(rest.substr(length)) || (otherwise && *otherwise != *unit)) return std::nullopt;
    return unit;
  }
  // "30 m" may be anything; another word behind a space is the next name.
  if (goes_on(after) || rest.substr(0, length) == "m") return std::nullopt;
  return otherwise ? otherwise : 1;
}

/// A step's time by name.
std::optional<double> named_time(const std::string& line) {
  static const std::regex kNamed(
      R"((^|[^\w./-])(?:train(?:ing)?[_ ])?(?:(?:step|iteration|iter)[_ ]time|train_step_timing in)(?:[_ ]?[(\[]?([A-Za-z]+)[)\]]?)?\s*[:=]\s*([0-9][0-9,]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?))",
      std::regex::icase);
  for (std::sregex_iterator found(line.begin(), line.end(), kNamed), end; found != end; ++found) {
    if (is_of_other_steps(std::string_view(line).substr(0, static_cast<std::size_t>(found->position(1))))) continue;
    std::optional<double> unit;
    if ((*found)[2].matched) {
      unit = seconds_of_unit((*found)[2].str());
      if (!unit) continue;
    }
    const std::optional<double> number = number_of((*found)[3].str());
    const std::string_view after =
        std::string_view(line).substr(static_cast<std::size_t>(found->position(3) + found->length(3)));
    unit = unit_behind(after, unit);
    if (number && unit) return *number * *unit;
  }
  return std::nullopt;
}

/// A figure in a line of one program's own layout.
struct LineFigure {
  std::string_view holds;  ///< what every such line has: most lines are none
  const char* pattern;     ///< the first group is the figure
  std::string_view metric = "step_time_s";
  double factor = 1;
};
constexpr std::string_view kImagesOfStep = "images/sec";
constexpr std::array kLineFigures{
    // nanoGPT, train.py: "iter 10: loss 3.1, time 340.12ms".
    LineFigure{"iter ", R"(\biter \d+: loss [0-9.]+, time ([0-9.]+)ms)", "step_time_s", 1e-3},
    // MaxText, metric_logger.py: "completed step: 10, seconds: 5.12".
    LineFigure{"completed step: ", R"(\bcompleted step: \d+, seconds: ([0-9.]+))"},
    // timm, train.py: "Train: 0 [ 50/1251 (  4%)]  Loss: 6.9 (6.9)  Time: 0.412s, 2485.44/s  (0.420s, …"; of all
    // devices.
    LineFigure{"Train: ", R"(\bTrain: \d+ \[.*\bTime: ([0-9.]+)s, )"},
    LineFigure{"Train: ", R"(\bTrain: \d+ \[.*\bTime: [0-9.]+s, +([0-9.]+)/s)", "samples_per_s"},
    // PyTorch's ImageNet example, main.py: "Epoch: [0][ 10/5005]<tab>Time 0.412 ( 0.520)".
    LineFigure{"Time", R"(\bEpoch:? ?\[\d+\] ?\[ *\d+/\d+\][\s:]*Time:?\s+([0-9.]+) \()"},
    // torchvision's references, Detectron2, MMEngine: "Epoch: [0]  [ 10/4000]  eta: 0:30:10 … time: 0.4123  data:
    // 0.0012",
    // also "last_time: … data_time:".
    LineFigure{"eta: ", R"(\beta: .*\btime: ([0-9.]+),?\s+(?:last_time: [0-9.]+\s+)?data(?:_time)?: )"},
    // MXNet's Speedometer, callback.py; with Horovod of each rank.
    LineFigure{"samples/sec", R"(^(?!.*Rank\[).*\bSpeed: ([0-9.]+) samples/sec)", "samples_per_s"},
    LineFigure{"samples/sec", R"(Rank\[\d+\].*\bSpeed: ([0-9.]+) samples/sec)", kSamplesOfDevice},
    // tf_cnn_benchmarks: "10<tab>images/sec: 125.4 +/- 0.3 (jitter = 0.6)".
    LineFigure{"images/sec", R"(\bimages/sec: ([0-9.]+) \+/- )", kImagesOfStep},
    // transformers' Trainer, log_metrics: "  train_samples_per_second =     40.5".
    LineFigure{"train_samples_per_second", R"((?:^|\s)train_samples_per_second +=\s*([0-9.,]+)\s*$)", "samples_per_s"},
    LineFigure{"train_tokens_per_second", R"((?:^|\s)train_tokens_per_second +=\s*([0-9.,]+)\s*$)", kTrainersTokens},
};

/// Evaluations write lines of the same layout.
bool is_evaluation(const std::string& line) {
  constexpr std::array<std::string_view, 4> kEvaluations{"Test:", "(val)", "(test)", "Val:"};
  return std::any_of(kEvaluations.begin(), kEvaluations.end(),
                     [&](std::string_view mark) { return line.find(mark) != std::string::npos; });
}

void add_line_figures(const std::string& line, NamedSeries& out) {
  static const std::vector<std::regex> kPatterns = [] {
    std::vector<std::regex> compiled;
    compiled.reserve(kLineFigures.size());
    for (const LineFigure& one : kLineFigures) compiled.emplace_back(one.pattern);
    return compiled;
  }();
  for (std::size_t i = 0; i < kLineFigures.size(); ++i) {
    const LineFigure& one = kLineFigures[i];
    std::smatch found;
    if (line.find(one.holds) == std::string::npos || is_evaluation(line)) continue;
    if (!std::regex_search(line, found, kPatterns[i])) continue;
    if (const auto number = number_of(found[1].str())) add_sample(out, std::string(one.metric), *number * one.factor);
  }
}

/// Rates of steps count where none of all steps is told; under Horovod they are of one worker of many.
void settle_images(NamedSeries& series, std::string_view text) {
  auto of_steps = series.extract(std::string(kImagesOfStep));
  if (!of_steps || series.contains("samples_per_s") || text.find("horovod") != std::string_view::npos) return;
  series["samples_per_s"] = std::move(of_steps.mapped());
}

/// What stands before a figure in the logs of other programs, and what turns its unit into ours.
struct PlainKey {
  std::string_view before, metric;
  double factor = 1;
  bool inverse = false;  ///< steps a second
};
constexpr std::array kPlainKeys{
    // nanotron, trainer.py: train_step_logs.
    PlainKey{"elapsed_time_per_iteration_ms: ", "step_time_s", 1e-3},
    PlainKey{"tokens_per_sec_per_gpu: ", "tokens_per_s_per_gpu"},
    PlainKey{"model_tflops_per_gpu: ", "model_tflops_per_gpu"},
    // MaxText, metric_logger.py.
    PlainKey{"Tokens/s/device: ", "tokens_per_s_per_gpu"},
    PlainKey{"TFLOP/s/device: ", "model_tflops_per_gpu"},
    // InternLM and InternEvo, record_current_batch_training_metrics.
    PlainKey{"tgs (tokens/gpu/second)=", "tokens_per_s_per_gpu"},
    // OLMo-core's speed monitor, and Composer's.
    PlainKey{"throughput/device/TPS=", "tokens_per_s_per_gpu"},
    PlainKey{"throughput/device/MFU=", "mfu", 0.01},
    PlainKey{"throughput/device/tokens_per_sec: ", "tokens_per_s_per_gpu"},
    PlainKey{"throughput/device/mfu: ", "mfu"},
    // transformers' Trainer prints a dictionary of Python at the end (trainer_utils.py: speed_metrics).
    PlainKey{"'train_samples_per_second': ", "samples_per_s"},
    PlainKey{"'train_tokens_per_second': ", kTrainersTokens},
    PlainKey{"'num_input_tokens_seen': ", "num_input_tokens_seen"},
    // Axolotl's among it, callbacks/tokens_per_second.py.
    PlainKey{"'tokens_per_second_per_gpu': ", "tokens_per_s_per_gpu"},
    PlainKey{"'tokens/train_per_sec_per_gpu': ", "tokens_per_s_per_gpu"},
    // ms-swift, trainers/patcher.py: means since the start.
    PlainKey{"'train_speed(s/it)': ", "step_time_s"},
    PlainKey{.before = "'train_speed(iter/s)': ", .metric = "step_time_s", .inverse = true},
    // PaddleNLP and PaddleFormers, trainer_utils.py: speed_metrics; Paddle's older scripts.
    PlainKey{"interval_tokens_per_second_per_device: ", "tokens_per_s_per_gpu"},
    PlainKey{"interval_samples_per_second: ", "samples_per_s"},
    PlainKey{"avg_batch_cost: ", "step_time_s"},
    // DeepSpeed-Chat, utils/perf.py.
    PlainKey{", Samples/sec: ", "samples_per_s"},
    // TensorFlow's StepCounterHook, and the one of TPUs.
    PlainKey{.before = "global_step/sec: ", .metric = "step_time_s", .inverse = true},
    PlainKey{"examples/sec: ", "samples_per_s"},
    // tf_cnn_benchmarks, benchmark_cnn.py: of all workers, over the steps that count.
    PlainKey{"total images/sec: ", "samples_per_s"},
    // Horovod's synthetic benchmarks: "Img/sec per GPU: 310.4 +-2.1".
    PlainKey{"Img/sec per GPU: ", kSamplesOfDevice},
    // torchvision's references: of one process.
    PlainKey{"img/s: ", kSamplesOfDevice},
    // fairseq, progress_bar.py: words a second of all devices.
    PlainKey{", wps=", "tokens_per_s"},
};

/// A number with separators of thousands, and nanotron's K, M, B or T behind it.
std::optional<double> scaled_number(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[length])) != 0 || text[length] == '.' || text[length] == ','))
    ++length;
  std::string digits(text.substr(0, length));
  while (digits.ends_with(',')) digits.pop_back();
  const std::optional<double> number = number_of(digits);
  if (!number || length >= text.size()) return number;
  constexpr std::string_view kScales = "KMBT";
  const std::size_t scale = kScales.find(text[length]);
  return scale == std::string_view::npos ? number : *number * std::pow(1000.0, static_cast<double>(scale + 1));
}

/// Whether the line has one of them.
bool add_plain_keys(const std::string& line, NamedSeries& out) {
  bool any = false;
  for (const PlainKey& key : kPlainKeys) {
    const std::size_t at = line.find(key.before);
    if (at == std::string::npos) continue;
    const bool of_word = at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '_');
    if (of_word && key.before.front() != ',') continue;
    std::string_view figure = std::string_view(line).substr(at + key.before.size());
    if (figure.starts_with('\'')) figure.remove_prefix(1);  // transformers 5 writes figures as text
    const auto number = scaled_number(figure);
    if (!number) continue;
    add_sample(out, std::string(key.metric), key.inverse ? 1 / *number : *number * key.factor);
    any = true;
  }
  return any;
}

/// NeMo's "global_batch_size: 512", and nanotron's "global_batch_size: 1.02K", whose figure is rounded from a thousand
/// on and names none.
void add_global_batch(const std::string& line, std::set<long>& global_batches) {
  static const std::regex kBatch(R"((?:^|[\s|,])global_batch_size: ([0-9]+)(?=[\s|,]|$))");
  std::smatch found;
  if (!std::regex_search(line, found, kBatch)) return;
  if (const auto batch = number_of(found[1].str()); batch && *batch >= 1 && *batch < kMostBatch)
    global_batches.insert(static_cast<long>(*batch));
}

}  // namespace

NamedSeries read_plain_log(std::string_view text, std::set<long>& global_batches) {
  // Lines of a log are short; what is longer is a dump of something.
  constexpr std::size_t kLongestLine = 4096;
  NamedSeries out;
  for (const std::string_view raw : lines_of(text)) {
    if (raw.size() > kLongestLine) continue;
    const std::string line = without_colours(raw);
    const std::optional<double> time = named_time(line);
    if (time)
      add_sample(out, "step_time_s", *time);
    else
      add_line_figures(line, out);
    if (add_plain_keys(line, out) || time) add_global_batch(line, global_batches);
  }
  settle_images(out, text);
  if (out.empty()) out = read_keras_bars(text);
  if (!out.contains("step_time_s"))
    for (const double time : step_times_of_bars(text)) add_sample(out, "step_time_s", time);
  return out;
}

}  // namespace stepcast
