#pragma once

#include <QString>
#include <vector>

#include "gui/view-models/exhibit.hpp"
#include "report/prediction.hpp"

namespace stepcast {

class Catalog;

/// A figure of the headline, with what it rests on.
struct HeadlineFigure {
  QString caption, value, below, explanation;
  FigureCell::Tone tone = FigureCell::Tone::plain;
  double gauge = -1;  ///< a share to draw as a bar; negative: none
};
std::vector<HeadlineFigure> headline_figures(const Prediction& prediction);
/// The headings alone, before there is a prediction.
std::vector<HeadlineFigure> blank_headline();
/// "tensor 8 · pipeline 16 · data 8 · micro-batch 1 × 192"
QString degrees_in_words(const Degrees& degrees);

Exhibit step_exhibit(const Prediction& prediction);
/// How sure the forecast is, and every default that it took. Words alone.
Exhibit assumptions_exhibit(const Prediction& prediction);
Exhibit memory_exhibit(const MemoryReport& memory);
Exhibit communication_by_kind(const Prediction& prediction);
Exhibit communication_by_dimension(const Prediction& prediction);

}  // namespace stepcast
