#pragma once

namespace stepcast {

/// How many parts of `b` hold `a`. REQUIRES a ≥ 0, b > 0.
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace stepcast
