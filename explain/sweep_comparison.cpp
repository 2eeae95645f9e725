#include "explain/sweep_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <unordered_map>

#include "explain/bottleneck_words.hpp"
#include "explain/text_layout.hpp"
#include "report/html/charts.hpp"
#include "report/html/page.hpp"
#include "report/humane.hpp"
#include "report/markup.hpp"
#include "report/text_layout.hpp"
#include "sweeps/result_store.hpp"

namespace stepcast {

namespace {

/// Parts of a step, by the column that has each.
struct PartColumn {
  const char* column;
  const char* words;
};
constexpr std::array kParts{
    PartColumn{"compute_s", "compute"},        PartColumn{"communication.exposed_s", "exposed communication"},
    PartColumn{"bubble_s", "pipeline bubble"}, PartColumn{"synchronization_wait_s", "synchronisation wait"},
    PartColumn{"optimizer_s", "optimizer"},    PartColumn{"overhead_s", "host and fixed time"}};
constexpr std::size_t kStep = kParts.size(), kRest = kParts.size();

/// Times of one configuration: the parts, then the step.
using Times = std::array<double, kParts.size() + 1>;

std::size_t column_of(const std::string& name) {
  const auto& columns = figure_columns();
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == name) return i;
  throw std::logic_error(fmt::format("no column {}", name));
}

std::array<std::size_t, kParts.size() + 1> columns_of_parts() {
  std::array<std::size_t, kParts.size() + 1> out{};
  for (std::size_t i = 0; i < kParts.size(); ++i) out[i] = column_of(kParts[i].column);
  out[kStep] = column_of("step_time_s");
  return out;
}

/// The inputs of a row, whatever the order of a sweep's axes.
std::string inputs_of(const ResultStore& store, std::int64_t point) {
  std::vector<const Json*> values;
  store.points().values(point, values);
  std::map<std::string, std::string> sorted;
  for (std::size_t i = 0; i < values.size(); ++i) sorted[store.points().paths()[i]] = values[i]->dump();
  std::string out;
  for (const auto& [path, value] : sorted) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", path, value);
  return out;
}

template <class Take>
void each_ok(const ResultStore& store, Take take) {
  static const auto columns = columns_of_parts();
  store.each_row([&](const SweepRow& row) {
    if (row.status != PointStatus::ok) return;
    Times times{};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double value = row.figures[columns[i]];
      times[i] = std::isfinite(value) ? value : 0;
    }
    take(inputs_of(store, row.point), times);
  });
}

/// Sums over pairs as they are met.
class Pairs {
 public:
  explicit Pairs(SweepComparison& out) : out_(out) {}

  void add(const std::string& inputs, const Times& before, const Times& after) {
    ++out_.both;
    const double change = after[kStep] / before[kStep] - 1;
    if (change > kEqualSteps) ++out_.slower;
    if (change < -kEqualSteps) ++out_.faster;
    logarithms_ += std::log(after[kStep] / before[kStep]);
    SweptPair pair{inputs, Seconds(before[kStep]), Seconds(after[kStep]), {}, Seconds(0)};
    double named_before = 0, named_after = 0;
    for (std::size_t i = 0; i <= kRest; ++i) {
      const double a = i < kRest ? before[i] : before[kStep] - named_before;
      const double b = i < kRest ? after[i] : after[kStep] - named_after;
      named_before += a;
      named_after += b;
      before_[i] += a;
      after_[i] += b;
      if (std::abs(b - a) > std::abs(pair.most_change.value())) {
        pair.most_change = Seconds(b - a);
        pair.most = i < kRest ? kParts[i].words : "not attributed";
      }
    }
    keep(std::move(pair));
  }

  void finish() {
    if (out_.both == 0) return;
    out_.mean_change = std::expm1(logarithms_ / static_cast<double>(out_.both));
    // What is left of steps whose parts add up is their rounding; it stays with the total.
    constexpr double kRounding = 1e-9;
    const auto rounds_away = [&](std::size_t i) {
      const double all = std::accumulate(before_.begin(), before_.end(), 0.0);
      return i == kRest && std::max(std::abs(before_[i]), std::abs(after_[i])) < kRounding * all;
    };
    for (std::size_t i = 0; i <= kRest; ++i) {
      if (!rounds_away(i))
        out_.parts.push_back({i < kRest ? kParts[i].words : "not attributed", Seconds(before_[i]), Seconds(after_[i])});
      out_.total_before += Seconds(before_[i]);
      out_.total_after += Seconds(after_[i]);
    }
    std::stable_sort(out_.parts.begin(), out_.parts.end(), [](const PartDifference& a, const PartDifference& b) {
      return std::abs(a.change().value()) > std::abs(b.change().value());
    });
  }

 private:
  static double size_of(const SweptPair& pair) { return std::abs(std::log(pair.after / pair.before)); }
  void keep(SweptPair pair) {
    if (size_of(pair) <= kEqualSteps) return;
    auto& list = out_.largest;
    const auto place = std::upper_bound(list.begin(), list.end(), pair, [](const SweptPair& a, const SweptPair& b) {
      return size_of(a) != size_of(b) ? size_of(a) > size_of(b) : a.inputs < b.inputs;
    });
    list.insert(place, std::move(pair));
    if (list.size() > kMostPairs) list.pop_back();
  }

  SweepComparison& out_;
  double logarithms_ = 0;
  std::array<double, kRest + 1> before_{}, after_{};
};

std::vector<std::string> words_of(const SweepComparison& c) {
  std::vector<std::string> out;
  if (c.faster + c.slower == 0) {
    out.push_back(fmt::format("All {} configurations that both have take equally long.", whole(c.both)));
  } else {
    out.push_back(
        fmt::format("Of {} configurations that both have, B is slower in {} and faster in {}; its steps take "
                    "{} on average.",
                    whole(c.both), whole(c.slower), whole(c.faster), signed_percent(c.mean_change)));
    if (!c.parts.empty() && std::abs(c.parts.front().change().value()) > 0)
      out.push_back(fmt::format("Most of it is {}: {} over all of them.", c.parts.front().part,
                                signed_time(c.parts.front().change())));
  }
  if (c.only_before + c.only_after > 0)
    out.push_back(fmt::format("{} configurations have figures in A alone, {} in B alone.", whole(c.only_before),
                              whole(c.only_after)));
  if (!c.rests_on.empty()) {
    std::vector<std::string> what;
    what.reserve(c.rests_on.size());
    for (const ChangedKey& key : c.rests_on) what.push_back(key.key);
    out.push_back(fmt::format("The sweeps rest on different inputs: {}.", fmt::join(what, ", ")));
  }
  return out;
}

std::vector<ChangedKey> differences(const SweepIdentity& a, const SweepIdentity& b) {
  std::vector<ChangedKey> out;
  const auto compare = [&](const char* key, const std::string& before, const std::string& after) {
    if (before != after) out.push_back({key, Json(before).dump(), Json(after).dump(), std::nullopt, ""});
  };
  compare("version", a.version, b.version);
  compare("catalog_hash", a.catalog_hash, b.catalog_hash);
  compare("models_hash", a.models_hash, b.models_hash);
  const Json of_a = Json::parse(a.definition), of_b = Json::parse(b.definition);
  if (of_a.contains("scenario") && of_b.contains("scenario"))
    for (ChangedKey& key : changed_keys(of_a.at("scenario"), of_b.at("scenario"))) out.push_back(std::move(key));
  return out;
}

}  // namespace

bool looks_like_store(const std::filesystem::path& file) {
  // What a pipe says can be read once only.
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::array<char, 16> start{};
  std::ifstream(file, std::ios::binary).read(start.data(), start.size());
  return std::string_view(start.data(), 15) == "SQLite format 3";
}

SweepComparison compare_sweeps(const std::filesystem::path& before, const std::filesystem::path& after) {
  const ResultStore a(before), b(after);
  SweepComparison out;
  out.before = before.string();
  out.after = after.string();
  std::unordered_map<std::string, Times> of_a;
  each_ok(a, [&](std::string inputs, const Times& times) { of_a.emplace(std::move(inputs), times); });
  Pairs pairs(out);
  each_ok(b, [&](const std::string& inputs, const Times& times) {
    const auto found = of_a.find(inputs);
    if (found == of_a.end())
      ++out.only_after;
    else
      pairs.add(inputs, found->second, times);
  });
  out.only_before = static_cast<std::int64_t>(of_a.size()) - out.both;
  if (out.both == 0)
    throw InputError({{out.after, "", fmt::format("has no configuration with figures in common with {}", out.before),
                       "sweeps of the same keys and values"}});
  pairs.finish();
  out.rests_on = differences(a.identity(), b.identity());
  out.words = words_of(out);
  return out;
}

std::string text_report(const SweepComparison& c) {
  std::string out = fmt::format("A  {}\nB  {}\n", c.before, c.after);
  out += rule();
  for (const std::string& sentence : c.words) out += wrapped_sentence(sentence);
  out += fmt::format("\nAll steps together\n  {}{}{}{}\n", pad_right("", 36), pad_left("A", 14), pad_left("B", 14),
                     pad_left("change", 14));
  const auto row = [&](const std::string& name, Seconds a, Seconds b) {
    out += fmt::format("  {}{}{}{}\n", pad_right(name, 36), pad_left(humane(a), 14), pad_left(humane(b), 14),
                       pad_left(signed_time(b - a), 14));
  };
  for (const PartDifference& part : c.parts) row(part.part, part.before, part.after);
  row("together", c.total_before, c.total_after);
  if (!c.largest.empty()) out += "\nLargest changes\n";
  for (const SweptPair& pair : c.largest)
    out += fmt::format("  {}{}{}  {}\n", pad_left(signed_percent(pair.after / pair.before - 1), 10),
                       pad_left(fmt::format("{} → {}", humane(pair.before), humane(pair.after)), 24),
                       pad_left(fmt::format("{} {}", pair.most, signed_time(pair.most_change)), 34), pair.inputs);
  if (!c.rests_on.empty()) out += "\nWhat the sweeps rest on\n";
  for (const ChangedKey& key : c.rests_on)
    out += fmt::format("  {} {} → {}\n", pad_right(key.key, 34), key.before.empty() ? "unset" : key.before,
                       key.after.empty() ? "unset" : key.after);
  return out;
}

Json to_json(const SweepComparison& c) {
  Json parts = Json::array(), largest = Json::array(), rests_on = Json::array();
  for (const PartDifference& part : c.parts)
    parts.push_back({{"part", part.part},
                     {"before_s", part.before.value()},
                     {"after_s", part.after.value()},
                     {"change_s", part.change().value()}});
  for (const SweptPair& pair : c.largest)
    largest.push_back({{"inputs", pair.inputs},
                       {"before_s", pair.before.value()},
                       {"after_s", pair.after.value()},
                       {"most", pair.most},
                       {"most_change_s", pair.most_change.value()}});
  for (const ChangedKey& key : c.rests_on)
    rests_on.push_back({{"key", key.key}, {"before", key.before}, {"after", key.after}});
  return {{"before", c.before},
          {"after", c.after},
          {"both", c.both},
          {"faster", c.faster},
          {"slower", c.slower},
          {"only_before", c.only_before},
          {"only_after", c.only_after},
          {"mean_change", c.mean_change},
          {"change_s", (c.total_after - c.total_before).value()},
          {"words", c.words},
          {"parts", std::move(parts)},
          {"largest", std::move(largest)},
          {"changed", std::move(rests_on)}};
}

std::string html_report(const SweepComparison& c, const std::string& command) {
  HtmlPage page{"Stepcast: two sweeps", {}};
  page.body = "<h1>Two sweeps</h1><p class=\"sub\"><b>A</b> " + escaped_markup(c.before) + "<br><b>B</b> " +
              escaped_markup(c.after) + "</p>";
  for (const std::string& sentence : c.words) page.body += "<p class=\"lead\">" + escaped_markup(sentence) + "</p>";
  std::vector<ChangeBar> bars;
  HtmlTable parts{{"", "A", "B", "change"}, {}}, largest{{"inputs", "A", "B", "change", "most of it"}, {}};
  for (const PartDifference& part : c.parts) {
    bars.push_back({part.part, part.change().value(), signed_time(part.change())});
    parts.rows.push_back({part.part, humane(part.before), humane(part.after), signed_time(part.change())});
  }
  for (const SweptPair& pair : c.largest)
    largest.rows.push_back({pair.inputs, humane(pair.before), humane(pair.after),
                            signed_percent(pair.after / pair.before - 1),
                            pair.most + " " + signed_time(pair.most_change)});
  page.body += html_section("All steps together",
                            html_figure(change_bars_svg("Change by part", bars), parts, "the same as a table"));
  if (!largest.rows.empty()) page.body += html_section("Largest changes", html_table(largest));
  page.body += html_section("Command", "<pre>" + escaped_markup(command) + "</pre>");
  return html_document(page);
}

}  // namespace stepcast
