#include "calibration/probes/mpi/computation.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace stepcast::probes {
namespace {

constexpr double kPiece_us = 100;  // how long gradients wait for the next MPI_Test at most

double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A chain of dependent multiplications that no compiler can shorten.
void spin(std::int64_t loops) {
  volatile double sink = 0;
  double value = 1.0000001;
  for (std::int64_t i = 0; i < loops; ++i) value = value * 1.0000001 + 1e-9;
  sink = value;
  static_cast<void>(sink);
}

void sleep_until(double deadline_us) {
  const auto ns = static_cast<std::int64_t>(deadline_us * 1e3);
  timespec until{ns / 1'000'000'000, ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

/// The fastest of several runs: what the loop takes when nothing is in its way.
double calibrated_loops_per_us() {
  constexpr std::int64_t kLoops = 1'000'000;
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const double begin = now();
    spin(kLoops);
    best = std::max(best, static_cast<double>(kLoops) / (now() - begin));
  }
  return best;
}

}  // namespace

Computation::Computation(Computing kind) : kind_(kind) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // else Linux ends a sleep up to 50 µs late
  if (kind == Computing::busy) loops_per_us_ = calibrated_loops_per_us();
}

void Computation::piece(double us) const {
  if (kind_ == Computing::busy)
    spin(static_cast<std::int64_t>(us * loops_per_us_));
  else
    sleep_until(now() + us);
}

double Computation::run(double us, const std::function<void()>& between) const {
  const double begin = now();
  if (!between) {
    piece(us);
    return now() - begin;
  }
  double done = 0;
  while (done < us) {
    piece(std::min(kPiece_us, us - done));
    between();
    done += kPiece_us;
  }
  return now() - begin;
}

}  // namespace stepcast::probes
