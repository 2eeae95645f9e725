#include "gui/view-models/workspace.hpp"

#include <QStandardPaths>

#include "calibration/profile/calibration_profile.hpp"
#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/qt_text.hpp"

namespace stepcast {

Workspace::Workspace(std::vector<std::filesystem::path> catalog_directories) : given_(std::move(catalog_directories)) {
  open_catalog();
  configuration_ = std::make_unique<ConfigurationModel>(catalog());
  forecast_ = std::make_unique<ForecastModel>(*configuration_);
  forecast_->set_catalog_directories(catalog_arguments());
}

Workspace::~Workspace() {
  forecast_.reset();
  configuration_.reset();
}

std::filesystem::path Workspace::own_catalog() {
  return std::filesystem::path(plain(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation))) / "catalogue";
}

void Workspace::open_catalog() {
  std::vector<std::filesystem::path> directories;
  if (!calibration_.empty()) directories.push_back(calibration_);
  directories.insert(directories.end(), given_.begin(), given_.end());
  if (std::filesystem::is_directory(own_catalog())) directories.push_back(own_catalog());
  catalogs_.push_back(std::make_unique<Catalog>(Catalog::standard(directories)));
}

std::vector<std::string> Workspace::catalog_arguments() const {
  std::vector<std::string> out = user_directories();
  if (!calibration_.empty()) out.insert(out.begin(), calibration_.string());
  return out;
}

std::vector<std::string> Workspace::user_directories() const {
  std::vector<std::string> out;
  for (const auto& directory : given_) out.push_back(std::filesystem::absolute(directory).string());
  if (std::filesystem::is_directory(own_catalog())) out.push_back(own_catalog().string());
  return out;
}

void Workspace::hand_out_catalog() {
  open_catalog();
  // First the worker's, for the change of the configuration starts it.
  forecast_->set_catalog_directories(catalog_arguments());
  configuration_->use_catalog(catalog());
}

void Workspace::use_calibration(const std::filesystem::path& file) {
  if (!file.empty()) (void)read_calibration(file);
  calibration_ = file.empty() ? file : std::filesystem::absolute(file);
  hand_out_catalog();
}

/// Parts that an entry names have to be in the catalogue, too.
void Workspace::add_faults_of_names(const std::filesystem::path& entry, Diagnostics& diagnostics) const {
  std::vector<std::filesystem::path> directories{entry.parent_path().parent_path()};
  const auto& in_use = catalog().directories();
  directories.insert(directories.end(), in_use.begin(), in_use.end());
  Diagnostics all(entry.string());
  Catalog(directories).validate_all(all);
  std::vector<Fault> of_entry;
  for (const Fault& fault : all.faults())
    if (fault.file == entry.string()) of_entry.push_back(fault);
  diagnostics.add(of_entry);
}

bool Workspace::is_own(const Catalog& catalog, const std::string& kind, const std::string& id) {
  return catalog.file_of(kind, id).parent_path() == own_catalog() / kind;
}

void Workspace::add_entry(const std::string& kind, const std::string& id, const std::string& json,
                          const std::string& replaces) {
  if (id != replaces && !catalog().file_of(kind, id).empty())
    throw InputError({{id, "/id",
                       is_own(catalog(), kind, id) ? "there is an entry of your own with this id, which can be edited"
                                                   : "the catalogue has an entry with this id",
                       "choose another id"}});
  const std::filesystem::path folder = own_catalog() / kind;
  std::filesystem::create_directories(folder);
  // Checked under another name first, so that a faulty entry never stands in the catalogue.
  const std::filesystem::path trial = folder / (id + ".json.new");
  write_file(trial, json);
  Diagnostics diagnostics(id);
  const std::filesystem::path checked = own_catalog() / "checked" / kind / (id + ".json");
  std::filesystem::create_directories(checked.parent_path());
  std::filesystem::rename(trial, checked);
  Catalog::validate(checked, diagnostics);
  if (diagnostics.ok()) add_faults_of_names(checked, diagnostics);
  if (diagnostics.ok()) std::filesystem::rename(checked, folder / (id + ".json"));
  std::filesystem::remove_all(own_catalog() / "checked");
  diagnostics.throw_if_faulty();
  if (!replaces.empty() && replaces != id) std::filesystem::remove(folder / (replaces + ".json"));
  hand_out_catalog();
}

void Workspace::remove_entry(const std::string& kind, const std::string& id) {
  std::filesystem::remove(own_catalog() / kind / (id + ".json"));
  hand_out_catalog();
}

}  // namespace stepcast
