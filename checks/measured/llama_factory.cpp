#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/measured_results.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

namespace {

/// Times are whole seconds: over shorter stretches they say little.
constexpr double kShortest = 30, kShortestAtEnd = 5;

/// "1 day, 0:03:02", "0:32:48": a timedelta of Python. Seconds.
std::optional<double> elapsed_in(std::string_view text) {
  double days = 0;
  if (const auto comma = text.find(", "); comma != std::string_view::npos) {
    const std::string_view before = text.substr(0, comma);
    const auto [end, error] = std::from_chars(before.data(), before.data() + before.size(), days);
    const std::string_view unit = before.substr(static_cast<std::size_t>(end - before.data()));
    if (error != std::errc{} || (unit != " day" && unit != " days")) return std::nullopt;
    text.remove_prefix(comma + 2);
  }
  double out = 0;
  for (int part = 0; part < 3; ++part) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto used = static_cast<std::size_t>(end - text.data());
    if (error != std::errc{} || (part < 2) != (used < text.size() && text[used] == ':')) return std::nullopt;
    out = out * 60 + value;
    text.remove_prefix(std::min(text.size(), used + 1));
  }
  out += days * 86400;
  return std::isfinite(out) && out >= 0 ? std::optional(out) : std::nullopt;
}

/// What one line says: how far the run was, and when.
struct Progress {
  double steps = 0, seconds = 0;
  std::optional<double> tokens;
  bool evaluated = false;
};

std::optional<Progress> progress_in(std::string_view line) {
  Diagnostics syntax("");
  const Json record = parse_json(std::string(line), syntax);
  if (!syntax.ok() || !record.is_object()) return std::nullopt;
  const Json steps = record.value("current_steps", Json()), elapsed = record.value("elapsed_time", Json());
  if (!steps.is_number() || !elapsed.is_string()) return std::nullopt;
  const std::optional<double> seconds = elapsed_in(elapsed.get_ref<const std::string&>());
  if (!seconds) return std::nullopt;
  Progress out{steps.get<double>(), *seconds, std::nullopt, record.contains("eval_loss")};
  if (const Json tokens = record.value("total_tokens", Json()); tokens.is_number()) out.tokens = tokens.get<double>();
  return out;
}

void add_stretch(const Progress& from, const Progress& to, NamedSeries& out) {
  const double seconds = to.seconds - from.seconds;
  add_sample(out, "step_time_s", seconds / (to.steps - from.steps));
  if (from.tokens && to.tokens && *to.tokens > *from.tokens)
    add_sample(out, "tokens_per_s", (*to.tokens - *from.tokens) / seconds);
}

}  // namespace

bool is_llama_factory(std::string_view text) {
  const std::string_view first = trimmed(text.substr(0, text.find('\n')));
  return first.starts_with('{') && first.find("\"current_steps\"") != std::string_view::npos &&
         first.find("\"elapsed_time\"") != std::string_view::npos;
}

NamedSeries read_llama_factory(std::string_view text) {
  NamedSeries out;
  std::optional<Progress> from, last;
  const auto end_stretch = [&](double shortest) {
    if (!from || !last || last->steps <= from->steps || last->seconds - from->seconds < shortest) return false;
    add_stretch(*from, *last, out);
    return true;
  };
  for (const std::string_view line : lines_of(text)) {
    const std::optional<Progress> now = progress_in(line);
    if (!now) continue;
    // An evaluation has taken time of its own, and a run that was resumed counts from its start again.
    if (now->evaluated || (last && (now->steps < last->steps || now->seconds < last->seconds))) {
      end_stretch(kShortestAtEnd);
      from = last = now;
      continue;
    }
    last = now;
    if (!from || end_stretch(kShortest)) from = now;
  }
  end_stretch(kShortestAtEnd);
  return out;
}

}  // namespace stepcast
