#include "cli/catalog_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "cli/catalog_card.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

/// A column of a list: what it shows of an entry's JSON.
struct Column {
  std::string title;
  bool number = false;
  std::function<std::string(const Json&)> cell;
};

Column text_column(std::string title, std::string key) {
  return {std::move(title), false, [key = std::move(key)](const Json& entry) { return entry.value(key, ""); }};
}

std::string number_at(const Json& entry, const std::string& key) {
  const auto found = entry.find(key);
  return found == entry.end() || !found->is_number() ? "" : plain_number(found->get<double>());
}

Column number_column(std::string title, std::string key) {
  return {std::move(title), true, [key = std::move(key)](const Json& entry) { return number_at(entry, key); }};
}

std::string counted(const Json& entry, const char* what, const char* count) {
  const std::string name = entry.value(what, "");
  return name.empty() ? "" : fmt::format("{} × {}", entry.value(count, 0), name);
}

std::string training_network(const Json& node) {
  for (const Json& nic : node.value("nics", Json::array()))
    if (nic.value("training", true))
      return fmt::format("{} × {} Gb/s {}", nic.value("count", 0), plain_number(nic.value("bandwidth_Gbps", 0.0)),
                         nic.value("kind", ""));
  return "";
}

std::string node_price(const Json& node) {
  const Json price = node.value("price", Json::object());
  if (price.contains("rental_usd_per_month"))
    return fmt::format("${} a month", number_at(price, "rental_usd_per_month"));
  if (price.contains("on_demand_usd_per_h")) return fmt::format("${} an hour", number_at(price, "on_demand_usd_per_h"));
  if (price.contains("purchase_usd")) return fmt::format("${} to buy", number_at(price, "purchase_usd"));
  if (node.contains("price_like")) return fmt::format("as {}", node.value("price_like", ""));
  return "";
}

Column peak_column(const std::string& precision) {
  return {precision + " TFLOPS", true,
          [precision](const Json& entry) { return number_at(entry.value("peak_TFLOPS", Json::object()), precision); }};
}

/// Figures by name, the first few: for kinds whose entries have little in common.
Column figures_column() {
  return {"figures", false, [](const Json& entry) {
            constexpr std::size_t kMost = 3;
            std::vector<std::string> shown;
            const Json figures = entry.value("figures", Json::object());
            for (const auto& item : figures.items())
              if (shown.size() < kMost) shown.push_back(figure_text(item.key(), item.value()));
            const char* more = figures.size() > kMost ? ", …" : "";
            return fmt::format("{}{}", fmt::join(shown, ", "), more);
          }};
}

Column gemm_share_column(const std::string& precision) {
  return {precision + " share", true, [precision](const Json& entry) {
            return number_at(entry.value("gemm_sustained_share", Json::object()), precision);
          }};
}

std::vector<Column> columns_of_kind(const std::string& kind) {
  if (kind == "accelerators")
    return {text_column("vendor", "vendor"),
            number_column("year", "year"),
            peak_column("fp32"),
            peak_column("fp16"),
            peak_column("bf16"),
            peak_column("fp8"),
            number_column("memory GB", "memory_GB"),
            number_column("memory GB/s", "memory_bandwidth_GBps"),
            number_column("W", "tdp_W")};
  if (kind == "cpus")
    return {number_column("year", "year"),
            number_column("cores", "cores"),
            number_column("GHz", "base_GHz"),
            number_column("fp32 GFLOPS", "peak_fp32_GFLOPS"),
            number_column("memory GB/s", "memory_bandwidth_GBps"),
            number_column("W", "tdp_W")};
  if (kind == "nodes")
    return {{"accelerators", false, [](const Json& e) { return counted(e, "accelerator", "accelerator_count"); }},
            {"processors", false, [](const Json& e) { return counted(e, "cpu", "cpu_count"); }},
            number_column("memory GB", "memory_GB"),
            {"network", false, training_network},
            {"price", false, node_price}};
  if (kind == "switches")
    return {text_column("kind", "kind"),
            number_column("ports", "ports"),
            number_column("Gb/s", "port_bandwidth_Gbps"),
            number_column("latency ns", "latency_ns"),
            number_column("W", "typical_power_W"),
            number_column("most W", "max_power_W"),
            number_column("$", "price_usd")};
  if (kind == "storage")
    return {text_column("kind", "kind"),
            number_column("TB", "capacity_TB"),
            number_column("read GB/s", "read_GBps"),
            number_column("write GB/s", "write_GBps"),
            number_column("all read GB/s", "aggregate_read_GBps"),
            number_column("all write GB/s", "aggregate_write_GBps")};
  if (kind == "psus")
    return {text_column("level", "level"),
            text_column("line", "line"),
            {"efficiency by load", false, [](const Json& entry) {
               std::vector<std::string> points;
               const Json curve = entry.value("efficiency_percent_by_load_percent", Json::object());
               for (const auto& item : curve.items())
                 points.push_back(fmt::format("{} % at {} %", plain_number(item.value().get<double>()), item.key()));
               return fmt::format("{}", fmt::join(points, ", "));
             }}};
  if (kind == "cooling")
    return {number_column("lowest PUE", "pue_low"), number_column("highest PUE", "pue_high"),
            number_column("fans %", "server_fan_share_of_IT_percent"), number_column("rack kW", "max_rack_kW")};
  if (kind == "sites")
    return {text_column("kind", "kind"), text_column("place", "place"), number_column("PUE", "pue"),
            number_column("$/kWh", "electricity_usd_per_kWh"), number_column("g CO₂/kWh", "grid_gCO2_per_kWh")};
  if (kind == "compute-profiles")
    return {
        gemm_share_column("fp32"),
        gemm_share_column("bf16"),
        gemm_share_column("fp8"),
        number_column("memory share", "memory_share"),
        {"attention share", true,
         [](const Json& entry) { return number_at(entry.value("attention_forward_share", Json::object()), "native"); }},
        number_column("convolution share", "convolution_share")};
  return {text_column("kind", "kind"), text_column("accelerator", "accelerator"), figures_column()};
}

std::string table(const std::vector<Json>& entries, std::vector<Column> columns) {
  columns.insert(columns.begin(), text_column("id", "id"));
  std::vector<std::vector<std::string>> rows(entries.size() + 1);
  std::vector<Column> kept;
  for (Column& column : columns) {
    std::vector<std::string> cells{column.title};
    for (const Json& entry : entries) cells.push_back(column.cell(entry));
    // A column that no entry fills would only push the others off the screen.
    if (std::all_of(cells.begin() + 1, cells.end(), [](const std::string& cell) { return cell.empty(); })) continue;
    int width = 0;
    for (const std::string& cell : cells) width = std::max(width, columns_of(cell));
    for (std::size_t i = 0; i < cells.size(); ++i)
      rows[i].push_back(column.number ? pad_left(cells[i], width) : pad_right(cells[i], width));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line = fmt::format("{}", fmt::join(row, "  "));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

void require_kind(const std::string& kind) { static_cast<void>(Catalog::schema(kind)); }

std::string list_kinds(const Catalog& catalog, bool json) {
  Json all = Json::object();
  std::string text;
  for (const std::string& kind : Catalog::kinds()) {
    const std::vector<std::string> ids = catalog.ids(kind);
    all[kind] = ids;
    text += fmt::format("{} {}  {}\n", pad_right(kind, 17), pad_left(std::to_string(ids.size()), 4),
                        Catalog::schema(kind).value("description", ""));
  }
  return json ? all.dump(2) + "\n" : text;
}

std::vector<std::string> kinds_with(const Catalog& catalog, const std::string& id) {
  std::vector<std::string> out;
  for (const std::string& kind : Catalog::kinds())
    if (!catalog.file_of(kind, id).empty()) out.push_back(kind);
  return out;
}

[[noreturn]] void no_such_entry(const Catalog& catalog, const std::string& id, const std::optional<std::string>& kind) {
  std::vector<std::string> known;
  for (const std::string& each : Catalog::kinds()) {
    const auto ids = kind && *kind != each ? std::vector<std::string>{} : catalog.ids(each);
    known.insert(known.end(), ids.begin(), ids.end());
  }
  std::string hint = did_you_mean(id, known);
  if (hint.empty()) hint = "`stepcast catalog list` shows what there is";
  const std::string where = kind ? fmt::format("in {} of the catalogue", *kind) : "in the catalogue";
  throw InputError({{"", "", fmt::format("no \"{}\" {}", id, where), std::move(hint)}});
}

Json fault_json(const Fault& fault) {
  return {{"file", fault.file}, {"pointer", fault.pointer}, {"message", fault.message}, {"hint", fault.suggestion}};
}

}  // namespace

std::string catalog_list(const Catalog& catalog, const std::optional<std::string>& kind, bool json) {
  if (!kind) return list_kinds(catalog, json);
  require_kind(*kind);
  std::vector<Json> entries;
  for (const std::string& id : catalog.ids(*kind)) entries.push_back(catalog.show(*kind, id));
  return json ? Json(entries).dump(2) + "\n" : table(entries, columns_of_kind(*kind));
}

std::string catalog_show(const Catalog& catalog, const std::string& id, const std::optional<std::string>& kind,
                         bool json) {
  if (kind) require_kind(*kind);
  std::vector<std::string> kinds = kinds_with(catalog, id);
  if (kind) kinds = catalog.file_of(*kind, id).empty() ? std::vector<std::string>{} : std::vector<std::string>{*kind};
  if (kinds.empty()) no_such_entry(catalog, id, kind);
  const Json entry = catalog.show(kinds.front(), id);
  if (json) return entry.dump(2) + "\n";
  std::string text = catalog_card(kinds.front(), entry);
  for (std::size_t i = 1; i < kinds.size(); ++i)
    text += fmt::format("Also in {0}: stepcast catalog show {1} --kind {0}\n", kinds[i], id);
  return text;
}

namespace {

/// Files of entries: of a directory those below it that lie in the folder of a kind.
std::vector<std::filesystem::path> entries_of(const std::vector<std::filesystem::path>& named) {
  namespace fs = std::filesystem;
  std::vector<fs::path> out;
  std::error_code error;
  for (const fs::path& one : named) {
    if (!fs::is_directory(one, error)) {
      out.push_back(one);
      continue;
    }
    const std::size_t before = out.size();
    for (fs::recursive_directory_iterator entry(one, error), end; !error && entry != end; entry.increment(error)) {
      const std::string folder = fs::absolute(entry->path()).lexically_normal().parent_path().filename().string();
      if (entry->path().extension() == ".json" && find_part_kind(folder) != nullptr) out.push_back(entry->path());
    }
    if (out.size() == before)
      throw InputError({{one.string(), "", "holds no entries", "folders named as their kinds: nodes, accelerators …"}});
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
  }
  return out;
}

}  // namespace

CatalogCheck catalog_validate(const Catalog& catalog, const std::vector<std::filesystem::path>& named, bool json) {
  Diagnostics diagnostics("");
  const std::vector<std::filesystem::path> files = entries_of(named);
  std::size_t checked = files.size();
  if (files.empty()) {
    for (const std::string& kind : Catalog::kinds()) checked += catalog.ids(kind).size();
    catalog.validate_all(diagnostics);
  }
  for (const std::filesystem::path& file : files) Catalog::validate(file, diagnostics);

  Json faults = Json::array();
  std::string text;
  for (const Fault& fault : diagnostics.faults()) {
    faults.push_back(fault_json(fault));
    text += fault.text() + "\n";
  }
  text += fmt::format("{} {} checked, {} {}\n", checked, checked == 1 ? "entry" : "entries", faults.size(),
                      faults.size() == 1 ? "fault" : "faults");
  if (json) text = Json{{"entries", checked}, {"faults", faults}}.dump(2) + "\n";
  return {std::move(text), diagnostics.ok()};
}

namespace {

struct CatalogOptions {
  std::optional<std::string> kind;
  std::string id;
  std::vector<std::filesystem::path> files;
};

void add_catalog_list(CLI::App& app, Session& session, const std::shared_ptr<CatalogOptions>& options) {
  CLI::App* list = app.add_subcommand("list", "The kinds of parts, or the entries of one kind");
  list->add_option("kind", options->kind, "Kind, as nodes or accelerators");
  list->callback([&session, options] { session.print(catalog_list(session.catalog(), options->kind, session.json)); });
}

void add_catalog_show(CLI::App& app, Session& session, const std::shared_ptr<CatalogOptions>& options) {
  CLI::App* show = app.add_subcommand("show", "One entry, with the source of every figure");
  show->add_option("id", options->id, "Id of the entry")->required();
  show->add_option("--kind", options->kind, "Its kind, where several have the id");
  show->callback([&session, options] {
    session.print(catalog_show(session.catalog(), options->id, options->kind, session.json));
  });
}

void add_catalog_validate(CLI::App& app, Session& session, const std::shared_ptr<CatalogOptions>& options) {
  CLI::App* validate = app.add_subcommand("validate", "Check files, or the whole catalogue; exit code 1 for a fault");
  validate->add_option(
      "files", options->files,
      "Files in folders named as their kinds, or directories of such folders; none: the whole catalogue");
  validate->callback([&session, options] {
    const CatalogCheck check = catalog_validate(session.catalog(), options->files, session.json);
    session.print(check.text);
    if (!check.ok) session.exit_code = 1;
  });
}

void add_catalog_schema(CLI::App& app, Session& session, const std::shared_ptr<CatalogOptions>& options) {
  CLI::App* schema = app.add_subcommand("schema", "JSON Schema of a kind");
  schema->add_option("kind", options->kind, "Kind, as nodes or accelerators")->required();
  schema->callback([&session, options] { session.print(Catalog::schema(*options->kind)); });
}

}  // namespace

void add_catalog(CLI::App& app, Session& session) {
  CLI::App* catalog = app.add_subcommand("catalog", "The hardware catalogue");
  catalog->require_subcommand(1);
  catalog->fallthrough();
  const auto options = std::make_shared<CatalogOptions>();
  add_catalog_list(*catalog, session, options);
  add_catalog_show(*catalog, session, options);
  add_catalog_validate(*catalog, session, options);
  add_catalog_schema(*catalog, session, options);
}

}  // namespace stepcast
