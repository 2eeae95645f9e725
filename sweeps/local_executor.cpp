#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "report/json.hpp"
#include "sim/protocol/worker_client.hpp"
#include "sweeps/closed_form.hpp"
#include "sweeps/executor.hpp"

namespace stepcast {

namespace {

/// Points that a thread takes at once: little enough that a stop is quick, enough that the lock is rarely taken.
constexpr std::size_t kBatch = 64;
/// Requests that a worker has beside those it runs, so that it never waits for us.
constexpr std::size_t kQueuedPerJob = 3;
/// How long a finished row waits at most for the next one before it is stored, and a wish to stop for a reply.
constexpr std::chrono::milliseconds kPatience{50};

SweepRow row_of_reply(const Reply& reply) {
  const auto point = reply.id.get<std::int64_t>();
  if (!reply.faults.empty()) return invalid_row(point, reply.faults);
  if (!reply.error.empty()) return failed_row(point, reply.error);
  if (!reply.prediction) return failed_row(point, "the worker answered nothing");
  return row_of(point, prediction_from_json(*reply.prediction));
}

/// The conversation with a worker that never has more than it can soon run, so that memory does not grow with the
/// sweep.
class WorkerQueue {
 public:
  WorkerQueue(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink)
      : sweep_(sweep), pending_(pending), sink_(sink), worker_(jobs), most_((kQueuedPerJob + 1) * jobs) {
    for (const std::filesystem::path& directory : sweep.catalog_directories)
      catalog_.push_back(std::filesystem::absolute(directory).string());
  }

  void run(const std::stop_token& stop) {
    fill();
    while (worker_.outstanding() > 0) {
      const std::optional<Reply> reply = worker_.next(kPatience);
      // What dies because of the stop itself is no result.
      if (stop.stop_requested()) return;
      std::vector<SweepRow> rows;
      if (reply) rows.push_back(row_of_reply(*reply));
      sink_(std::move(rows));
      fill();
    }
  }

 private:
  void fill() {
    while (worker_.outstanding() < most_) {
      const std::vector<std::int64_t> points = pending_.take(1);
      if (points.empty()) return;
      submit(points.front());
    }
  }

  void submit(std::int64_t point) {
    Diagnostics diagnostics(sweep_.file);
    Request request;
    request.id = point;
    request.scenario = sweep_.document(point, diagnostics);
    request.file = sweep_.file;
    request.catalog = catalog_;
    if (diagnostics.ok()) return worker_.submit(request);
    std::vector<SweepRow> rows;
    rows.push_back(invalid_row(point, diagnostics.faults()));
    sink_(std::move(rows));
  }

  const SweepDefinition& sweep_;
  PendingPoints& pending_;
  const RowSink& sink_;
  WorkerClient worker_;
  std::size_t most_;
  std::vector<std::string> catalog_;
};

}  // namespace

std::vector<std::int64_t> PendingPoints::take(std::size_t most) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::int64_t> out;
  for (; next_ < done_.size() && out.size() < most; ++next_)
    if (!done_[next_]) out.push_back(static_cast<std::int64_t>(next_));
  return out;
}

void evaluate_here(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                   const std::stop_token& stop) {
  const Catalog catalog = Catalog::standard(sweep.catalog_directories);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      ClosedForm closed_form(sweep, catalog);
      for (auto points = pending.take(kBatch); !points.empty(); points = pending.take(kBatch)) {
        std::vector<SweepRow> rows;
        for (const std::int64_t point : points) {
          if (stop.stop_requested()) return;
          rows.push_back(closed_form.row(point));
        }
        const std::scoped_lock lock(mutex);
        if (stop.stop_requested() || failure) return;
        sink(std::move(rows));
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < jobs; ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

void evaluate_in_workers(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                         const std::stop_token& stop) {
  try {
    WorkerQueue(sweep, pending, jobs, sink).run(stop);
  } catch (const std::exception&) {
    // Ctrl-C reaches the worker as well as us; that it is gone then is no error.
    if (!stop.stop_requested()) throw;
  }
}

void evaluate_locally(const SweepDefinition& sweep, PendingPoints& pending, int jobs, const RowSink& sink,
                      const std::stop_token& stop) {
  (sweep.analytic() ? evaluate_here : evaluate_in_workers)(sweep, pending, jobs, sink, stop);
}

}  // namespace stepcast
