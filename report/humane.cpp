#include "report/humane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stepcast {

namespace {

struct Scale {
  double from;  ///< smallest value that takes this unit
  double unit;
  const char* name;
};

template <std::size_t N>
std::string scaled(double value, const std::array<Scale, N>& scales) {
  const Scale* best = &scales.back();
  for (const Scale& scale : scales)
    if (std::abs(value) >= scale.from) {
      best = &scale;
      break;
    }
  return fmt::format("{}{}", significant(value / best->unit), best->name);
}

constexpr std::array kBlocks{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

std::string cells_of(double share, int cells, const char* rest) {
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * cells * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += kBlocks[static_cast<std::size_t>(eighths % 8)];
  for (int i = (eighths + 7) / 8; i < cells; ++i) out += rest;
  return out;
}

}  // namespace

std::string humane(Seconds time) {
  if (time == Seconds(0)) return "0 s";
  static constexpr std::array scales{Scale{2 * 86400, 86400, " days"}, Scale{7200, 3600, " h"},
                                     Scale{600, 60, " min"},           Scale{0.9995, 1, " s"},
                                     Scale{0.9995e-3, 1e-3, " ms"},    Scale{0, 1e-6, " µs"}};
  return scaled(time.value(), scales);
}

std::string humane(Bytes size) {
  static constexpr std::array scales{Scale{1024.0 * 1073741824, 1024.0 * 1073741824, " TiB"},
                                     Scale{0.1 * 1073741824, 1073741824, " GiB"}, Scale{1048576, 1048576, " MiB"},
                                     Scale{1024, 1024, " KiB"}, Scale{0, 1, " B"}};
  if (size == Bytes(0)) return "0 GiB";
  return scaled(size.value(), scales);
}

std::string humane(Watts power) {
  static constexpr std::array scales{Scale{0.9995e6, 1e6, " MW"}, Scale{1e3, 1e3, " kW"}, Scale{0, 1, " W"}};
  return scaled(power.value(), scales);
}

std::string humane(Joules energy) {
  static constexpr std::array scales{Scale{3.6e12, 3.6e12, " GWh"}, Scale{3.6e9, 3.6e9, " MWh"}, Scale{1e6, 1e6, " MJ"},
                                     Scale{1e3, 1e3, " kJ"}, Scale{0, 1, " J"}};
  return scaled(energy.value(), scales);
}

std::string humane_count(double number) {
  static constexpr std::array scales{Scale{0.9995e9, 1e9, " G"}, Scale{0.9995e6, 1e6, " M"}, Scale{1e4, 1e3, " k"},
                                     Scale{0, 1, ""}};
  return scaled(number, scales);
}

std::string humane_mass(double kilograms) {
  static constexpr std::array scales{Scale{1e4, 1e3, " t"}, Scale{1, 1, " kg"}, Scale{0, 1e-3, " g"}};
  return scaled(kilograms, scales);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string bar(double share, int cells) {
  std::string out = cells_of(share, cells, " ");
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string gauge(double share, int cells) { return cells_of(share, cells, "░"); }

int columns_of(const std::string& text) {
  // Every byte but the continuation bytes of UTF-8 begins a character.
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string pad_left(const std::string& text, int columns) {
  return std::string(static_cast<std::size_t>(std::max(0, columns - columns_of(text))), ' ') + text;
}

std::string pad_right(const std::string& text, int columns) {
  return text + std::string(static_cast<std::size_t>(std::max(0, columns - columns_of(text))), ' ');
}

}  // namespace stepcast
