#pragma once

#include <QString>

namespace stepcast {

/// How far work in the background is, in things that can be counted.
struct WorkProgress {
  QString what;    ///< "Simulating"
  QString things;  ///< what is counted: "operations"
  double done = 0;
  double all = 0;  ///< 0: not known yet
  double per_second = 0;

  /// Of the whole; below zero while it is not known.
  [[nodiscard]] double share() const { return all > 0 ? done / all : -1; }
  /// At this rate; below zero while it is not known.
  [[nodiscard]] double seconds_left() const { return all > 0 && per_second > 0 ? (all - done) / per_second : -1; }
  /// "Simulating … 1,024 of 40,112 operations (3 %), 51 k a second, 0.8 s left"
  [[nodiscard]] QString words() const;
};

}  // namespace stepcast
