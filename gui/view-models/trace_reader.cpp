#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>
#include <unordered_map>

#include "fields/json_text.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"

namespace stepcast {

namespace {

/// The text after `"key":`; empty when the line has no such key.
std::string_view after_key(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  return at == std::string_view::npos ? std::string_view{} : line.substr(at + key.size());
}

double number(std::string_view text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// Microseconds with three digits, as traces have them, in nanoseconds.
std::int64_t nanoseconds_of(std::string_view text) {
  return static_cast<std::int64_t>(std::llround(number(text) * 1000.0));
}

/// A JSON string that begins after its opening quote. Names of operators hold no escapes; what does is read by the
/// JSON library.
std::string string_of(std::string_view text) {
  const std::size_t end = text.find('"');
  const std::string_view plain_text = text.substr(0, end);
  if (plain_text.find('\\') == std::string_view::npos) return std::string(plain_text);
  for (std::size_t close = end; close != std::string_view::npos; close = text.find('"', close + 1)) {
    const Json value = Json::parse("\"" + std::string(text.substr(0, close)) + "\"", nullptr, false);
    if (value.is_string()) return value.get<std::string>();
  }
  return std::string(plain_text);
}

/// Numbers texts in order of their first use.
class Names {
 public:
  explicit Names(QStringList& list) : list_(list) {}
  std::uint32_t number(std::string_view text) {
    key_.assign(text);
    const auto [found, fresh] = numbers_.try_emplace(key_, static_cast<std::uint32_t>(list_.size()));
    if (fresh) list_ << qt(string_of(key_ + "\""));
    return found->second;
  }

 private:
  QStringList& list_;
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

class TraceReader {
 public:
  TraceReader() : names_(data_->names), categories_(data_->categories) {}

  void read_line(std::string_view line) {
    const std::string_view phase = after_key(line, R"("ph":")");
    if (phase.empty()) return;
    switch (phase.front()) {
      case 'X':
        return read_slice(line);
      case 'C':
        return read_counter(line);
      case 'M':
        return read_name(line);
      default:
        return;
    }
  }

  std::shared_ptr<TimelineData> finish() {
    for (auto& [key, track] : tracks_) {
      track.device = devices_[key.first];
      track.stream = streams_[key];
      if (!track.events.empty()) data_->tracks.push_back(std::move(track));
    }
    for (auto& [key, counter] : counters_) data_->counters.push_back(std::move(counter));
    for (const auto& [process, name] : devices_) {
      if (static_cast<std::size_t>(process) >= data_->multiplicity.size()) data_->multiplicity.resize(process + 1, 1.0);
      const qsizetype at = name.indexOf(QStringLiteral("(stands for "));
      if (at >= 0) data_->multiplicity[process] = name.mid(at + 12).section(QLatin1Char(' '), 0, 0).toDouble();
    }
    return std::move(data_);
  }

 private:
  using Key = std::pair<int, int>;

  static int int_after(std::string_view line, std::string_view key) {
    int out = -1;
    const std::string_view text = after_key(line, key);
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  static std::string_view quoted_after(std::string_view line, std::string_view key) {
    const std::string_view text = after_key(line, key);
    std::size_t end = 0;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return text.substr(0, end);
  }

  void read_slice(std::string_view line) {
    if (data_->events >= kMostTimelineEvents) {
      data_->cut_short = true;
      return;
    }
    TimelineEvent event;
    event.name = names_.number(quoted_after(line, R"("name":")"));
    event.category = static_cast<std::uint8_t>(std::min(255u, categories_.number(quoted_after(line, R"("cat":")"))));
    event.start = nanoseconds_of(after_key(line, R"("ts":)"));
    event.end = event.start + nanoseconds_of(after_key(line, R"("dur":)"));
    event.micro_batch = int_after(line, R"("micro_batch":)");
    event.critical = line.find(R"("critical":true)") != std::string_view::npos;
    const Key key{int_after(line, R"("pid":)"), int_after(line, R"("tid":)")};
    if (last_track_ == nullptr || key != last_key_) {
      last_key_ = key;
      last_track_ = &tracks_[key];
      last_track_->process = key.first;
    }
    last_track_->events.push_back(event);
    data_->end = std::max(data_->end, event.end);
    ++data_->events;
  }

  void read_counter(std::string_view line) {
    const int process = int_after(line, R"("pid":)");
    const std::string name(quoted_after(line, R"("name":")"));
    TimelineCounter& counter = counters_[{process, name}];
    std::string_view arguments = after_key(line, R"("args":{")");
    if (counter.name.isEmpty()) {
      counter.name = qt(name);
      counter.process = process;
      counter.unit = qt(arguments.substr(0, arguments.find('"')));
    }
    const std::size_t colon = arguments.find(':');
    if (colon == std::string_view::npos) return;
    counter.samples.push_back({nanoseconds_of(after_key(line, R"("ts":)")), number(arguments.substr(colon + 1))});
  }

  void read_name(std::string_view line) {
    const std::string_view what = quoted_after(line, R"("name":")");
    const std::string_view arguments = after_key(line, R"("args":{"name":")");
    const int process = int_after(line, R"("pid":)");
    if (what == "process_name" && process >= 0) devices_[process] = qt(string_of(arguments));
    if (what == "thread_name") streams_[{process, int_after(line, R"("tid":)")}] = qt(string_of(arguments));
  }

  std::shared_ptr<TimelineData> data_ = std::make_shared<TimelineData>();
  Names names_, categories_;
  std::map<Key, TimelineTrack> tracks_;
  std::map<std::pair<int, std::string>, TimelineCounter> counters_;
  std::map<int, QString> devices_;
  std::map<Key, QString> streams_;
  Key last_key_{-1, -1};
  TimelineTrack* last_track_ = nullptr;
};

}  // namespace

std::shared_ptr<TimelineData> read_timeline(const std::filesystem::path& trace, const std::atomic<bool>& stop) {
  std::ifstream file(trace, std::ios::binary);
  if (!file) throw InputError({{trace.string(), "", "cannot be read", ""}});
  TraceReader reader;
  std::string line;
  while (!stop.load(std::memory_order_relaxed) && std::getline(file, line)) reader.read_line(line);
  return reader.finish();
}

}  // namespace stepcast
