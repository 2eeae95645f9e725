#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

#include "fields/json_text.hpp"
#include "fields/streamed_file.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Trace times are whole nanoseconds, so that neighbours which share an instant share its digits.
using Nanoseconds = std::int64_t;
inline Nanoseconds nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

/// Chrome traces count microseconds.
inline std::string trace_stamp(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

inline std::string trace_text(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The `traceEvents` of one file, as they come: slices on the threads of processes, arrows between them, counters.
class ChromeTrace {
 public:
  explicit ChromeTrace(const std::filesystem::path& file) : file_(file) {
    file_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  }
  /// Heading of a process, which shows as a group of rows.
  void name_process(int process, std::string_view name) {
    event(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", process, trace_text(name));
    event(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}})", process, process);
  }
  /// Heading of one row.
  void name_thread(int process, int thread, std::string_view name) {
    event(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}})", process, thread, trace_text(name));
    event(R"("ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}})", process, thread,
          thread);
  }
  /// A bar from `start` to `end`. `arguments`: members of a JSON object, shown when it is chosen.
  void slice(int process, int thread, std::string_view name, std::string_view category, Nanoseconds start,
             Nanoseconds end, std::string_view arguments) {
    event(R"("ph":"X","name":{},"cat":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})", trace_text(name),
          trace_text(category), process, thread, trace_stamp(start), trace_stamp(end - start), arguments);
  }
  /// The value of a curve from `time` on.
  void counter(int process, std::string_view name, std::string_view unit, Nanoseconds time, double value) {
    event(R"("ph":"C","name":{},"pid":{},"ts":{},"args":{{{}:{:.6g}}})", trace_text(name), process, trace_stamp(time),
          trace_text(unit), value);
  }
  /// An arrow with this id leaves the slice that runs at `time`.
  void flow_start(long id, int process, int thread, Nanoseconds time) {
    event(R"("ph":"s","name":"waits for","cat":"dependency","id":{},"pid":{},"tid":{},"ts":{})", id, process, thread,
          trace_stamp(time));
  }
  /// The arrow arrives at the slice that runs then.
  void flow_end(long id, int process, int thread, Nanoseconds time) {
    event(R"("ph":"f","bp":"e","name":"waits for","cat":"dependency","id":{},"pid":{},"tid":{},"ts":{})", id, process,
          thread, trace_stamp(time));
  }
  /// Closes the document, which appears whole; throws as StreamedFile does.
  void commit() {
    flush();
    file_.write("\n]}\n");
    file_.commit();
  }

 private:
  template <class... T>
  void event(fmt::format_string<T...> format, T&&... values) {
    buffer_ += first_ ? "\n{" : ",\n{";
    first_ = false;
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<T>(values)...);
    buffer_ += '}';
    if (buffer_.size() > kBuffer) flush();
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  static constexpr std::size_t kBuffer = 1 << 20;
  StreamedFile file_;
  std::string buffer_;
  bool first_ = true;
};

}  // namespace stepcast
