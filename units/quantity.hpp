#pragma once

#include <cmath>
#include <compare>

namespace stepcast {

/// A number with a physical dimension, held in SI base units (seconds, bytes, floating-point operations, joules,
/// dollars). The five exponents are the dimension; adding metres to seconds, as it were, does not compile. A quantity
/// whose exponents are all zero is a plain double.
template <int Time, int Data, int Work, int Energy, int Money>
class Quantity;

namespace detail {
template <int T, int D, int W, int E, int M>
struct Wrap {
  using type = Quantity<T, D, W, E, M>;
};
template <>
struct Wrap<0, 0, 0, 0, 0> {
  using type = double;
};
template <int T, int D, int W, int E, int M>
using wrap_t = typename Wrap<T, D, W, E, M>::type;
template <int T, int D, int W, int E, int M>
constexpr wrap_t<T, D, W, E, M> make(double value) {
  return wrap_t<T, D, W, E, M>(value);
}
}  // namespace detail

template <int T, int D, int W, int E, int M>
class Quantity {
 public:
  constexpr Quantity() = default;
  /// The value in SI base units.
  explicit constexpr Quantity(double value) : value_(value) {}

  /// The number in SI base units: seconds, bytes, FLOPs, joules, dollars and their products.
  [[nodiscard]] constexpr double value() const { return value_; }
  /// How many of `unit` this is: `t.in(1_us)`.
  [[nodiscard]] constexpr double in(Quantity unit) const { return value_ / unit.value_; }

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  constexpr Quantity& operator/=(double divisor) {
    value_ /= divisor;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0;
};

template <int T1, int D1, int W1, int E1, int M1, int T2, int D2, int W2, int E2, int M2>
constexpr auto operator*(Quantity<T1, D1, W1, E1, M1> a, Quantity<T2, D2, W2, E2, M2> b) {
  return detail::make<T1 + T2, D1 + D2, W1 + W2, E1 + E2, M1 + M2>(a.value() * b.value());
}
template <int T1, int D1, int W1, int E1, int M1, int T2, int D2, int W2, int E2, int M2>
constexpr auto operator/(Quantity<T1, D1, W1, E1, M1> a, Quantity<T2, D2, W2, E2, M2> b) {
  return detail::make<T1 - T2, D1 - D2, W1 - W2, E1 - E2, M1 - M2>(a.value() / b.value());
}
template <int T, int D, int W, int E, int M>
constexpr auto operator/(double a, Quantity<T, D, W, E, M> b) {
  return detail::make<-T, -D, -W, -E, -M>(a / b.value());
}

using Seconds = Quantity<1, 0, 0, 0, 0>;
using PerSecond = Quantity<-1, 0, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0, 0>;
using BytesPerSecond = Quantity<-1, 1, 0, 0, 0>;
using Flops = Quantity<0, 0, 1, 0, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1, 0, 0>;
using Joules = Quantity<0, 0, 0, 1, 0>;
using Watts = Quantity<-1, 0, 0, 1, 0>;
using Dollars = Quantity<0, 0, 0, 0, 1>;
using DollarsPerSecond = Quantity<-1, 0, 0, 0, 1>;
using DollarsPerJoule = Quantity<0, 0, 0, -1, 1>;

template <int T, int D, int W, int E, int M>
bool is_finite(Quantity<T, D, W, E, M> q) {
  return std::isfinite(q.value());
}

inline namespace literals {
#define STEPCAST_LITERAL(suffix, type, scale)                                                          \
  constexpr type operator""_##suffix(long double v) { return type(static_cast<double>(v) * (scale)); } \
  constexpr type operator""_##suffix(unsigned long long v) { return type(static_cast<double>(v) * (scale)); }
STEPCAST_LITERAL(s, Seconds, 1.0)
STEPCAST_LITERAL(ms, Seconds, 1e-3)
STEPCAST_LITERAL(us, Seconds, 1e-6)
STEPCAST_LITERAL(ns, Seconds, 1e-9)
STEPCAST_LITERAL(h, Seconds, 3600.0)
STEPCAST_LITERAL(days, Seconds, 86400.0)
STEPCAST_LITERAL(B, Bytes, 1.0)
STEPCAST_LITERAL(kB, Bytes, 1e3)
STEPCAST_LITERAL(MB, Bytes, 1e6)
STEPCAST_LITERAL(GB, Bytes, 1e9)
STEPCAST_LITERAL(TB, Bytes, 1e12)
STEPCAST_LITERAL(KiB, Bytes, 1024.0)
STEPCAST_LITERAL(MiB, Bytes, 1048576.0)
STEPCAST_LITERAL(GiB, Bytes, 1073741824.0)
STEPCAST_LITERAL(Bps, BytesPerSecond, 1.0)
STEPCAST_LITERAL(MBps, BytesPerSecond, 1e6)
STEPCAST_LITERAL(GBps, BytesPerSecond, 1e9)
STEPCAST_LITERAL(Gbps, BytesPerSecond, 1e9 / 8)
STEPCAST_LITERAL(FLOPs, Flops, 1.0)
STEPCAST_LITERAL(GFLOPs, Flops, 1e9)
STEPCAST_LITERAL(TFLOPs, Flops, 1e12)
STEPCAST_LITERAL(GFLOPS, FlopsPerSecond, 1e9)
STEPCAST_LITERAL(TFLOPS, FlopsPerSecond, 1e12)
STEPCAST_LITERAL(J, Joules, 1.0)
STEPCAST_LITERAL(kWh, Joules, 3.6e6)
STEPCAST_LITERAL(W, Watts, 1.0)
STEPCAST_LITERAL(kW, Watts, 1e3)
STEPCAST_LITERAL(usd, Dollars, 1.0)
#undef STEPCAST_LITERAL
}  // namespace literals

}  // namespace stepcast
