#include "sweeps/slurm/slurm_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sim/protocol/environment_error.hpp"
#include "sim/protocol/finished_program.hpp"
#include "sweeps/content_hash.hpp"
#include "sweeps/slurm/row_file.hpp"
#include "sweeps/slurm/task_folder.hpp"

namespace stepcast {

namespace {

/// Between looks at the rows; squeue, which loads the controller, is asked every fifth time.
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr int kLooksPerQuery = 5;
/// Failures of squeue in a row before the controller counts as lost: two minutes and a half.
constexpr int kMostFailures = 60;

std::string first_line(std::string text) {
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

/// One array of one sweep, from its submission to its last row.
class ArrayRun {
 public:
  ArrayRun(const SweepDefinition& sweep, const std::filesystem::path& store, const SlurmOptions& options,
           const RowSink& sink, const std::stop_token& stop)
      : sweep_(sweep),
        options_(options),
        sink_(sink),
        stop_(stop),
        folder_(TaskFolder::of_store(store)),
        identity_(identity_of(sweep)),
        name_("stepcast-" + hash_of_text(folder_.path().string())) {}

  void run(PendingPoints& pending) {
    wanted_.assign(static_cast<std::size_t>(sweep_.points.size()), false);
    for (const std::int64_t point : pending.take(wanted_.size())) want(point);
    gather_earlier();
    if (missing_ > 0 && !stop_.stop_requested()) {
      submit();
      wait();
    }
    if (stop_.stop_requested()) return;
    if (missing_ > 0)
      throw EnvironmentError(fmt::format(
          "Slurm array {} has ended with {} configurations missing: tasks were killed or failed; their logs "
          "are in {}; --resume submits what is missing",
          job_, missing_, folder_.logs().string()));
    folder_.remove();
  }

 private:
  void want(std::int64_t point) {
    wanted_[static_cast<std::size_t>(point)] = true;
    ++missing_;
  }

  void gather_earlier() {
    if (!folder_.exists()) return;
    if (!folder_.belongs_to(identity_))
      throw EnvironmentError(
          fmt::format("{}: holds the tasks of another sweep; remove it if none is running", folder_.path().string()));
    offsets_.assign(folder_.tasks(), 0);
    gather();
    job_ = folder_.job();
    if (job_.empty()) job_ = job_of_that_name();
    if (!job_.empty() && is_running()) wait();
  }

  /// An array whose submission was not written down: this program was killed in between.
  [[nodiscard]] std::string job_of_that_name() const {
    const FinishedProgram found = run_program({"squeue", "--noheader", "--name=" + name_, "--format=%A"});
    return found.code == 0 ? first_line(found.out) : std::string();
  }

  void submit() {
    std::vector<std::int64_t> points;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i]) points.push_back(static_cast<std::int64_t>(i));
    const std::size_t tasks = std::min(points.size(), static_cast<std::size_t>(options_.tasks));
    folder_.create(sweep_, identity_, points, tasks);
    offsets_.assign(tasks, 0);
    const FinishedProgram submitted = run_program(submission(tasks));
    if (submitted.code != 0)
      throw EnvironmentError(fmt::format("sbatch refuses the array: {}", first_line(submitted.err)));
    // `--parsable` prints the number, and the cluster's name behind a semicolon.
    const std::string line = first_line(submitted.out);
    job_ = line.substr(0, line.find(';'));
    folder_.set_job(job_);
  }

  [[nodiscard]] std::vector<std::string> submission(std::size_t tasks) const {
    std::vector<std::string> out{
        "sbatch",
        "--parsable",
        "--job-name=" + name_,
        fmt::format("--array=0-{}{}", tasks - 1, options_.at_a_time > 0 ? fmt::format("%{}", options_.at_a_time) : ""),
        "--chdir=" + folder_.path().string(),
        "--output=logs/%a.txt",
        "--open-mode=append",
        "--ntasks=1",
        fmt::format("--cpus-per-task={}", options_.cpus_per_task)};
    const auto add = [&](const char* name, const std::string& value) {
      if (!value.empty()) out.push_back(std::string(name) + "=" + value);
    };
    add("--partition", options_.partition);
    add("--time", options_.time_limit);
    add("--account", options_.account);
    add("--qos", options_.qos);
    add("--mem", options_.memory);
    out.insert(out.end(), options_.more.begin(), options_.more.end());
    out.push_back((folder_.path() / "task.sh").string());
    return out;
  }

  void wait() {
    for (int look = 0; missing_ > 0 && !stop_.stop_requested(); ++look) {
      std::this_thread::sleep_for(kBetweenLooks);
      const bool running = look % kLooksPerQuery != 0 || is_running();
      gather();
      if (!running) break;
    }
    if (stop_.stop_requested()) {
      run_program({"scancel", job_});
      gather();
    }
  }

  /// The controller forgets jobs some minutes after their end, and calls their number invalid then.
  bool is_running() {
    const FinishedProgram queue = run_program({"squeue", "--noheader", "--jobs=" + job_, "--format=%T"});
    if (queue.code == 0) {
      failures_ = 0;
      return !queue.out.empty();
    }
    if (queue.err.find("Invalid job id") != std::string::npos) return false;
    if (++failures_ < kMostFailures) return true;
    throw EnvironmentError(fmt::format("squeue does not answer: {}; the array {} goes on, and --resume gathers it",
                                       first_line(queue.err), job_));
  }

  void gather() {
    std::vector<SweepRow> rows;
    for (std::size_t task = 0; task < offsets_.size(); ++task)
      read_rows(folder_.rows_of(task), offsets_[task], [&](SweepRow row) {
        const auto point = static_cast<std::size_t>(row.point);
        if (row.point < 0 || point >= wanted_.size() || !wanted_[point]) return;
        wanted_[point] = false;
        --missing_;
        rows.push_back(std::move(row));
      });
    sink_(std::move(rows));
  }

  const SweepDefinition& sweep_;
  const SlurmOptions& options_;
  const RowSink& sink_;
  const std::stop_token& stop_;
  TaskFolder folder_;
  SweepIdentity identity_;
  std::string name_, job_;
  std::vector<bool> wanted_;
  std::int64_t missing_ = 0;
  std::vector<std::uintmax_t> offsets_;
  int failures_ = 0;
};

}  // namespace

Executor slurm_executor(const std::filesystem::path& store, const SlurmOptions& options) {
  return [store, options](const SweepDefinition& sweep, PendingPoints& pending, int, const RowSink& sink,
                          const std::stop_token& stop) { ArrayRun(sweep, store, options, sink, stop).run(pending); };
}

}  // namespace stepcast
