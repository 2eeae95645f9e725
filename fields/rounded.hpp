#pragma once

namespace stepcast {

/// A number with so many significant digits, the same in every locale.
double rounded(double value, int digits);

/// As all figures of a prediction: twelve significant digits, more than any model means, and few enough that unit
/// conversions round-trip.
inline double rounded(double value) { return rounded(value, 12); }

}  // namespace stepcast
