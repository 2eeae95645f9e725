#pragma once

#include <string>
#include <vector>

namespace stepcast {

/// A measured figure and what was predicted for it, both above 0.
struct ScatterPoint {
  double measured = 0, predicted = 0;
  std::string title;  ///< shown while the pointer rests on it
};

/// Points of one colour and shape.
struct ScatterSeries {
  std::string name;
  std::vector<ScatterPoint> points;
};

/// Predicted against measured on logarithmic axes of equal range.
struct Scatter {
  std::string figure;  ///< what the axes are of: "step time"
  std::string (*label)(double value) = nullptr;
  double band = 0.1;  ///< half the width of the band around the diagonal, as a share
  std::vector<ScatterSeries> series;
};

/// An <svg> element for an HTML page whose style sheet is scatter_style(): diagonal, band, legend, hover titles. Points
/// of a series that would cover one another are one mark that counts them. Deterministic.
std::string scatter_svg(const Scatter& scatter);

/// Rules that drawings take their colours from, for light and dark pages.
std::string scatter_style();

/// How many colours there are; series beyond them differ in shape.
inline constexpr int kScatterColours = 8;

}  // namespace stepcast
