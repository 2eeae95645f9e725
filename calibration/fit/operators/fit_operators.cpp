#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "calibration/fit/data_hash.hpp"
#include "calibration/fit/exit_code.hpp"
#include "calibration/fit/operators/problems.hpp"
#include "calibration/fit/operators/profile_file.hpp"
#include "calibration/fit/operators/siblings.hpp"
#include "hardware-catalog/catalog_location.hpp"

namespace stepcast {
namespace {

constexpr std::array kTables{"operators-gemm.csv", "operators-attention.csv", "operators-memory.csv",
                             "operators-conv.csv", "operators-power.csv"};

struct FitCommand {
  std::string data, output, date;
  std::vector<std::string> families;  ///< empty: all
};

/// Everything that was measured, by family, and the accelerator that most of a family's rows are of.
struct Measurements {
  std::vector<OperatorSet> sets;
  std::map<std::string, FamilyRows> by_family;
  std::string hash;
};

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Measurements read_measurements(const std::filesystem::path& folder, const Catalog& catalog) {
  Measurements out;
  std::string all;
  for (const char* name : kTables) {
    out.sets.push_back(read_operators(read_csv(folder / name), name));
    all += text_of(folder / name);
  }
  out.hash = data_hash(all);
  for (const OperatorSet& set : out.sets)
    for (const MeasuredOperator& one : set.operators)
      if (const auto* accelerator = catalog.find<Accelerator>(one.accelerator); accelerator && one.refusal.empty())
        out.by_family[accelerator->family].push_back(&one);
  return out;
}

/// The accelerator that stands for a family: the one that most rows are of, else the first of the catalogue.
const Accelerator* typical(const std::string& family, const FamilyRows& rows, const Catalog& catalog) {
  std::map<std::string, std::size_t> counts;
  for (const MeasuredOperator* row : rows) ++counts[row->accelerator];
  if (counts.empty()) {
    for (const std::string& id : catalog.ids("accelerators"))
      if (const auto* part = catalog.find<Accelerator>(id); part->family == family) return part;
    return nullptr;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return catalog.find<Accelerator>(most->first);
}

void fit_family(const FamilyRows& rows, OperatorProfile& profile, const Catalog& catalog) {
  // Products that quantise their operand hold a memory-bound kernel.
  fit_streaming(rows, profile, catalog);
  fit_products(rows, profile, catalog);
  fit_attention(rows, profile, catalog);
  fit_convolutions(rows, profile, catalog);
}

void print(const OperatorProfile& profile) {
  if (!profile.fit) return;
  for (const auto& [name, error] : profile.fit->error_percent)
    std::cout << fmt::format("{:32} {:44} {:6.0f} rows {:6.1f} %\n", profile.id, name, profile.fit->rows.at(name),
                             error);
}

/// What the sibling's constants would say about a family that has its own: the error of a new accelerator.
void print_left_out(const OperatorProfile& own, const OperatorProfile& sibling, const FamilyRows& rows,
                    const Catalog& catalog) {
  FamilyRows products;
  for (const MeasuredOperator* row : rows)
    if (std::holds_alternative<ProductWork>(row->work) && !row->power && !row->conditions.eager &&
        (row->format == "bf16" || row->format == "fp16"))
      products.push_back(row);
  if (products.empty() || !sibling.product) return;
  std::cout << fmt::format("{:32} {:44} {:6} rows {:6.1f} %\n", own.id, "product, by " + sibling.id, products.size(),
                           mean_error_percent(products, sibling, catalog));
}

void fit(const FitCommand& command) {
  const Catalog catalog = Catalog::standard({});
  const Measurements measured = read_measurements(command.data, catalog);
  std::map<std::string, OperatorProfile, std::less<>> profiles;
  for (const SiblingFamily& known : sibling_families()) {
    const std::string family(known.family);
    if (!command.families.empty() &&
        std::find(command.families.begin(), command.families.end(), family) == command.families.end())
      continue;
    const auto found = measured.by_family.find(family);
    const FamilyRows rows = found == measured.by_family.end() ? FamilyRows{} : found->second;
    const Accelerator* accelerator = typical(family, rows, catalog);
    OperatorProfile profile;
    profile.id = family;
    if (!rows.empty()) profile.fit = FitRecord{command.date, measured.hash, {}, {}, {}};
    const auto sibling = profiles.find(known.sibling);
    const Accelerator* siblings_accelerator = nullptr;
    if (sibling != profiles.end()) {
      const auto siblings_rows = measured.by_family.find(sibling->first);
      siblings_accelerator = typical(
          sibling->first, siblings_rows == measured.by_family.end() ? FamilyRows{} : siblings_rows->second, catalog);
      profile.product = sibling->second.product;
      print_left_out(profile, sibling->second, rows, catalog);
    }
    if (!rows.empty()) fit_family(rows, profile, catalog);
    if (sibling != profiles.end()) {
      profile.sibling = sibling->first;
      take_missing(profile, sibling->second, *accelerator, *siblings_accelerator);
    }
    print(profile);
    std::cout << std::flush;
    profiles[family] = std::move(profile);
  }
  for (const SiblingFamily& known : sibling_families()) {
    const auto profile = profiles.find(known.family), other = profiles.find(known.narrow_attention);
    if (profile != profiles.end() && other != profiles.end()) take_narrow_attention(profile->second, other->second);
    for (std::string_view from = known.convolution; profile != profiles.end() && !from.empty();
         from = sibling_family(from).convolution)
      if (const auto found = profiles.find(from); found != profiles.end())
        take_convolutions(profile->second, found->second);
  }
  for (const auto& [family, profile] : profiles) write_profile(profile, std::filesystem::path(command.output));
}

}  // namespace
}  // namespace stepcast

int main(int argc, char** argv) {
  CLI::App app("Fits the operator profiles of the catalogue to measured operators");
  stepcast::FitCommand command;
  app.add_option("--data", command.data, "Folder of the operators-*.csv")->required()->check(CLI::ExistingDirectory);
  app.add_option("--output", command.output, "Folder to write the profiles to")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--date", command.date, "Day of the data, as 2026-11-21")->required();
  app.add_option("--family", command.families, "Only this family (repeatable); default: every one");
  CLI11_PARSE(app, argc, argv);
  return stepcast::exit_code_of([&] { stepcast::fit(command); });
}
