#include "calibration/importers/kineto/kineto_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <istream>
#include <map>
#include <set>
#include <streambuf>

#include "calibration/importers/byte_source.hpp"
#include "calibration/importers/kineto/traced_communication.hpp"
#include "fields/json_text.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kDistributed = "distributedInfo";
constexpr std::size_t kLongestName = 512;
constexpr std::size_t kMostDimensions = 64;

/// Categories as libkineto calls them (ActivityType.h), in small letters; before PyTorch 2 they had other names, or
/// none at all.
const std::map<std::string, TraceEventKind, std::less<>> kCategories{
    {"kernel", TraceEventKind::kernel},       {"gpu_memcpy", TraceEventKind::copy},
    {"gpu_memset", TraceEventKind::copy},     {"memcpy", TraceEventKind::copy},
    {"memset", TraceEventKind::copy},         {"cuda_runtime", TraceEventKind::runtime},
    {"cuda_driver", TraceEventKind::runtime}, {"hip_runtime", TraceEventKind::runtime},
    {"xpu_runtime", TraceEventKind::runtime}, {"xpu_driver", TraceEventKind::runtime},
    {"runtime", TraceEventKind::runtime},     {"user_annotation", TraceEventKind::annotation},
    {"cpu_op", TraceEventKind::operation},    {"operator", TraceEventKind::operation},
    {"", TraceEventKind::operation}};
/// Those that repeat others or take no time of a step.
const std::set<std::string, std::less<>> kOtherCategories{
    "gpu_user_annotation", "python_function",     "trace",     "overhead",
    "cuda_sync",           "cpu_instant_event",   "ac2g",      "fwdbwd",
    "collective_comm",     "cuda_profiler_range", "cuda_event"};
/// Pid of kernels in traces of PyTorch's older profiler (autograd.profiler, profiler_util.py), which have no
/// categories.
constexpr std::string_view kDeviceOfAutograd = "CUDA functions";
constexpr std::size_t kMostUnknown = 16;

/// Unpacked bytes as a stream.
class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source) {}

 protected:
  int_type underflow() override {
    const std::size_t count = source_.read(buffer_.data(), buffer_.size());
    if (count == 0) return traits_type::eof();
    setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  ByteSource& source_;
  std::array<char, 1 << 16> buffer_;
};

/// Of the text's beginning.
std::optional<double> quoted_number(const std::string& text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && std::isfinite(out) ? std::optional(out) : std::nullopt;
}

/// Builds events as the parser meets them, and keeps nothing else.
class TraceReader : public nlohmann::json_sax<Json> {
 public:
  explicit TraceReader(KinetoTrace& trace) : trace_(trace) {}
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] bool found_events() const { return found_events_; }
  [[nodiscard]] bool of_xla() const { return of_xla_; }

  /// Gives groups whose ranks their events do not list those that the head of the trace does.
  void complete_groups() {
    for (TraceEvent& event : trace_.events) {
      if (!event.collective || !event.collective->ranks.empty()) continue;
      if (const auto known = groups_.find(event.collective->group); known != groups_.end())
        event.collective->ranks = known->second;
    }
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t v) override { return number(static_cast<double>(v)); }
  bool number_unsigned(number_unsigned_t v) override { return number(static_cast<double>(v)); }
  bool number_float(number_float_t v, const string_t&) override { return number(v); }
  bool string(string_t& v) override {
    text(v);
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override {
    if (in_event() && key_ == "Input Dims" && depth_ == event_depth_ + 1) dims_depth_ = depth_ + 1;
    if (!open()) return false;
    if (dims_depth_ > 0 && depth_ == dims_depth_ + 1 && event_.shapes.size() < kMostDimensions)
      event_.shapes.emplace_back();
    if (depth_ == 1) event_depth_ = 2;  // an array of events, without an object around it
    if (depth_ == 2 && key_ == "traceEvents") {
      event_depth_ = 3;
      found_events_ = true;
    }
    return true;
  }
  bool key(string_t& name) override {
    key_ = name.size() <= kLongestName ? name : std::string();
    if (depth_ == 1) section_ = key_;
    return true;
  }
  bool end_object() override {
    if (depth_ == 4 && section_ == kDistributed && !in_event() && !group_.first.empty())
      groups_.insert(std::move(group_));
    if (depth_ == event_depth_ && event_depth_ > 0 && !finish_event()) return false;
    --depth_;
    return true;
  }
  bool end_array() override {
    if (depth_ == dims_depth_) dims_depth_ = 0;
    if (depth_ == event_depth_ - 1) event_depth_ = 0;
    --depth_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& failure) override {
    error_ = failure.what();
    if (const auto at = error_.find("line "); at != std::string::npos) error_ = error_.substr(at);
    error_ = "not valid JSON: " + error_;
    // It quotes what was read, which may be the half of a character.
    std::replace_if(
        error_.begin(), error_.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    return false;
  }

 private:
  [[nodiscard]] bool in_event() const { return event_depth_ > 0 && depth_ >= event_depth_; }

  bool open() {
    if (++depth_ > static_cast<int>(kDeepestJson)) {
      error_ = fmt::format("nested more than {} deep", kDeepestJson);
      return false;
    }
    if (depth_ == event_depth_) {
      event_ = {};
      phase_.clear();
      category_.clear();
      process_.clear();
      ranks_.clear();
      collective_ = {};
      collective_name_.clear();
      duration_ = -1;
    }
    if (depth_ == 3 && section_ == "deviceProperties") ++trace_.devices;
    if (depth_ == 4 && section_ == kDistributed) group_ = {};
    return true;
  }

  bool number(double value) {
    if (!std::isfinite(value)) return true;
    if (in_event()) {
      event_number(value);
    } else if (section_ == kDistributed && depth_ == 2) {
      if (key_ == "rank") trace_.rank = bounded(value);
      if (key_ == "world_size") trace_.world = std::max(1, bounded(value));
    } else if (section_ == kDistributed && depth_ == 5 && key_ == "ranks") {
      group_.second.push_back(bounded(value));  // of pg_config: [{"pg_name": "0", "ranks": [0, 1]}]
    }
    return true;
  }

  static int bounded(double value) { return static_cast<int>(std::clamp(value, -1.0, 1e6)); }

  void event_number(double value) {
    if (dims_depth_ > 0 && depth_ == dims_depth_ + 1) {
      if (!event_.shapes.empty() && event_.shapes.back().size() < kMostDimensions)
        event_.shapes.back().push_back(static_cast<long>(std::clamp(value, 0.0, 1e15)));
    } else if (depth_ == event_depth_) {
      event_time(value);
      if (key_ == "tid" && event_.stream == 0) event_.stream = static_cast<long>(std::clamp(value, -1e15, 1e15));
    } else if (depth_ == event_depth_ + 1) {
      const auto whole = static_cast<long>(std::clamp(value, -1.0, 1e15));
      if (key_ == "stream") event_.stream = whole;
      if (key_ == "correlation") event_.correlation = whole;
      if (key_ == "External id") event_.external = whole;
      if (key_ == "In msg nelems") collective_.in_elements = std::max(0.0, value);
      if (key_ == "Out msg nelems") collective_.out_elements = std::max(0.0, value);
      if (key_ == "Group size") collective_.group_size = bounded(value);
      if (key_ == "device") event_.device = bounded(value);
    }
  }

  void event_time(double value) {
    if (key_ == "ts") event_.start = value;
    if (key_ == "dur") duration_ = value;
  }

  void text(const std::string& value) {
    if (in_event()) {
      event_text(value);
    } else if (section_ == "deviceProperties" && key_ == "name" && trace_.device.empty()) {
      trace_.device = value.substr(0, kLongestName);
    } else if (section_ == kDistributed && depth_ == 4 && key_ == "pg_name") {
      group_.first = value.substr(0, kLongestName);
    } else if (section_ == kDistributed && depth_ == 2) {
      if (key_ == "backend") trace_.backend = value.substr(0, kLongestName);
      if (key_ == "nccl_version") trace_.library_version = value.substr(0, kLongestName);
    }
  }

  void event_text(const std::string& value) {
    if (depth_ == event_depth_) {
      // Some profilers and scripts quote times and threads.
      if (key_ == "ts" || key_ == "dur" || key_ == "tid")
        if (const auto quoted = quoted_number(value)) event_number(*quoted);
      if (key_ == "pid") process_ = value.substr(0, kDeviceOfAutograd.size() + 1);
      if (key_ == "ph") phase_ = value;
      if (key_ == "cat") category_ = lower_case(value);
      if (key_ == "name") event_.name = value.substr(0, kLongestName);
    } else if (depth_ == event_depth_ + 1) {
      if (key_ == "Collective name") collective_name_ = value.substr(0, kLongestName);
      if (key_ == "dtype") collective_.type = value.substr(0, 32);
      if (key_ == "Process Group Name") collective_.group = value.substr(0, kLongestName);
      if (key_ == "Process Group Ranks") ranks_ = value;
      if (key_ == "hlo_module") of_xla_ = true;
    } else if ((key_ == "Input type" || key_ == "Input Types") && event_.type.empty()) {
      event_.type = value.substr(0, 64);
    }
  }

  /// What an event of this category is; nothing where it does not count.
  std::optional<TraceEventKind> kind_of_category() {
    const auto found = kCategories.find(category_);
    if (found == kCategories.end()) {
      if (!kOtherCategories.contains(category_) && trace_.unknown_categories.size() < kMostUnknown)
        ++trace_.unknown_categories[category_];
      return std::nullopt;
    }
    const bool operation = found->second == TraceEventKind::operation;
    if (category_.empty() && process_ == kDeviceOfAutograd) return TraceEventKind::kernel;
    if (operation && event_.name.starts_with(kStepMark)) return TraceEventKind::annotation;
    // What Gloo does is marked by its own threads.
    if (found->second == TraceEventKind::annotation && event_.name.starts_with(kGloo)) return TraceEventKind::operation;
    return found->second;
  }

  /// Keeps an event that counts. False when there are too many.
  bool finish_event() {
    if (phase_ != "X" || duration_ < 0) return true;
    const auto what = kind_of_category();
    if (!what) return true;
    event_.kind = *what;
    if (*what == TraceEventKind::kernel) event_.kernel = kernel_kind(event_.name);
    if (*what == TraceEventKind::copy)
      event_.kernel = contains(event_.name, "PtoP") || contains(event_.name, "P2P") ? KernelKind::communication
                                                                                    : KernelKind::memory;
    if (!collective_name_.empty())
      if (const auto kind = collective_of(collective_name_)) {
        collective_.kind = *kind;
        collective_.ranks = ranks_in(ranks_, collective_.group_size);
        event_.collective = collective_;
      }
    event_.end = event_.start + duration_;
    trace_.events.push_back(std::move(event_));
    if (trace_.events.size() <= kMostTraceEvents) return true;
    error_ = fmt::format("has more than {} events", kMostTraceEvents);
    return false;
  }

  KinetoTrace& trace_;
  std::string key_, section_, phase_, category_, process_, ranks_, collective_name_, error_;
  std::pair<std::string, std::vector<int>> group_;  ///< of pg_config, the one being read
  std::map<std::string, std::vector<int>> groups_;  ///< ranks by the group's name
  TraceEvent event_;
  TracedCollective collective_;
  double duration_ = -1;
  int depth_ = 0, event_depth_ = 0, dims_depth_ = 0;
  bool found_events_ = false, of_xla_ = false;
};

/// What an operation of PyTorch does on a processor.
KernelKind operation_kind(const std::string& name) {
  const auto any = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(name, part); });
  };
  if (name.starts_with(kGloo)) return KernelKind::communication;
  if (any({"attention"})) return KernelKind::attention;
  if (any({"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear", "aten::matmul", "conv"}))
    return KernelKind::gemm;
  return KernelKind::memory;
}

/// Without a device the processor is it: outermost operators become its kernels, Gloo's own threads the streams of
/// communication. Ranges that only wrap operators (modules, the autograd engine) do not count.
void take_processor_for_device(KinetoTrace& trace) {
  std::map<long, double> busy_until;
  for (TraceEvent& event : trace.events) {
    if (event.kind != TraceEventKind::operation) continue;
    const bool gloo = event.name.starts_with(kGloo);
    if (!gloo && (!contains(event.name, "::") || event.name.starts_with("autograd::"))) continue;
    double& until = busy_until[event.stream];
    if (event.start < until - 1e-9 || event.length() <= 0) continue;  // inside another one
    until = event.end;
    event.kind = TraceEventKind::kernel;
    event.kernel = operation_kind(event.name);
  }
}

}  // namespace

KernelKind kernel_kind(std::string_view name) {
  const std::string low = lower_case(name);
  const auto any = [&](std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return contains(low, part); });
  };
  if (any({"nccl", "rccl", "msccl", "nvshmem", "cross_device_reduce", "oneccl"})) return KernelKind::communication;
  if (any({"flash", "fmha", "attention", "sdpa", "ck_tile::fmha", "attn_fwd", "attn_bwd"}))
    return KernelKind::attention;
  // Passes around products and convolutions that move data only.
  if (any({"elementwise", "reduce_kernel", "nchwtonhwc", "nhwctonchw", "bn_fw", "bn_bw", "batch_norm", "im2col",
           "splitkreduce", "split_k_reduce", "pool"}))
    return KernelKind::memory;
  if (any({"gemm",
           "cutlass",
           "cublas",
           "xmma",
           "nvjet",
           "cijk_",
           "wgrad",
           "dgrad",
           "fprop",
           "winograd",
           "conv2d",
           "conv_depthwise",
           "implicit_convolve",
           "scudnn",
           "hcudnn",
           "igemm",
           "sp3asm",
           "fft2d",
           "tensorop",
           "convolve",
           "miopen_conv"}))
    return KernelKind::gemm;
  return KernelKind::memory;
}

int bytes_of_type(std::string_view type) {
  const std::string low = lower_case(type);
  const auto has = [&](std::string_view part) { return contains(low, part); };
  if (has("bfloat16") || has("half") || has("float16") || has("short")) return 2;
  if (has("double") || has("float64") || has("long") || has("int64")) return 8;
  if (has("float8") || has("fp8") || has("byte") || has("char") || has("bool") || has("int8")) return 1;
  if (has("float") || has("int")) return 4;
  return 0;
}

bool looks_like_kineto(const std::filesystem::path& file) {
  // What a pipe says can be read once only.
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::ifstream in(file, std::ios::binary);
  std::array<char, 1 << 16> start{};
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::string_view text(start.data(), static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  if (text.size() >= 2 && static_cast<unsigned char>(text[0]) == 0x1f && static_cast<unsigned char>(text[1]) == 0x8b)
    return true;
  return contains(text, "\"traceEvents\"") || contains(text, "\"deviceProperties\"") ||
         contains(text, "\"schemaVersion\"") || (contains(text, "\"ph\"") && contains(text, "\"dur\""));
}

KinetoTrace read_kineto(const std::filesystem::path& file) {
  KinetoTrace out;
  out.file = file.string();
  ByteSource source(file, kMostTraceBytes);
  SourceBuffer buffer(source);
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);  // what the source throws must not be swallowed by the stream
  TraceReader reader(out);
  const bool whole = Json::sax_parse(in, &reader, Json::input_format_t::json, true, false);
  if (!whole || !reader.error().empty())
    throw InputError({{out.file, "", reader.error().empty() ? "cannot be read" : reader.error(),
                       in.eof() ? "the file ends before the trace does: it was not written or copied whole" : ""}});
  if (reader.of_xla())
    throw InputError({{out.file, "/traceEvents", "are of XLA's profiler (JAX, TensorFlow)",
                       "a trace of torch.profiler (export_chrome_trace)"}});
  if (out.events.empty())
    throw InputError({{out.file, "/traceEvents", reader.found_events() ? "has no event with a length" : "missing",
                       "a trace of torch.profiler (export_chrome_trace)"}});
  double first = out.events.front().start;
  for (const TraceEvent& event : out.events) first = std::min(first, event.start);
  for (TraceEvent& event : out.events) {
    event.start = (event.start - first) * 1e-6;
    event.end = (event.end - first) * 1e-6;
  }
  std::stable_sort(out.events.begin(), out.events.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  out.on_processor = std::none_of(out.events.begin(), out.events.end(), [](const TraceEvent& event) {
    return event.kind == TraceEventKind::kernel || event.kind == TraceEventKind::copy;
  });
  if (out.on_processor) take_processor_for_device(out);
  reader.complete_groups();
  tell_communication(out.events);
  return out;
}

}  // namespace stepcast
