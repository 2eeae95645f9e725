#include "calibration/profile/calibration_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>

#include "fields/format_version.hpp"
#include "fields/plain_text.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "hardware-catalog/part_rules.hpp"
#include "models/collectives/collective.hpp"
#include "models/collectives/mpi.hpp"
#include "models/scenario/framework_constants.hpp"

namespace stepcast {

/// A catalogue entry is kept as it stands; its own table checks it.
template <>
struct Codec<Json> {
  static void read(Json& out, const Json& in, const std::string&, std::string_view, const Rules&, Diagnostics&) {
    out = in;
  }
  static Json write(const Json& v, std::string_view) { return v; }
  static Json schema(std::string_view, const Rules&) { return {{"type", "object"}}; }
};

using namespace part_rules;

const FieldTable<CalibratedMachine>& CalibratedMachine::fields() {
  using P = CalibratedMachine;
  static const FieldTable<P> table =
      FieldTable<P>("calibrated machine", "Where a calibration was measured")
          .field("node", &P::node, "Catalogue id, or the scenario that the fit was given")
          .field("overrides", &P::overrides, "Keys that were set beside it")
          .field("hosts", &P::hosts, "Names of the hosts")
          .field("versions", &P::versions, "Software by name")
          .field("variables", &P::variables, "Environment variables that steer the library")
          .field("stand_in", &P::stand_in, "A test library stood in for the hardware");
  return table;
}

const FieldTable<FittedConstant>& FittedConstant::fields() {
  using P = FittedConstant;
  static const FieldTable<P> table =
      FieldTable<P>("fitted constant", "A constant that the fit moved")
          .field("profile", &P::profile, "Kind and id of the catalogue entry")
          .field("key", &P::key, "Of the entry, unit included")
          .field("prior", &P::prior, "Value of the catalogue")
          .field("value", &P::value, "Fitted value")
          .field("low", &P::low, "Lower end of the 68 % interval of the bootstrap")
          .field("high", &P::high, "Upper end")
          .field("rows", &P::rows, "Measured rows that tell it; 0: it stays the catalogue's");
  return table;
}

const FieldTable<HeldOutScore>& HeldOutScore::fields() {
  using P = HeldOutScore;
  static const FieldTable<P> table =
      FieldTable<P>("held-out score", "How well rows were predicted that the fit had not seen")
          .field("what", &P::what, "Which rows were held out")
          .field("rows", &P::rows, "How many")
          .field("mean_percent", &P::mean_percent, "Mean error")
          .field("median_percent", &P::median_percent, "Median error")
          .field("p90_percent", &P::p90_percent, "Nine in ten are better")
          .field("bias_percent", &P::bias_percent, "Above 0: predicted too slow");
  return table;
}

const FieldTable<FitOutlier>& FitOutlier::fields() {
  using P = FitOutlier;
  static const FieldTable<P> table =
      FieldTable<P>("outlier", "A row that lies far from the others")
          .field("row", &P::row, "Which row")
          .field("measured", &P::measured, "What was measured")
          .field("expected", &P::expected, "What its neighbours or the fit of the others say")
          .field("unit", &P::unit, "Of both");
  return table;
}

const FieldTable<MeasuredPoint>& MeasuredPoint::fields() {
  using P = MeasuredPoint;
  static const FieldTable<P> table =
      FieldTable<P>("measured point", "A collective at one size")
          .field("op", &P::op, "all_reduce …")
          .field("size_bytes", &P::size_bytes, "Of the whole buffer", required_at_least(0))
          .field("ranks", &P::ranks, "That take part", at_least(0))
          .field("nodes", &P::nodes, "Hosts they are on", at_least(0))
          .field("ranks_per_node", &P::ranks_per_node, "On each host", at_least(0))
          .field("algorithm", &P::algorithm, "As asked of the library")
          .field("protocol", &P::protocol, "As asked of the library")
          .field("median_us", &P::median_us, "Median of the samples", required_positive())
          .field("low_us", &P::low_us, "Tenth percentile", required_positive())
          .field("high_us", &P::high_us, "Ninetieth percentile", required_positive())
          .field("samples", &P::samples, "How many", at_least(0))
          .field("model_us", &P::model_us, "By the fitted constants, without the measured curve; 0: no model of it",
                 at_least(0));
  return table;
}

const FieldTable<MeasuredFigure>& MeasuredFigure::fields() {
  using P = MeasuredFigure;
  static const FieldTable<P> table = FieldTable<P>("measured figure", "A figure of a device or a disk")
                                         .field("name", &P::name, "What was measured")
                                         .field("group", &P::group, "gemm, memory, copy, launch, storage, power …")
                                         .field("measured", &P::measured, "Median of the samples")
                                         .field("model", &P::model, "By the fitted constants; 0: no model of it")
                                         .field("unit", &P::unit, "Of both");
  return table;
}

const FieldTable<CalibrationProfile>& CalibrationProfile::fields() {
  using P = CalibrationProfile;
  static const FieldTable<P> table =
      FieldTable<P>("calibration profile", "Fitted catalogue entries, measured curves, and how far to trust them")
          .field("format_version", &P::format_version, "Of this format", required_at_least(1))
          .field("name", &P::name, "What remarks call it", required())
          .field("created", &P::created, "Date of the newest measurement", required())
          .field("tool_version", &P::tool_version, "Of stepcast")
          .field("machine", &P::machine, "Where it was measured", required())
          .field("catalogue", &P::catalogue, "Catalogue entries by kind and id, which go before the shipped ones",
                 required())
          .field("constants", &P::constants, "What the fit moved, from where to where")
          .field("held_out", &P::held_out, "How well unseen rows are predicted")
          .field("outliers", &P::outliers, "Rows that do not count")
          .field("notes", &P::notes, "What the fit could not know")
          .field("findings", &P::findings, "What is wrong with the cluster")
          .field("jitter_us", &P::jitter_us, "Mean lateness of a rank, as calls' samples tell it", at_least(0))
          .field("points", &P::points, "Measured collectives")
          .field("figures", &P::figures, "Other measured figures");
  return table;
}

namespace {

void check_names(const std::optional<Calibrated>& calibration, const std::string& at, Diagnostics& diagnostics) {
  if (!calibration) return;
  for (std::size_t i = 0; i < calibration->curves.size(); ++i) {
    const std::string& op = calibration->curves[i].op;
    if (!parse_enum<CollectiveKind>(op))
      diagnostics.error(fmt::format("{}/calibration/curves/{}/op", at, i), fmt::format("found \"{}\"", op),
                        did_you_mean(op, names_of<CollectiveKind>()));
  }
  if (calibration->host && !parse_enum<HostLibrary>(calibration->host->library))
    diagnostics.error(at + "/calibration/host/library", fmt::format("found \"{}\"", calibration->host->library),
                      expected_one_of(names_of<HostLibrary>()));
}

void check_entry(const std::string& kind, const std::string& id, const Json& entry, const std::string& file,
                 Diagnostics& diagnostics) {
  const std::string at = child_pointer(child_pointer("/catalogue", kind), id);
  const PartKind* part = find_part_kind(kind);
  if (part == nullptr) return;
  Diagnostics own(fmt::format("{}#{}", file, at));
  part->check(entry, id, own);
  if (own.ok() && kind == kFolderOf<LinkProfile>)
    check_names(read_document<LinkProfile>(entry, own).calibration, "", own);
  if (own.ok() && kind == kFolderOf<NetworkProfile>)
    check_names(read_document<NetworkProfile>(entry, own).calibration, "", own);
  diagnostics.add(own.faults());
}

/// Days from 1970-01-01, or nothing when the text is no date.
std::optional<long> day_of(const std::string& date) {
  int year = 0;
  unsigned month = 0, day = 0;
  int end = 0;
  if (std::sscanf(date.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) != 3 || date.size() != 10 || end != 10)
    return std::nullopt;
  const std::chrono::year_month_day found{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!found.ok()) return std::nullopt;
  return std::chrono::sys_days(found).time_since_epoch().count();
}

void check_constants(const std::string& id, const Json& constants, Diagnostics& diagnostics) {
  const std::string at = child_pointer(child_pointer("/catalogue", kFrameworkConstants), id);
  const std::vector<std::string> frameworks = framework_ids();
  if (std::find(frameworks.begin(), frameworks.end(), id) == frameworks.end())
    return diagnostics.error(at, "is no framework", nearest_choice(id, frameworks));
  Diagnostics own(diagnostics.file());
  (void)with_constants(*find_framework(id, at, own), constants, own);
  for (const Fault& fault : own.faults()) diagnostics.error(at + fault.pointer, fault.message, fault.suggestion);
}

void check_content(const CalibrationProfile& profile, Diagnostics& diagnostics) {
  if (!profile.created.empty() && !is_date(profile.created))
    diagnostics.error("/created", fmt::format("found \"{}\", expected a date", profile.created), "YYYY-MM-DD");
  std::vector<std::string> kinds;
  for (const PartKind& kind : part_kinds()) kinds.emplace_back(kind.name);
  kinds.emplace_back(kFrameworkConstants);
  for (const auto& [kind, entries] : profile.catalogue) {
    if (kind == kFrameworkConstants) {
      for (const auto& [id, constants] : entries) check_constants(id, constants, diagnostics);
      continue;
    }
    if (find_part_kind(kind) == nullptr)
      diagnostics.error(child_pointer("/catalogue", kind), "is no kind of catalogue entry", did_you_mean(kind, kinds));
    for (const auto& [id, entry] : entries) check_entry(kind, id, entry, diagnostics.file(), diagnostics);
  }
}

void warn_of_hidden(const std::vector<CalibrationProfile>& profiles, std::vector<std::string>& out) {
  std::map<std::string, const CalibrationProfile*> first;
  for (const CalibrationProfile& profile : profiles)
    for (const auto& [kind, entries] : profile.catalogue)
      for (const auto& [id, entry] : entries) {
        const auto [known, fresh] = first.emplace(fmt::format("{}/{}", kind, id), &profile);
        if (!fresh)
          out.push_back(fmt::format("calibrations {} and {} both have {}: the first one counts", known->second->name,
                                    profile.name, known->first));
      }
}

void warn_of_versions(const std::vector<CalibrationProfile>& profiles, std::vector<std::string>& out) {
  std::map<std::string, std::pair<std::string, const CalibrationProfile*>> first;
  for (const CalibrationProfile& profile : profiles)
    for (const auto& [software, version] : profile.machine.versions) {
      const auto [known, fresh] = first.emplace(software, std::pair(version, &profile));
      if (!fresh && known->second.first != version)
        out.push_back(fmt::format("calibrations {} and {} were measured with different versions of {}: {} and {}",
                                  known->second.second->name, profile.name, software, known->second.first, version));
    }
}

}  // namespace

bool is_date(const std::string& text) { return day_of(text).has_value(); }

std::string interval_text(const FittedConstant& constant) {
  if (constant.rows == 0) return "not told by these results";
  if (constant.low >= constant.high) return "none";
  return fmt::format("{:.4g} to {:.4g}", constant.low, constant.high);
}

CalibrationProfile read_calibration(const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  const Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  refuse_newer(document, kCalibrationFormatVersion, "calibrations", diagnostics);
  Json words = document;
  if (words.is_object()) words.erase("catalogue");  // each entry is checked by itself, under its name
  refuse_control_characters(words, diagnostics);
  auto out = read_document<CalibrationProfile>(document, diagnostics);
  check_content(out, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void require_readable(const CalibrationProfile& profile, const std::filesystem::path& file) {
  Diagnostics diagnostics(file.string());
  check_content(profile, diagnostics);
  diagnostics.throw_if_faulty();
}

std::vector<std::string> warnings_of(const std::vector<CalibrationProfile>& profiles, const std::string& today) {
  std::vector<std::string> out;
  for (const CalibrationProfile& profile : profiles) {
    const auto measured = day_of(profile.created), now = day_of(today);
    // What an import could not date stands at day 0.
    if (measured && *measured == 0)
      out.push_back(fmt::format("calibration {} tells no date: how old it is nobody can say", profile.name));
    else if (measured && now && *now - *measured > kOldAfterDays)
      out.push_back(
          fmt::format("calibration {} is {} days old: drivers and libraries have changed since, measure again",
                      profile.name, *now - *measured));
    if (profile.machine.stand_in)
      out.push_back(fmt::format("calibration {} was measured on a stand-in for the hardware", profile.name));
  }
  warn_of_hidden(profiles, out);
  warn_of_versions(profiles, out);
  return out;
}

}  // namespace stepcast
