#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "calibration/validation/adapters.hpp"
#include "calibration/validation/published_row.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// Words of notes by which a source says that a figure is not to be relied on, and what it says.
struct Doubt {
  std::string_view words, reason;
};
constexpr std::array kDoubts{
    Doubt{"doubtful", "the source's own figures contradict each other"},
    Doubt{"steps vary by", "steps vary by more than a tenth"},
    Doubt{"differ by up to", "equal runs differ by tens of per cent, says the source"},
    Doubt{"known performance regression", "the source states a performance regression"},
    Doubt{"average over the run", "an average over a whole run, interruptions included"},
    Doubt{"must be read from the script", "model and GPU count are guesses"},
    Doubt{"deterministic mode", "slower kernels that give equal bits"},
    Doubt{"functional run", "run to see that it works, not tuned, says the source"},
};

/// Notes beside the data (docs/sources.md) that go by setting: nanotron's logs of pipelines over nodes are erratic, and
/// its tensor parallelism on 64 GPUs waits for something outside the model.
bool erratic_setting(const CsvRow& row) {
  if (!contains(lower_case(row.text("framework")), "nanotron")) return false;
  const long gpus = row.whole("gpus").value_or(1);
  const bool cut = row.whole("tp").value_or(1) > 1 || row.whole("pp").value_or(1) > 1;
  const bool logged = row.number("tokens_per_s_per_gpu") || row.number("step_time_s");
  return logged && gpus > 8 && cut;
}

std::string doubt_of(const PublishedRow& reading) {
  for (const Doubt& doubt : kDoubts)
    if (reading.notes(doubt.words)) return std::string(doubt.reason);
  if (erratic_setting(reading.row)) return "the source's logs of this setting are erratic";
  return "";
}

void name_run(PublishedRow& reading) {
  MeasuredRun& out = reading.out;
  out.framework = reading.row.text("framework");
  out.accelerator = reading.row.text("accelerator_id");
  out.precision = reading.row.text("precision");
  out.gpus = static_cast<int>(contradicted_devices(reading.row).value_or(reading.row.whole("gpus").value_or(0)));
  out.mixture_of_experts = reading.row.whole("experts").value_or(0) > 0;
  out.doubtful = doubt_of(reading);
}

/// Mean tokens of the documents that share a sequence, as the notes say them.
std::optional<long> stated_document_len(const PublishedRow& reading) {
  return number_after(reading.row.text("notes"), "documents of ");
}

/// Fine-tuning recipes pack SQuAD into sequences of 4,096 (NVIDIA's recipes); MLPerf's of 8,192 hold about one
/// report each, which is one document.
int unstated_document_len(const PublishedRow& reading, long seq_len) {
  const bool packed = reading.notes("packed sequences of");
  return reading.task == TrainingTask::pre_training || packed || seq_len > 4096 ? 0 : kSquadDocumentLen;
}

/// Software of submissions to a round of MLPerf: a container that its systems name ("tyche_ngpu8_ngc25.09_nemo"), or
/// the release of the time. Submissions run ahead of releases: those of v4.0 to v5.0 count as the first that overlaps
/// as they do.
struct RoundRelease {
  std::string_view round, release;
};
constexpr std::array kRoundReleases{RoundRelease{"Training v4.0", "25.04"}, RoundRelease{"Training v4.1", "25.04"},
                                    RoundRelease{"Training v5.0", "25.04"}, RoundRelease{"Training v5.1", "25.09"}};

/// Year and month that a source names ("benchmarks 2025-06"), as containers are numbered: "25.06". Empty without one.
std::string month_of(const std::string& source) {
  static const std::regex kMonth(R"(\b20(\d\d)-(\d\d)\b)");
  std::smatch match;
  return std::regex_search(source, match, kMonth) ? match[1].str() + "." + match[2].str() : std::string();
}

/// Release of the software that NVIDIA's tables name by its container, "NeMo 26.02.01", "dgxc-benchmarking 25.04.01";
/// of PyTorch, which is used as it is on the day, the month of the source. Empty where none is known.
std::string release_of(const CsvRow& row) {
  const std::string source = row.text("source");
  for (const RoundRelease& entry : kRoundReleases)
    if (source.find(entry.round) != std::string::npos) return std::string(entry.release);
  for (const std::string& text : {source, row.text("notes")})
    for (const std::string_view words : {"NeMo ", "dgxc-benchmarking ", "performance summary, "}) {
      const std::size_t found = text.rfind(words);
      if (found == std::string::npos) continue;
      const std::size_t at = found + words.size();
      const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
      if (end > at) return text.substr(at, end - at);
    }
  return contains(lower_case(row.text("framework")), "torch") ? month_of(source) : std::string();
}

bool by_megatron_bridge(const CsvRow& row) { return contains(lower_case(row.text("framework")), "megatron-bridge"); }

/// Whether the row names other CUDA graphs than its recipe's of whole iterations.
bool captures_parts(const CsvRow& row) {
  const std::string notes = row.text("notes");
  return contains(notes, "CUDA graphs") && !contains(notes, "whole iterations as CUDA graphs");
}

const ExpertRecipe* expert_recipe_of(const CsvRow& row) {
  if (!by_megatron_bridge(row) || captures_parts(row)) return nullptr;
  return find_expert_recipe(row.text("model"), row.text("precision"), row.text("accelerator_id"),
                            row.whole("gpus").value_or(0), release_of(row));
}

Json workload_of(PublishedRow& reading, const Json& model, long batch, const std::string& precision) {
  const long seq_len = model.at("default_seq_len").get<long>();
  Json workload{{"model", model}, {"global_batch", batch}, {"seq_len", seq_len}, {"precision", precision}};
  if (reading.task == TrainingTask::adapters) {
    const std::optional<long> rank = number_after(reading.row.text("notes"), "adapters of rank ");
    workload["adapter_rank"] = rank.value_or(kUnstatedAdapterRank);
    if (reading.notes("adapters on all linear layers")) workload["adapter_targets"] = "all-linear";
    if (reading.notes("weights in nf4")) workload["frozen_weights"] = "nf4";
    if (!rank) reading.unstated("adapter_rank");
  }
  if (const std::optional<long> stated = stated_document_len(reading)) {
    workload["document_len"] = std::min(*stated, seq_len);
  } else if (const int length = unstated_document_len(reading, seq_len)) {
    workload["document_len"] = length;
    reading.unstated("document_len");
  }
  return workload;
}

}  // namespace

MeasuredRun published_run(const CsvRow& row) {
  PublishedRow reading{
      .row = row,
      .defaults = find_defaults(row.text("framework"), release_of(row), row.text("zero_or_fsdp")),
      .task = task_of(row),
      .expert_recipe = expert_recipe_of(row),
      .dispatches_once = by_megatron_bridge(row) && dispatches_once(row.text("model"), row.text("precision"),
                                                                    row.text("accelerator_id"), release_of(row))};
  name_run(reading);
  if (reading.defaults == nullptr) reading.refuse(no_profile(row.text("framework")));
  const Json model = reading.out.refusal.empty() ? published_model(reading) : Json();
  const Json cluster = reading.out.refusal.empty() ? published_cluster(reading) : Json();
  if (!reading.out.refusal.empty()) return std::move(reading.out);
  const std::optional<long> batch = published_batch(reading);
  const Json strategy = batch ? published_strategy(reading, model, *batch) : Json();
  const std::string precision = published_precision(reading);
  const bool adapters_in_8_bit = precision == "fp8" && reading.task == TrainingTask::adapters;
  // Recipes of models with compressed attention leave it in 16 bit (deepseek/gb200/deepseek_v4.py).
  const bool picks = model.at("transformer").contains("compressed_attention");
  const bool whole_iteration = reading.expert_recipe != nullptr && reading.expert_recipe->whole_iteration;
  reading.out.open.narrow_attention =
      (whole_iteration && !picks) || (reading.defaults->narrow_attention && (precision == "fp4" || adapters_in_8_bit));
  read_published_figure(reading, model);
  if (!reading.out.refusal.empty()) return std::move(reading.out);
  MeasuredRun& out = reading.out;
  out.scenario = {{"cluster", cluster},
                  {"workload", workload_of(reading, model, *batch, precision)},
                  {"strategy", strategy},
                  {"run", {{"fidelity", "analytic"}}}};
  out.group = fmt::format("{} {} {} {} {}", row.text("model"), row.text("accelerator_id"), out.gpus, *batch,
                          row.text("seq_len"));
  return std::move(out);
}

}  // namespace stepcast
