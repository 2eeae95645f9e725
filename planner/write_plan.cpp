#include "planner/write_plan.hpp"

#include <system_error>

#include "planner/bill.hpp"
#include "planner/launch/launch.hpp"

namespace stepcast {

namespace {

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error))
    throw InputError({{folder.string(), "", fmt::format("cannot make the folder: {}", error.message()),
                       "name a folder that can be written"}});
}

}  // namespace

void write_plan(const PlanAnswer& answer, const Catalog& catalog, const std::filesystem::path& folder) {
  std::vector<NamedText> files{{"plan.json", plan_json(answer).dump(2) + "\n"}, {"plan.txt", plan_text(answer)}};
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    const std::string option = fmt::format("option-{}", i + 1);
    folders.push_back(option);
    const Json& document = answer.candidates[i].scenario;
    const Scenario scenario = resolve(document, option, {}, catalog);
    files.push_back({option + "/scenario.json", document.dump(2) + "\n"});
    files.push_back({option + "/bill-of-materials.csv", bill_csv(bill_of_materials(scenario, catalog))});
    for (NamedText& file : launch_files(scenario)) files.push_back({option + "/" + file.name, std::move(file.text)});
  }
  make_folder(folder);
  for (const std::string& option : folders) make_folder(folder / option);
  for (const NamedText& file : files) write_file(folder / file.name, file.text);
}

}  // namespace stepcast
