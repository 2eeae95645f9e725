#include "planner/write_plan.hpp"

#include <algorithm>
#include <system_error>

#include "planner/bill.hpp"
#include "planner/launch/launch.hpp"

namespace stepcast {

namespace {

std::string option_name(std::size_t number) { return fmt::format("option-{}", number); }

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error))
    throw InputError({{folder.string(), "", fmt::format("cannot make the folder: {}", error.message()),
                       "name a folder that can be written"}});
}

constexpr const char *kScenarioFile = "scenario.json", *kBillFile = "bill-of-materials.csv";

/// Removes what an earlier plan wrote and this one does not; other files, and folders that hold any, stay.
void remove_earlier(const std::filesystem::path& folder, const std::vector<NamedText>& files) {
  std::error_code error;
  if (!std::filesystem::exists(folder / "plan.json", error)) return;
  std::vector<std::string> names = launch_file_names();
  names.insert(names.end(), {kScenarioFile, kBillFile});
  for (std::size_t number = 1;; ++number) {
    const std::string option = option_name(number);
    if (!std::filesystem::is_directory(folder / option, error)) return;
    const std::string within = option + "/";
    for (const std::string& name : names)
      if (std::none_of(files.begin(), files.end(), [&](const auto& file) { return file.name == within + name; }))
        std::filesystem::remove(folder / option / name, error);
    if (std::filesystem::is_empty(folder / option, error)) std::filesystem::remove(folder / option, error);
  }
}

}  // namespace

void write_plan(const PlanAnswer& answer, const Catalog& catalog, const std::filesystem::path& folder) {
  std::vector<NamedText> files{{"plan.json", plan_json(answer).dump(2) + "\n"}, {"plan.txt", plan_text(answer)}};
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    const std::string option = option_name(i + 1);
    folders.push_back(option);
    const Json& document = answer.candidates[i].scenario;
    const Scenario scenario = resolve(document, option, {}, catalog);
    files.push_back({option + "/" + kScenarioFile, document.dump(2) + "\n"});
    files.push_back({option + "/" + kBillFile, bill_csv(bill_of_materials(scenario, catalog))});
    for (NamedText& file : launch_files(scenario)) files.push_back({option + "/" + file.name, std::move(file.text)});
  }
  make_folder(folder);
  remove_earlier(folder, files);
  for (const std::string& option : folders) make_folder(folder / option);
  for (const NamedText& file : files) write_file(folder / file.name, file.text);
}

}  // namespace stepcast
