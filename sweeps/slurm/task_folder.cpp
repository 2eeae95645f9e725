#include "sweeps/slurm/task_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>

#include "sim/protocol/environment_error.hpp"
#include "sweeps/executor.hpp"
#include "sweeps/slurm/row_file.hpp"

namespace stepcast {

namespace {

namespace fs = std::filesystem;

/// The same for every sweep: nothing that a user wrote gets into a script.
constexpr const char* kScript =
    "#!/bin/sh\n"
    "exec ./program sweep task . \"$SLURM_ARRAY_TASK_ID\"\n";

std::string text_of(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

Json json_of(const fs::path& file) {
  Diagnostics diagnostics(file.string());
  Json out = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

Json identity_json(const SweepIdentity& identity) {
  return {{"definition", identity.definition},
          {"file", identity.file},
          {"version", identity.version},
          {"catalog_hash", identity.catalog_hash},
          {"models_hash", identity.models_hash}};
}

SweepIdentity identity_from(const Json& document) {
  const auto text = [&](const char* key) { return document.at(key).get<std::string>(); };
  return {text("definition"), text("file"), text("version"), text("catalog_hash"), text("models_hash")};
}

void require_same_program(const SweepIdentity& made, const SweepIdentity& here, const fs::path& folder) {
  const auto require = [&](const std::string& there, const std::string& now, const char* what) {
    if (there == now) return;
    throw EnvironmentError(
        fmt::format("{}: the sweep was made with {} {}, this machine has {}", folder.string(), what, there, now));
  };
  require(made.version, here.version, "version");
  require(made.catalog_hash, here.catalog_hash, "catalogue and calibrations");
  require(made.models_hash, here.models_hash, "framework profiles and model presets");
}

std::vector<std::int64_t> points_of_task(const fs::path& file) {
  const Json document = json_of(file);
  try {
    return document.get<std::vector<std::int64_t>>();
  } catch (const Json::exception&) {
    throw InputError({{file.string(), "", "expected an array of points", ""}});
  }
}

/// Which points of the whole sweep are not this task's, or have their row already.
std::vector<bool> not_to_do(const SweepDefinition& sweep, const std::vector<std::int64_t>& points,
                            const fs::path& rows) {
  std::vector<bool> out(static_cast<std::size_t>(sweep.points.size()), true);
  for (const std::int64_t point : points)
    if (point >= 0 && point < sweep.points.size()) out[static_cast<std::size_t>(point)] = false;
  std::uintmax_t offset = 0;
  read_rows(rows, offset, [&](const SweepRow& row) { out.at(static_cast<std::size_t>(row.point)) = true; });
  return out;
}

}  // namespace

TaskFolder TaskFolder::of_store(const fs::path& store) { return TaskFolder(fs::absolute(store).string() + ".tasks"); }

bool TaskFolder::exists() const {
  std::error_code error;
  return fs::exists(path_ / "sweep.json", error);
}

bool TaskFolder::belongs_to(const SweepIdentity& identity) const {
  return json_of(path_ / "sweep.json").value("identity", Json()) == identity_json(identity);
}

void TaskFolder::create(const SweepDefinition& sweep, const SweepIdentity& identity,
                        const std::vector<std::int64_t>& points, std::size_t tasks) const {
  try {
    remove();
    for (const char* folder : {"tasks", "rows", "logs"}) fs::create_directories(path_ / folder);
    for (std::size_t task = 0; task < tasks; ++task) {
      Json list = Json::array();
      for (std::size_t i = task; i < points.size(); i += tasks) list.push_back(points[i]);
      write_file(path_ / "tasks" / fmt::format("{}.json", task), list.dump());
    }
    fs::create_symlink(fs::read_symlink("/proc/self/exe"), path_ / "program");
    write_file(path_ / "task.sh", kScript);
    Json catalog = Json::array();
    for (const fs::path& directory : sweep.catalog_directories) catalog.push_back(fs::absolute(directory).string());
    const Json document{{"tasks", tasks}, {"catalog", std::move(catalog)}, {"identity", identity_json(identity)}};
    // Last: a folder without it is none.
    write_file(path_ / "sweep.json", document.dump());
  } catch (const fs::filesystem_error& error) {
    throw EnvironmentError(fmt::format("the folder of the tasks: {}", error.what()));
  }
}

void TaskFolder::remove() const {
  std::error_code error;
  fs::remove(path_ / "sweep.json", error);
  fs::remove_all(path_, error);
}

std::size_t TaskFolder::tasks() const { return json_of(path_ / "sweep.json").value("tasks", std::size_t{0}); }

fs::path TaskFolder::rows_of(std::size_t task) const { return path_ / "rows" / fmt::format("{}.jsonl", task); }

std::string TaskFolder::job() const { return text_of(path_ / "job"); }

void TaskFolder::set_job(const std::string& job) const { write_file(path_ / "job", job); }

void run_task(const TaskFolder& folder, std::size_t task, int jobs, const std::stop_token& stop) {
  const Json document = json_of(folder.path() / "sweep.json");
  const SweepIdentity made = identity_from(document.at("identity"));
  SweepDefinition sweep = definition_of(made);
  for (const Json& directory : document.at("catalog"))
    sweep.catalog_directories.emplace_back(directory.get<std::string>());
  require_same_program(made, identity_of(sweep), folder.path());
  const std::vector<std::int64_t> points = points_of_task(folder.path() / "tasks" / fmt::format("{}.json", task));
  const fs::path rows = folder.rows_of(task);
  PendingPoints pending(not_to_do(sweep, points, rows));
  RowWriter writer(rows);
  std::mutex mutex;
  evaluate_locally(
      sweep, pending, jobs,
      [&](const std::vector<SweepRow>& done) {
        const std::scoped_lock lock(mutex);
        writer.add(done);
      },
      stop);
}

}  // namespace stepcast
