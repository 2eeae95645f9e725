#include "calibration/importers/models/megatron_experts.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "calibration/importers/models/megatron_noop.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestList = 8;

/// Sums and products of lists, whose elements follow one another where commas are dropped.
class ListReader {
 public:
  explicit ListReader(std::string_view text) : rest_(text) {}

  /// One character a layer.
  std::optional<std::string> read() {
    auto out = sum(0);
    return rest_.empty() ? out : std::nullopt;
  }

 private:
  bool accept(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<std::string> sum(int depth) {
    auto out = product(depth);
    while (out && accept('+')) {
      const auto more = product(depth);
      if (!more || out->size() + more->size() > kMostLayers) return std::nullopt;
      *out += *more;
    }
    return out;
  }

  std::optional<std::string> product(int depth) {
    auto unit = list(depth);
    while (unit && accept('*')) {
      int times = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), times);
      if (error != std::errc() || times < 0 || times > kMostLayers) return std::nullopt;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      std::string out;
      for (int i = 0; i < times && out.size() <= kMostLayers; ++i) out += *unit;
      if (out.size() > kMostLayers) return std::nullopt;
      unit = out;
    }
    return unit;
  }

  std::optional<std::string> list(int depth) {
    if (depth > kDeepestList) return std::nullopt;
    if (accept('(')) {
      auto out = sum(depth + 1);
      return accept(')') ? out : std::nullopt;
    }
    const std::size_t length = std::min(rest_.find_first_not_of("01"), rest_.size());
    if (length == 0) return std::nullopt;
    std::string out(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return out;
  }

  std::string_view rest_;
};

/// A character for each of so many layers.
std::string expert_letters(const ExpertLayers& how, int layers) {
  std::string out(static_cast<std::size_t>(std::max(0, layers)), '0');
  for (long layer = static_cast<long>(how.dense) + how.every - 1; layer < layers; layer += how.every)
    out[static_cast<std::size_t>(layer)] = '1';
  return out;
}

/// The pair that says such letters; nothing where none does.
std::optional<ExpertLayers> layers_by(const std::string& letters) {
  const int first = static_cast<int>(std::min(letters.find('1'), letters.size()));
  const int layers = static_cast<int>(letters.size());
  for (int period = 1; period <= first + 1; ++period)
    if (const ExpertLayers how{first - period + 1, period}; expert_letters(how, layers) == letters) return how;
  return std::nullopt;
}

std::string without_marks(std::string_view text) {
  std::string plain(text);
  std::erase_if(plain, [](char c) { return std::string_view("[], '\"").find(c) != std::string_view::npos; });
  return plain;
}

/// Every how many-th of so many layers has experts, where a text says that and is no list.
std::optional<int> frequency_in(std::string_view text, int layers) {
  const std::string plain = without_marks(text);
  int every = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), every);
  const bool number = error == std::errc() && end == plain.data() + plain.size() && plain.front() != '0';
  // Without its brackets [1,1,1,1] looks like one, too.
  const bool list_of_all = static_cast<int>(plain.size()) == layers && plain.size() > 2;
  const bool is_one = number && every > 0 && text.find('[') == std::string_view::npos && !list_of_all;
  return is_one ? std::optional(every) : std::nullopt;
}

}  // namespace

std::optional<std::string> megatron_layer_list(std::string_view text, int layers) {
  auto list = ListReader(without_marks(text)).read();
  return list && static_cast<int>(list->size()) == layers ? list : std::nullopt;
}

std::string megatron_hybrid_layers(int layers, double attention_share, double mlp_share) {
  std::string out(static_cast<std::size_t>(layers), 'M');
  // Every so many scans one becomes another half: the first where less than half of the stretch is left.
  const auto deal_out = [&](char letter, double stretch) {
    double left = stretch;
    for (char& half : out) {
      if (half != 'M') continue;
      if (left < 0.5) {
        half = letter;
        left += stretch;
      } else {
        left -= 1;
      }
    }
  };
  const auto part = [&](double share) { return static_cast<int>(std::lround(share * layers)); };
  const int attention = part(attention_share), mlps = part(mlp_share);
  // Attention stands between equal stretches of scans, MLPs behind equal ones.
  deal_out('*', static_cast<double>(layers - attention) / (attention + 1));
  if (mlps > 0) deal_out('-', static_cast<double>(layers - attention - mlps) / mlps);
  return out;
}

std::optional<ExpertLayers> megatron_expert_layers(std::string_view text, int layers, int dense,
                                                   const std::set<int>& noops) {
  const auto every = frequency_in(text, layers);
  if (every && dense == 0 && noops.empty()) return ExpertLayers{0, *every};
  auto letters = every ? expert_letters({0, *every}, layers) : megatron_layer_list(text, layers);
  if (!letters) return std::nullopt;
  if (every && dense > 0)
    for (int layer = 0; layer < layers; ++layer)
      (*letters)[static_cast<std::size_t>(layer)] = layer % *every == 0 ? '1' : '0';
  std::fill_n(letters->begin(), std::min<std::size_t>(letters->size(), static_cast<std::size_t>(dense)), '0');
  return layers_by(without_noop_layers(*letters, noops));
}

}  // namespace stepcast
