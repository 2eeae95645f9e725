#include "calibration/probes/mpi/gradient_sums.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace stepcast::probes {
namespace {

class Sums : public GradientSums {
 public:
  Sums(MPI_Comm communicator, std::vector<float>& gradients) : communicator_(communicator), gradients_(gradients) {}

 protected:
  void sum(const Bucket& bucket) {
    MPI_Allreduce(MPI_IN_PLACE, &gradients_[bucket.begin], static_cast<int>(bucket.count), MPI_FLOAT, MPI_SUM,
                  communicator_);
  }
  void sum(const Bucket& bucket, MPI_Request& request) {
    MPI_Iallreduce(MPI_IN_PLACE, &gradients_[bucket.begin], static_cast<int>(bucket.count), MPI_FLOAT, MPI_SUM,
                   communicator_, &request);
  }

 private:
  MPI_Comm communicator_;
  std::vector<float>& gradients_;
};

class SumsAfterwards : public Sums {
 public:
  using Sums::Sums;
  void start(const Bucket& bucket) override { waiting_.push_back(bucket); }
  void finish() override {
    for (const Bucket& bucket : waiting_) sum(bucket);
    waiting_.clear();
  }

 private:
  std::vector<Bucket> waiting_;
};

/// One nonblocking sum at a time: as a library's communication stream does.
class SumsByTest : public Sums {
 public:
  using Sums::Sums;
  void start(const Bucket& bucket) override {
    waiting_.push_back(bucket);
    progress();
  }
  void progress() override {
    int done = 1;
    if (request_ != MPI_REQUEST_NULL) MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
    if (done) next();
  }
  void finish() override {
    while (request_ != MPI_REQUEST_NULL || !waiting_.empty()) {
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
      next();
    }
  }

 private:
  void next() {
    if (waiting_.empty()) return;
    sum(waiting_.front(), request_);
    waiting_.pop_front();
  }
  std::deque<Bucket> waiting_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class SumsByThread : public Sums {
 public:
  SumsByThread(MPI_Comm communicator, std::vector<float>& gradients)
      : Sums(communicator, gradients), thread_([this] { work(); }) {}
  ~SumsByThread() override {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void start(const Bucket& bucket) override {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(bucket);
    }
    changed_.notify_all();
  }
  void finish() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.empty(); });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Bucket bucket = waiting_.front();
      lock.unlock();
      sum(bucket);
      lock.lock();
      waiting_.pop_front();  // only now: finish() waits for the sum, not for its start
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Bucket> waiting_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

std::vector<Bucket> buckets_of(const TrainSettings& settings) {
  const std::size_t layer = static_cast<std::size_t>(settings.layer_bytes) / sizeof(float);
  std::vector<Bucket> out;
  std::size_t begin = 0, end = 0;
  for (int index = settings.layers - 1; index >= 0; --index) {
    end += layer;
    if ((end - begin) * sizeof(float) < static_cast<std::size_t>(settings.bucket_bytes) && index > 0) continue;
    out.push_back({begin, end - begin, index});
    begin = end;
  }
  return out;
}

std::unique_ptr<GradientSums> gradient_sums(Overlapping overlapping, MPI_Comm communicator,
                                            std::vector<float>& gradients) {
  if (overlapping == Overlapping::test) return std::make_unique<SumsByTest>(communicator, gradients);
  if (overlapping == Overlapping::thread) return std::make_unique<SumsByThread>(communicator, gradients);
  return std::make_unique<SumsAfterwards>(communicator, gradients);
}

}  // namespace stepcast::probes
