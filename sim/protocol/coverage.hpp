#pragma once

/// gcov's own, there in builds that count lines.
extern "C" __attribute__((weak)) void __gcov_dump();  // NOLINT(bugprone-reserved-identifier): gcov's name

namespace stepcast {

/// Keeps what gcov has counted in this process, where it counts: what leaves by `_exit`, or may be killed once it has
/// answered, would lose it.
inline void keep_coverage() {
  if (__gcov_dump) __gcov_dump();
}

}  // namespace stepcast
