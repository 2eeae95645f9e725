#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <regex>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"
#include "checks/measured/progress_bars.hpp"

namespace stepcast {

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits{
    Unit{"s", 1},         Unit{"sec", 1},   Unit{"secs", 1},    Unit{"second", 1},
    Unit{"seconds", 1},   Unit{"ms", 1e-3}, Unit{"msec", 1e-3}, Unit{"msecs", 1e-3},
    Unit{"millis", 1e-3}, Unit{"us", 1e-6}, Unit{"usec", 1e-6}, Unit{"millisecond", 1e-3},
    Unit{"min", 60},      Unit{"mins", 60}, Unit{"minute", 60}, Unit{"milliseconds", 1e-3},
    Unit{"minutes", 60},  Unit{"h", 3600},  Unit{"hour", 3600}, Unit{"hours", 3600},
    Unit{"µs", 1e-6},     Unit{"μs", 1e-6},
};

std::optional<double> seconds_of(std::string_view unit) {
  for (const Unit& known : kUnits)
    if (known.name == unit) return known.seconds;
  return std::nullopt;
}

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
  if (const auto unit = seconds_of(rest.substr(0, length))) {
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
      unit = seconds_of((*found)[2].str());
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

/// "iter 10: loss 3.1, time 340.12ms" of nanoGPT (train.py), and MaxText's "completed step: 10, seconds: 5.12"
/// (metric_logger.py).
std::optional<double> time_of_step_line(const std::string& line) {
  static const std::regex kIteration(R"(\biter \d+: loss [0-9.]+, time ([0-9.]+)ms)");
  static const std::regex kCompleted(R"(\bcompleted step: \d+, seconds: ([0-9.]+))");
  std::smatch found;
  if (std::regex_search(line, found, kIteration))
    if (const auto number = number_of(found[1].str())) return *number * 1e-3;
  return std::regex_search(line, found, kCompleted) ? number_of(found[1].str()) : std::nullopt;
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
    PlainKey{"'train_tokens_per_second': ", "tokens_per_s"},
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

void add_plain_keys(const std::string& line, NamedSeries& out) {
  for (const PlainKey& key : kPlainKeys) {
    const std::size_t at = line.find(key.before);
    if (at == std::string::npos) continue;
    const bool of_word = at > 0 && (std::isalnum(static_cast<unsigned char>(line[at - 1])) != 0 || line[at - 1] == '_');
    if (of_word && key.before.front() != ',') continue;
    std::string_view figure = std::string_view(line).substr(at + key.before.size());
    if (figure.starts_with('\'')) figure.remove_prefix(1);  // transformers 5 writes figures as text
    if (const auto number = scaled_number(figure))
      add_sample(out, std::string(key.metric), key.inverse ? 1 / *number : *number * key.factor);
  }
}

}  // namespace

NamedSeries read_plain_log(std::string_view text) {
  // Lines of a log are short; what is longer is a dump of something.
  constexpr std::size_t kLongestLine = 4096;
  NamedSeries out;
  for (const std::string_view raw : lines_of(text)) {
    if (raw.size() > kLongestLine) continue;
    const std::string line = without_colours(raw);
    std::optional<double> time = named_time(line);
    if (!time) time = time_of_step_line(line);
    if (time) add_sample(out, "step_time_s", *time);
    add_plain_keys(line, out);
  }
  if (!out.contains("step_time_s"))
    for (const double time : step_times_of_bars(text)) add_sample(out, "step_time_s", time);
  return out;
}

}  // namespace stepcast
