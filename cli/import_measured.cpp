#include <CLI/CLI.hpp>
#include <memory>

#include "calibration/importers/measured/results_builder.hpp"
#include "calibration/importers/text_file.hpp"
#include "calibration/results/probe_results.hpp"
#include "cli/import_kinds.hpp"
#include "cli/number_option.hpp"

namespace stepcast {

namespace {

/// Samplers that run for a day write no more.
constexpr std::size_t kMostMeasuredBytes = 256U << 20;

/// Every file into one document of results.
ImportAction into_results(const char* tool, MeasuredReader read, const std::shared_ptr<MeasuredHints>& hints) {
  return [tool, read, hints](Session&, const ImportRequest& request) {
    ResultsBuilder results(tool);
    std::vector<Fault> faults;
    std::vector<std::string> names;
    for (const std::filesystem::path& file : request.files) {
      Diagnostics diagnostics(file.string());
      const std::string text = read_utf8_description(file, diagnostics, kMostMeasuredBytes);
      const std::size_t before = results.rows();
      if (diagnostics.ok()) read(text, file.string(), *hints, results, diagnostics);
      if (diagnostics.ok() && results.rows() == before) diagnostics.error("", "holds no row with a time or a reading");
      faults.insert(faults.end(), diagnostics.faults().begin(), diagnostics.faults().end());
      names.push_back(file.string());
    }
    if (!faults.empty()) throw InputError(std::move(faults));
    Imported out;
    out.document = results.document(names);
    check_probe_results(out.document);
    const std::size_t rows = out.document["results"].size();
    out.summary = fmt::format("{} row{} of {}", rows, rows == 1 ? "" : "s", tool);
    out.name = "results.json";
    for (const Json& warning : out.document["warnings"]) out.notes.push_back(warning.get<std::string>());
    return out;
  };
}

void add_ranks_per_node(CLI::App& app, MeasuredHints& hints) {
  app.add_option("--ranks-per-node", hints.per_node, "Of them on each node")
      ->check(whole_number(1, 1 << 20))
      ->type_name("P");
}

void add_ranks(CLI::App& app, MeasuredHints& hints) {
  app.add_option("--ranks", hints.ranks, "That took part, where the file does not tell")
      ->check(whole_number(1, 1 << 20))
      ->type_name("N");
  add_ranks_per_node(app, hints);
}

void add_power(CLI::App& app, MeasuredHints& hints) {
  app.add_option("--state", hints.state, "What ran meanwhile")
      ->check(CLI::IsMember({"idle", "gemm", "memory", "collective", "busy", "unknown"}));
  app.add_option("--device", hints.device, "Of readings that name none, as gpu0 or node")->type_name("NAME");
}

ImportAction power(CLI::App& app, const char* tool, MeasuredReader read) {
  auto hints = std::make_shared<MeasuredHints>();
  add_power(app, *hints);
  return into_results(tool, read, hints);
}

}  // namespace

ImportAction prepare_nccl_tests(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  app.add_option("--op", hints->op, "Which collective it is, where neither file nor name tells")
      ->check(CLI::IsMember(
          {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "send_recv"}));
  add_ranks(app, *hints);
  return into_results("nccl-tests", read_nccl_tests, hints);
}

ImportAction prepare_osu(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  add_ranks(app, *hints);
  return into_results("osu", read_osu, hints);
}

ImportAction prepare_ucc(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  add_ranks(app, *hints);
  return into_results("ucc", read_ucc, hints);
}

ImportAction prepare_imb(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  add_ranks_per_node(app, *hints);
  return into_results("imb", read_imb, hints);
}

ImportAction prepare_fio(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  app.add_option("--pattern", hints->pattern, "How jobs read and wrote that do not state it (rw)")
      ->check(CLI::IsMember({"sequential", "random"}));
  return into_results("fio", read_fio, hints);
}
ImportAction prepare_nvidia_smi(CLI::App& app) { return power(app, "nvidia-smi", read_nvidia_smi); }
ImportAction prepare_dcgm(CLI::App& app) { return power(app, "dcgm", read_dcgm); }
ImportAction prepare_prometheus(CLI::App& app) {
  auto hints = std::make_shared<MeasuredHints>();
  app.add_option("--metric", hints->metric, "Of series without a name, as avg_over_time(…) leaves them")
      ->type_name("NAME");
  add_power(app, *hints);
  return into_results("prometheus", read_prometheus, hints);
}
ImportAction prepare_ipmi(CLI::App& app) { return power(app, "ipmi", read_ipmi); }

}  // namespace stepcast
