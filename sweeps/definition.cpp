#include "sweeps/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/scenario/scenario.hpp"
#include "models/scenario/stated_batch.hpp"
#include "sweeps/content_hash.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

constexpr const char* kFidelityPath = "run.fidelity";

Json points_json(const SweepPoints& points) {
  Json axes = Json::array();
  for (const SweepAxis& axis : points.axes()) axes.push_back({{"paths", axis.paths}, {"rows", axis.rows}});
  Json out{{"axes", std::move(axes)}};
  if (const auto& sample = points.sample()) out["sample"] = {{"count", sample->count}, {"seed", sample->seed}};
  return out;
}

SweepPoints points_from(const Json& document) {
  std::vector<SweepAxis> axes;
  for (const Json& axis : document.at("axes")) {
    SweepAxis& out = axes.emplace_back();
    out.paths = axis.at("paths").get<std::vector<std::string>>();
    for (const Json& row : axis.at("rows")) out.rows.emplace_back(row.begin(), row.end());
    const bool even =
        std::all_of(out.rows.begin(), out.rows.end(), [&](const auto& row) { return row.size() == out.paths.size(); });
    if (!even || out.rows.empty()) throw std::runtime_error("an axis whose rows are not as long as its paths");
  }
  std::optional<RandomSample> sample;
  if (const auto found = document.find("sample"); found != document.end())
    sample = {found->at("count").get<std::int64_t>(), found->at("seed").get<std::uint64_t>()};
  Diagnostics diagnostics("definition");
  SweepPoints points(std::move(axes), sample, diagnostics);
  if (!diagnostics.ok()) throw std::runtime_error(diagnostics.faults().front().text());
  return points;
}

Json parsed_definition(const std::string& definition) {
  Json document = Json::parse(definition, nullptr, false);
  if (!document.is_object()) throw std::runtime_error("the definition of the sweep is no JSON object");
  return document;
}

}  // namespace

Json SweepDefinition::document(std::int64_t point, Diagnostics& diagnostics) const {
  Json out = scenario;
  std::vector<const Json*> values;
  points.values(point, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    apply_override(out, points.paths()[i] + "=" + values[i]->dump(), diagnostics);
  keep_stated_batch(out, scenario);
  return out;
}

bool SweepDefinition::analytic() const {
  const Json::json_pointer fidelity("/run/fidelity");
  if (!scenario.is_object() || !scenario.contains(fidelity) || scenario.at(fidelity) != name_of(Fidelity::analytic))
    return false;
  const auto& paths = points.paths();
  return std::none_of(paths.begin(), paths.end(),
                      [](const std::string& path) { return path == kFidelityPath || path == "run"; });
}

namespace {

/// Files that the scenario names, by absolute names. What is no file is a fault of every point.
std::vector<std::filesystem::path> named_calibrations(const Json& scenario) {
  std::vector<std::filesystem::path> out;
  const Json::json_pointer named("/cluster/calibrations");
  if (!scenario.is_object() || !scenario.contains(named) || !scenario[named].is_array()) return out;
  std::error_code error;
  for (const Json& name : scenario[named])
    if (name.is_string() && std::filesystem::is_regular_file(name.get<std::string>(), error))
      out.emplace_back(name.get<std::string>());
  return out;
}

}  // namespace

SweepIdentity identity_of(const SweepDefinition& sweep) {
  Json document{{"scenario", sweep.scenario}};
  document.update(points_json(sweep.points));
  return {document.dump(), sweep.file, std::string(kVersion),
          hash_of_catalog(Catalog::standard(sweep.catalog_directories).behind(named_calibrations(sweep.scenario))),
          hash_of_models()};
}

SweepPoints points_of(const std::string& definition) {
  try {
    return points_from(parsed_definition(definition));
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("the definition of the sweep: {}", error.what()));
  }
}

SweepDefinition definition_of(const SweepIdentity& identity) {
  SweepPoints points = points_of(identity.definition);
  return {identity.file, parsed_definition(identity.definition).value("scenario", Json()), std::move(points), {}};
}

}  // namespace stepcast
