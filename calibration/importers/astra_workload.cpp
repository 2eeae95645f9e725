#include "calibration/importers/astra_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kMostLayers = 200000;

/// Which NPUs a pass's collectives join.
enum class Span { none, all, inner, outer };

struct Policy {
  std::string_view name;
  Span model, data;  ///< of forward and input gradients; of weight gradients
};

// Source: ASTRA-sim 1.0, Workload::decode_involved_dimensions. `inner`: the first dimensions, `outer`: the others.
constexpr std::array kPolicies{Policy{"DATA", Span::none, Span::all},
                               Policy{"MODEL", Span::all, Span::none},
                               Policy{"HYBRID_DATA_MODEL", Span::inner, Span::outer},
                               Policy{"HYBRID_MODEL_DATA", Span::outer, Span::inner},
                               Policy{"HYBRID_TRANSFORMER", Span::inner, Span::outer},
                               Policy{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Span::inner, Span::outer},
                               Policy{"HYBRID_DLRM", Span::none, Span::all},
                               Policy{"HYBRID_DLRM_ENHANCED", Span::none, Span::all},
                               Policy{"HYBRID_CUSTOMIZED", Span::none, Span::none},
                               Policy{"DISTRIBUTED_INFERENCE", Span::all, Span::none},
                               Policy{"MICRO", Span::none, Span::all}};

const Policy* find_policy(std::string_view name) {
  const auto found =
      std::find_if(kPolicies.begin(), kPolicies.end(), [&](const Policy& one) { return one.name == name; });
  return found == kPolicies.end() ? nullptr : &*found;
}

std::vector<std::string> policy_names() {
  std::vector<std::string> out;
  out.reserve(kPolicies.size());
  for (const Policy& one : kPolicies) out.emplace_back(one.name);
  return out;
}

/// One pass of a layer: compute, then a collective.
struct Pass {
  double cycles = 0;
  std::optional<CollectiveKind> collective;
  double bytes = 0;
};

struct Layer {
  std::string name;
  Pass forward, input_gradient, weight_gradient;
  double update_cycles = 0;
  const Policy* policy = nullptr;
};

class WorkloadReader {
 public:
  WorkloadReader(std::string_view text, int npus, int innermost, Diagnostics& diagnostics)
      : lines_(lines_of(text)), npus_(npus), inner_(innermost), diagnostics_(diagnostics) {}

  RankGraph read() {
    read_head();
    if (diagnostics_.ok()) read_layers();
    if (!diagnostics_.ok()) return {};
    graph_.name = "step";
    graph_.ranks = npus_;
    graph_.programs.emplace_back();
    write_step();
    return std::move(graph_);
  }

 private:
  std::vector<std::string_view> next_words() {
    while (line_ < lines_.size()) {
      std::vector<std::string_view> words = words_of(lines_[line_++]);
      if (!words.empty()) return words;
    }
    return {};
  }

  void read_head() {
    const std::vector<std::string_view> words = next_words();
    policy_ = words.empty() ? nullptr : find_policy(words.front());
    if (!policy_) {
      return fault(fmt::format("found {}, {}", words.empty() ? "nothing" : shown(words.front()),
                               expected_one_of(policy_names())),
                   words.empty() ? "" : did_you_mean(words.front(), policy_names()));
    }
    for (std::size_t i = 1; i < words.size(); ++i) read_option(words, i);
    if (policy_->model != Span::all && policy_->data != Span::all && (inner_ < 1 || npus_ % inner_ != 0))
      fault(fmt::format("model-parallel groups of {} do not divide {} NPUs", inner_, npus_));
    const std::vector<std::string_view> count = next_words();
    if (!count.empty()) layers_ = static_cast<int>(number(count.front(), "the number of layers", 1, kMostLayers));
    if (count.size() != 1) fault("expected the number of layers alone on this line");
  }

  void read_option(const std::vector<std::string_view>& words, std::size_t& i) {
    const std::string_view word = words[i];
    if (word == "model_parallel_NPU_group:" && i + 1 < words.size()) {
      inner_ = static_cast<int>(number(words[++i], "the model-parallel group", 1, kMostRanks));
    } else if ((word == "checkpoints:" || word == "checkpoint_initiates:") && i + 1 < words.size()) {
      std::vector<int>& list = word == "checkpoints:" ? checkpoints_ : initiates_;
      const int count = static_cast<int>(number(words[++i], "a number of checkpoints", 0, kMostLayers));
      for (int k = 0; k < count && i + 1 < words.size(); ++k)
        list.push_back(static_cast<int>(number(words[++i], "a checkpoint", 0, kMostLayers)));
      if (static_cast<int>(list.size()) != count)
        fault(fmt::format("{} says {} layers and lists {}", word, count, list.size()));
    } else if (word == "DLRM_LAST_BOTTOM_LAYER:" && i + 1 < words.size()) {
      last_bottom_ = static_cast<int>(number(words[++i], "the last bottom layer", 0, kMostLayers));
    } else if (policy_->name.substr(0, 11) == "HYBRID_DLRM") {  // before 1.0 without the option's name
      last_bottom_ = static_cast<int>(number(word, "the last bottom layer", 0, kMostLayers));
    } else {
      fault(fmt::format("{} is no option of {}", shown(word), policy_->name));
    }
  }

  void read_layers() {
    for (int i = 0; i < layers_ && diagnostics_.faults().size() < 10; ++i) {
      const std::vector<std::string_view> words = next_words();
      if (words.empty()) return fault(fmt::format("{} layers are announced, {} are there", layers_, i));
      list_.push_back(layer(words));
      // The embedding of a recommendation model is spread over all, whatever the rest is
      // (Workload::initialize_workload).
      static constexpr Policy kEverywhere{"ALL", Span::all, Span::all};
      if (i == 0 && policy_->name.substr(0, 11) == "HYBRID_DLRM") list_.back().policy = &kEverywhere;
    }
    if (!next_words().empty()) fault(fmt::format("{} layers are announced, more are there", layers_));
  }

  Layer layer(const std::vector<std::string_view>& words) {
    const bool customized = policy_->name == "HYBRID_CUSTOMIZED";
    const std::size_t expected = customized ? 13 : 12;
    Layer out;
    out.policy = policy_;
    if (words.size() != expected)
      return fault(fmt::format(
                 "{} words, expected {}: name, -1, three times cycles, collective and bytes, update cycles{}",
                 words.size(), expected, customized ? ", parallelism" : "")),
             out;
    out.name = words[0];
    out.forward = pass(words[2], words[3], words[4]);
    out.input_gradient = pass(words[5], words[6], words[7]);
    out.weight_gradient = pass(words[8], words[9], words[10]);
    out.update_cycles = number(words[11], "update cycles", 0, 1e15);
    if (customized && !(out.policy = find_policy(words[12])))
      fault(fmt::format("found {}, {}", shown(words[12]), expected_one_of(policy_names())),
            did_you_mean(words[12], policy_names()));
    return out;
  }

  Pass pass(std::string_view cycles, std::string_view collective, std::string_view bytes) {
    struct Name {
      std::string_view name;
      CollectiveKind kind;
    };
    static constexpr std::array kNames{
        Name{"ALLREDUCE", CollectiveKind::all_reduce}, Name{"ALLGATHER", CollectiveKind::all_gather},
        Name{"REDUCESCATTER", CollectiveKind::reduce_scatter}, Name{"ALLTOALL", CollectiveKind::all_to_all}};
    Pass out;
    out.cycles = number(cycles, "compute cycles", 0, 1e15);
    out.bytes = number(bytes, "bytes", 0, 1e15);
    if (collective == "NONE") return out;
    const auto found =
        std::find_if(kNames.begin(), kNames.end(), [&](const Name& one) { return one.name == collective; });
    if (found == kNames.end()) {
      fault(fmt::format("found {}, expected one of ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, NONE",
                        shown(collective)));
    } else {
      out.collective = found->kind;
    }
    return out;
  }

  double number(std::string_view word, std::string_view what, double least, double most) {
    double out = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    if (error == std::errc{} && end == word.data() + word.size() && out >= least && out <= most) return out;
    fault(fmt::format("{} as {}, expected a number from {:g} to {:g}", shown(word), what, least, most));
    return least;
  }

  // The step.

  std::vector<RankOperation>& operations() { return graph_.programs.front().operations; }

  std::uint64_t add(RankOperation operation, std::vector<std::uint64_t> after) {
    operation.id = operations().size() + 1;
    operation.after = std::move(after);
    operations().push_back(std::move(operation));
    return operations().back().id;
  }

  std::uint64_t compute(const std::string& name, double cycles, std::vector<std::uint64_t> after,
                        const char* stream = "") {
    RankOperation out;
    out.name = name;
    out.duration = 1_ns * cycles;
    out.stream = stream;
    return add(std::move(out), std::move(after));
  }

  /// The collective of a pass, and the delay after it; `before` when it has none.
  std::uint64_t communicate(const Layer& layer, const Pass& pass, Span span, const char* what, std::uint64_t before) {
    const std::string group = group_of(span);
    if (!pass.collective || pass.bytes <= 0 || group == "none") return before;
    RankOperation out;
    out.name = fmt::format("{} {}", layer.name, what);
    out.kind = RankOperationKind::collective;
    out.collective = pass.collective;
    // An all-gather's size is what each NPU gives.
    (*pass.collective == CollectiveKind::all_gather ? out.share : out.size) = Bytes(pass.bytes);
    out.group = group;
    const std::uint64_t id = add(std::move(out), {before});
    return layer.update_cycles > 0
               ? compute(fmt::format("{} {}: update", layer.name, what), layer.update_cycles, {id}, "updates")
               : id;
  }

  /// Name of the group that a span means, made when it is first asked for; `none` when it is a single NPU.
  std::string group_of(Span span) {
    const int run = span == Span::all ? npus_ : span == Span::inner ? inner_ : npus_ / inner_;
    if (span == Span::none || run <= 1) return "none";
    if (run == npus_) return "";
    std::string name = span == Span::inner ? "neighbours" : "strided";
    for (const RankGroup& group : graph_.groups)
      if (group.name == name) return name;
    RankGroup out{name, {}};
    const int lists = npus_ / run;
    for (int list = 0; list < lists; ++list) {
      out.members.emplace_back();
      for (int i = 0; i < run; ++i)
        out.members.back().push_back(span == Span::inner ? list * run + i : list + i * inner_);
    }
    graph_.groups.push_back(std::move(out));
    return name;
  }

  void write_step() {
    std::uint64_t last = 0;
    std::uint64_t embedding = 0;
    const auto after = [&] { return last == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{last}; };
    for (std::size_t i = 0; i < list_.size(); ++i) {
      std::vector<std::uint64_t> needs = after();
      // What the top layers of a recommendation model need of the embedding.
      if (embedding > 0 && static_cast<int>(i) == last_bottom_ + 1) needs.push_back(embedding);
      last = forward(list_[i], needs, i == 0 && last_bottom_ >= 0 ? &embedding : nullptr);
    }
    if (policy_->name == "DISTRIBUTED_INFERENCE") {
      graph_.notes.emplace_back("inference: forward only");
      return;
    }
    for (std::size_t i = list_.size(); i-- > 0;) {
      if (std::find(initiates_.begin(), initiates_.end(), static_cast<int>(i)) != initiates_.end())
        last = recompute(i, last);
      const Layer& layer = list_[i];
      last = compute(layer.name + " weight gradient", layer.weight_gradient.cycles, after());
      communicate(layer, layer.weight_gradient, layer.policy->data, "weight gradient", last);
      if (i == 0) break;
      last = compute(layer.name + " input gradient", layer.input_gradient.cycles, after());
      last = communicate(layer, layer.input_gradient, layer.policy->model, "input gradient", last);
    }
  }

  /// A collective that only later layers need is returned in `apart`, and the compute goes on.
  std::uint64_t forward(const Layer& layer, std::vector<std::uint64_t> after, std::uint64_t* apart) {
    const std::uint64_t computed = compute(layer.name + " forward", layer.forward.cycles, std::move(after));
    const std::uint64_t sent = communicate(layer, layer.forward, layer.policy->model, "forward", computed);
    if (!apart) return sent;
    *apart = sent;
    return computed;
  }

  /// Forward again from the checkpoint before a layer up to it.
  std::uint64_t recompute(std::size_t upto, std::uint64_t last) {
    int from = 0;
    for (const int checkpoint : checkpoints_)
      if (checkpoint <= static_cast<int>(upto)) from = std::max(from, checkpoint);
    for (auto i = static_cast<std::size_t>(from); i <= upto; ++i) last = forward(list_[i], {last}, nullptr);
    return last;
  }

  void fault(const std::string& message, std::string suggestion = {}) {
    diagnostics_.error("", fmt::format("line {}: {}", std::max<std::size_t>(line_, 1), message), std::move(suggestion));
  }

  std::vector<std::string_view> lines_;
  int npus_, inner_;
  Diagnostics& diagnostics_;
  std::size_t line_ = 0;
  const Policy* policy_ = nullptr;
  int layers_ = 0, last_bottom_ = -1;
  std::vector<int> checkpoints_, initiates_;
  std::vector<Layer> list_;
  RankGraph graph_;
};

}  // namespace

bool is_astra_workload(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text.substr(0, std::min<std::size_t>(text.find('\n'), 200)));
  return !words.empty() && find_policy(words.front());
}

RankGraph read_astra_workload(std::string_view text, int npus, int innermost, Diagnostics& diagnostics) {
  return WorkloadReader(text, npus, innermost, diagnostics).read();
}

}  // namespace stepcast
