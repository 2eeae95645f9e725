#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collectives/collective.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// What the name of a step's annotation begins with; its number follows.
inline constexpr std::string_view kStepMark = "ProfilerStep#";
/// What the names of Gloo's own operations begin with, which are on the processor.
inline constexpr std::string_view kGloo = "gloo:";

/// What a trace's event is, as far as a step's time needs it.
enum class TraceEventKind : std::uint8_t { kernel, copy, runtime, operation, annotation };

/// What a kernel does.
enum class KernelKind : std::uint8_t { gemm, attention, memory, communication };

/// What the profiler says of a collective's kernel; older traces and AMD's say nothing.
struct TracedCollective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  double in_elements = 0, out_elements = 0;
  std::string type;  ///< "Float", "BFloat16", … as the profiler writes it
  int group_size = 0;
  std::string group;       ///< name of the group; empty: not told
  std::vector<int> ranks;  ///< of the group; empty: not told
};

/// One event with a length. Times are seconds from the first event of the trace.
struct TraceEvent {
  TraceEventKind kind = TraceEventKind::operation;
  KernelKind kernel = KernelKind::memory;  ///< of kernels and copies
  std::string name;
  double start = 0, end = 0;
  long stream = 0;                        ///< of device events; thread of others
  long correlation = -1;                  ///< joins a runtime call and what it launched
  long external = -1;                     ///< joins an operation and what it launched
  int device = 0;                         ///< of device events, as the process counts them
  std::vector<std::vector<long>> shapes;  ///< of an operation's inputs
  std::string type;                       ///< of its first input: "float", "c10::BFloat16"
  std::optional<TracedCollective> collective;
  /// Of a kernel of communication about which the profiler says nothing: as its name, or the mark around the call that
  /// launched it ("nccl:coalesced"), tells; nothing where neither does.
  std::optional<CollectiveKind> communication;
  [[nodiscard]] double length() const { return end - start; }
};

/// One rank's PyTorch profiler trace.
struct KinetoTrace {
  std::string file;
  std::string device;  ///< "NVIDIA A100-SXM4-80GB"; empty: not told
  int devices = 0;     ///< that the node has; 0: not told
  int rank = 0, world = 1;
  bool on_processor = false;  ///< nothing ran on a device: outermost operators are the kernels
  std::string backend, library_version;
  std::vector<TraceEvent> events;  ///< sorted by start
  /// Events with a length whose category is not known, which are left out.
  std::map<std::string, long> unknown_categories;
};

/// Limits: an unpacked trace beyond them is refused, whatever it says.
inline constexpr std::size_t kMostTraceBytes = std::size_t{8} << 30;
inline constexpr std::size_t kMostTraceEvents = 20'000'000;

/// Whether a file is a trace by its look: gzip, or JSON whose beginning names traceEvents.
bool looks_like_kineto(const std::filesystem::path& file);

/// Reads a trace, packed or not, event by event. Throws InputError.
KinetoTrace read_kineto(const std::filesystem::path& file);

/// What a kernel of this name does (NVIDIA's and AMD's libraries, PyTorch's own kernels).
KernelKind kernel_kind(std::string_view name);
/// Bytes of one element of a type as profilers write it; 0: unknown.
int bytes_of_type(std::string_view type);

}  // namespace stepcast
