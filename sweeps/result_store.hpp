#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sweeps/definition.hpp"
#include "sweeps/row.hpp"

namespace stepcast {

/// Format of the store (docs/formats/result-store.md), in its `user_version`.
inline constexpr int kStoreFormatVersion = 2;
/// "StpC": marks an SQLite file as a store of ours, in its `application_id`.
inline constexpr int kStoreApplicationId = 0x53747043;

/// How many configurations of a store have which status.
struct StoreCounts {
  std::int64_t points = 0;  ///< of the sweep
  std::int64_t ok = 0, invalid = 0, failed = 0;
  [[nodiscard]] std::int64_t done() const { return ok + invalid + failed; }
};

/// Why configurations have no figures.
struct StoreReason {
  PointStatus status = PointStatus::invalid;  ///< not legal, or its evaluation broke
  std::string error;                          ///< the most frequent of those that differ in their numbers alone
  std::int64_t count = 0;
  bool alike = false;  ///< not all of them have this very text
};

/// A result store, read. May be read while a sweep writes it; every call sees what has been committed.
///
/// All members throw InputError when the file is no store, is damaged, or has another format than this program reads,
/// and EnvironmentError when it cannot be read for another reason.
class ResultStore {
 public:
  explicit ResultStore(const std::filesystem::path& file);
  ~ResultStore();
  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;

  [[nodiscard]] const SweepIdentity& identity() const;
  /// What was varied; decodes the values of every point.
  [[nodiscard]] const SweepPoints& points() const;
  [[nodiscard]] StoreCounts counts() const;
  /// Hands over the rows from `first` on, at most `most`, by point. The row is valid during the call.
  void each_row(const std::function<void(const SweepRow&)>& take, std::int64_t first = 0,
                std::int64_t most = INT64_MAX) const;
  /// The one row of a point, if it is done.
  [[nodiscard]] std::optional<SweepRow> row(std::int64_t point) const;
  /// Points that fit memory, best first by a column of figures (see figure_columns()), at most `most`.
  /// Throws InputError for an unknown column.
  [[nodiscard]] std::vector<SweepRow> best(const std::string& column, bool largest, std::int64_t most) const;
  /// The most frequent errors: at most `most` of evaluations that broke, then as many of configurations that are not
  /// legal. Texts that differ in numbers alone are one.
  [[nodiscard]] std::vector<StoreReason> reasons(std::int64_t most) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a sweep does with a store that is there.
enum class StoreMode {
  fresh,   ///< it must not be there
  resume,  ///< it goes on, if it is of the same sweep; a new one is begun if there is none
};

/// A result store, written by one sweep. Rows are in the file from commit() on; a process that dies in between loses
/// what it had not committed and nothing else. Throws as ResultStore does; a full disk is an EnvironmentError.
class StoreWriter {
 public:
  /// Throws InputError when the store is there and must not be, or belongs to another sweep, version or catalogue.
  StoreWriter(const std::filesystem::path& file, const SweepIdentity& identity, std::int64_t points, StoreMode mode);
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  /// Which points have a row.
  [[nodiscard]] std::vector<bool> done() const;
  [[nodiscard]] const StoreCounts& counts() const;
  /// Forgets rows whose evaluation broke, so that they are computed again.
  void forget_failed();
  /// A row of a point that has none yet; in the file from the next commit on.
  void add(const SweepPoints& points, const SweepRow& row);
  /// Puts what was added since the last one into the file.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepcast
