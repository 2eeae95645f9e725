#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "sweeps/definition.hpp"

namespace stepcast {

/// The folder on the shared filesystem, beside the store, in which the tasks of a job array find their work and leave
/// their rows: `sweep.json`, `tasks/K.json`, `rows/K.jsonl`, `logs/K.txt`, `task.sh`, a link `program`, and `job`, the
/// number of the array once it has one.
class TaskFolder {
 public:
  /// The folder of a store; it need not be there.
  static TaskFolder of_store(const std::filesystem::path& store);
  explicit TaskFolder(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool exists() const;
  /// Whether it holds tasks of this very sweep.
  [[nodiscard]] bool belongs_to(const SweepIdentity& identity) const;
  /// Makes it anew with the points dealt to `tasks` tasks in turn, so that neighbours, which cost alike, are spread.
  /// Throws EnvironmentError when it cannot be written.
  void create(const SweepDefinition& sweep, const SweepIdentity& identity, const std::vector<std::int64_t>& points,
              std::size_t tasks) const;
  /// With everything in it.
  void remove() const;

  /// How many tasks it holds work for.
  [[nodiscard]] std::size_t tasks() const;
  /// The file in which a task leaves its rows.
  [[nodiscard]] std::filesystem::path rows_of(std::size_t task) const;
  [[nodiscard]] std::filesystem::path logs() const { return path_ / "logs"; }
  /// Number of the submitted array; empty before.
  [[nodiscard]] std::string job() const;
  void set_job(const std::string& job) const;

 private:
  std::filesystem::path path_;
};

/// What one task does: the points of `tasks/K.json` that `rows/K.jsonl` lacks, `jobs` at a time. Throws InputError when
/// the folder is none, EnvironmentError when this machine has another version, catalogue or calibration than the one
/// that made it.
void run_task(const TaskFolder& folder, std::size_t task, int jobs, const std::stop_token& stop);

}  // namespace stepcast
