#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>

#include "calibration/importers/onnx/program/constant_operators.hpp"

namespace stepcast::onnx_graph {

namespace {

template <typename Number>
constexpr bool kIsReal = std::is_floating_point_v<Number>;

template <typename Number>
const std::vector<Number>& elements(const ConstantTensor& tensor) {
  if constexpr (kIsReal<Number>)
    return tensor.real;
  else
    return tensor.whole;
}

/// Puts a number into the result; false where it is none of the result's type.
bool put(ConstantTensor& out, std::size_t element, std::int64_t number) {
  if (out.is_real())
    out.real[element] = rounded_to(static_cast<double>(number), out.type);
  else
    out.whole[element] = number;
  return out.is_real() || fits(number, out.type);
}

bool put(ConstantTensor& out, std::size_t element, double number) {
  if (!out.is_real() || !std::isfinite(number)) return false;
  out.real[element] = rounded_to(number, out.type);
  return true;
}

// One number of one, of two: null where there is none.

struct Sum {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  }
  static std::optional<double> of(double a, double b) { return a + b; }
};

struct Difference {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  }
  static std::optional<double> of(double a, double b) { return a - b; }
};

struct Product {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  }
  static std::optional<double> of(double a, double b) { return a * b; }
};

bool divides(std::int64_t a, std::int64_t b) {
  return b != 0 && !(b == -1 && a == std::numeric_limits<std::int64_t>::min());
}

struct Quotient {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    return divides(a, b) ? std::optional(a / b) : std::nullopt;
  }
  static std::optional<double> of(double a, double b) { return b == 0 ? std::nullopt : std::optional(a / b); }
};

/// The remainder that has the divisor's sign.
struct Remainder {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    if (!divides(a, b)) return {};
    const std::int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  static std::optional<double> of(double, double) { return {}; }
};

/// The remainder that has the dividend's sign (`fmod`).
struct DividendsRemainder {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) {
    return divides(a, b) ? std::optional(a % b) : std::nullopt;
  }
  static std::optional<double> of(double a, double b) { return b == 0 ? std::nullopt : std::optional(std::fmod(a, b)); }
};

struct Least {
  template <typename Number>
  static std::optional<Number> of(Number a, Number b) {
    return std::min(a, b);
  }
};

struct Most {
  template <typename Number>
  static std::optional<Number> of(Number a, Number b) {
    return std::max(a, b);
  }
};

template <typename Compare>
struct Comparison {
  template <typename Number>
  static std::optional<std::int64_t> of(Number a, Number b) {
    return Compare{}(a, b) ? 1 : 0;
  }
};

struct Both {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) { return a != 0 && b != 0 ? 1 : 0; }
  static std::optional<std::int64_t> of(double, double) { return {}; }
};

struct Either {
  static std::optional<std::int64_t> of(std::int64_t a, std::int64_t b) { return a != 0 || b != 0 ? 1 : 0; }
  static std::optional<std::int64_t> of(double, double) { return {}; }
};

struct Opposite {
  static std::optional<std::int64_t> of(std::int64_t a) { return a == 0 ? 1 : 0; }
  static std::optional<double> of(double) { return {}; }
};

struct Negative {
  static std::optional<std::int64_t> of(std::int64_t a) { return Difference::of(0, a); }
  static std::optional<double> of(double a) { return -a; }
};

struct Magnitude {
  static std::optional<std::int64_t> of(std::int64_t a) { return a < 0 ? Negative::of(a) : a; }
  static std::optional<double> of(double a) { return std::fabs(a); }
};

/// A function of floating-point numbers alone.
template <double (*Function)(double)>
struct OfReal {
  static std::optional<std::int64_t> of(std::int64_t) { return {}; }
  static std::optional<double> of(double a) { return Function(a); }
};

double floor_of(double number) { return std::floor(number); }
double ceiling_of(double number) { return std::ceil(number); }
double root_of(double number) { return std::sqrt(number); }
/// To the nearest, halves to the even one.
double nearest_of(double number) { return std::nearbyint(number); }

template <typename Operation, typename Number>
bool pair_up(const ConstantTensor& a, const ConstantTensor& b, ConstantTensor& out) {
  std::size_t to = 0;
  for (const auto& at : coordinates_of(out.sizes)) {
    const auto left = broadcast_element(a.sizes, at), right = broadcast_element(b.sizes, at);
    if (!left || !right) return false;
    const auto number = Operation::of(elements<Number>(a)[*left], elements<Number>(b)[*right]);
    if (!number || !put(out, to++, *number)) return false;
  }
  return true;
}

template <typename Operation>
bool two_sided(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor &a = *operation.input(0), &b = *operation.input(1);
  if (a.type != b.type) return false;
  return a.is_real() ? pair_up<Operation, double>(a, b, out) : pair_up<Operation, std::int64_t>(a, b, out);
}

bool remainder_of(const KnownOperation& operation, ConstantTensor& out) {
  return operation.number("fmod", 0) == 0 ? two_sided<Remainder>(operation, out)
                                          : two_sided<DividendsRemainder>(operation, out);
}

/// Of one input or more, each of which may be broadcast.
template <typename Operation>
bool all_together(const KnownOperation& operation, ConstantTensor& out) {
  ConstantTensor so_far = *operation.input(0);
  for (std::size_t i = 1; i < operation.inputs.size(); ++i) {
    const ConstantTensor* next = operation.input(i);
    ConstantTensor last = out;
    const KnownOperation pair{operation.node, {&so_far, next}};
    if (next == nullptr || !two_sided<Operation>(pair, last)) return false;
    so_far = last;
  }
  if (so_far.sizes != out.sizes || so_far.type != out.type) return false;
  out = so_far;
  return true;
}

template <typename Operation, typename Number>
bool each(const ConstantTensor& in, ConstantTensor& out) {
  for (std::size_t i = 0; i < elements<Number>(in).size(); ++i) {
    const auto number = Operation::of(elements<Number>(in)[i]);
    if (!number || !put(out, i, *number)) return false;
  }
  return true;
}

template <typename Operation>
bool one_sided(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  if (in.sizes != out.sizes) return false;
  return in.is_real() ? each<Operation, double>(in, out) : each<Operation, std::int64_t>(in, out);
}

/// Truths of any number, whole numbers cut off behind the point.
bool cast(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  if (in.sizes != out.sizes) return false;
  const bool truth = out.type == ::onnx::TensorProto::BOOL;
  for (std::size_t i = 0; i < in.whole.size(); ++i)
    if (!put(out, i, truth ? std::int64_t{in.whole[i] != 0} : in.whole[i])) return false;
  // Beyond this, floating-point numbers are no indices or sizes.
  constexpr double kMostWhole = 9007199254740992;
  for (std::size_t i = 0; i < in.real.size(); ++i) {
    const bool whole = !out.is_real();
    if (whole && !(std::fabs(in.real[i]) <= kMostWhole)) return false;
    const bool done = !whole  ? put(out, i, in.real[i])
                      : truth ? put(out, i, std::int64_t{in.real[i] != 0})
                              : put(out, i, static_cast<std::int64_t>(in.real[i]));
    if (!done) return false;
  }
  return true;
}

template <typename Operation, typename Number>
bool reduce_elements(const ConstantTensor& in, const std::vector<bool>& reduced, bool keeps, ConstantTensor& out) {
  std::vector<std::optional<Number>> results(std::max(out.whole.size(), out.real.size()));
  std::size_t from = 0;
  for (const auto& at : coordinates_of(in.sizes)) {
    std::vector<std::int64_t> target;
    for (std::size_t axis = 0; axis < at.size(); ++axis)
      if (!reduced[axis] || keeps) target.push_back(reduced[axis] ? 0 : at[axis]);
    const auto to = element_at(out.sizes, target);
    if (!to) return false;
    const Number number = elements<Number>(in)[from++];
    results[*to] = results[*to] ? Operation::of(*results[*to], number) : number;
    if (!results[*to]) return false;
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i] || !put(out, i, *results[i])) return false;
  return true;
}

/// Over the axes that are named, or all; of no elements there is none here.
template <typename Operation>
bool reduce(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  const auto axes = static_cast<std::int64_t>(in.sizes.size());
  const std::vector<std::int64_t> named = operation.numbers(1, "axes");
  if (in.type != out.type || (named.empty() && operation.number("noop_with_empty_axes", 0) != 0)) return false;
  std::vector<bool> reduced(in.sizes.size(), named.empty());
  for (const std::int64_t axis : named) {
    if (axis < -axes || axis >= axes) return false;
    reduced[static_cast<std::size_t>(axis < 0 ? axis + axes : axis)] = true;
  }
  const bool keeps = operation.number("keepdims", 1) != 0;
  return in.is_real() ? reduce_elements<Operation, double>(in, reduced, keeps, out)
                      : reduce_elements<Operation, std::int64_t>(in, reduced, keeps, out);
}

template <typename Number>
bool count_up(const ConstantTensor& start, const ConstantTensor& step, ConstantTensor& out) {
  if (elements<Number>(start).size() != 1 || elements<Number>(step).size() != 1) return false;
  for (std::size_t i = 0; i < std::max(out.whole.size(), out.real.size()); ++i) {
    const auto far = Product::of(static_cast<Number>(i), elements<Number>(step)[0]);
    const auto number = far ? Sum::of(elements<Number>(start)[0], *far) : far;
    if (!number || !put(out, i, *number)) return false;
  }
  return true;
}

bool range(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor &start = *operation.input(0), &step = *operation.input(2);
  if (start.type != out.type || step.type != out.type) return false;
  return out.is_real() ? count_up<double>(start, step, out) : count_up<std::int64_t>(start, step, out);
}

/// Of the attribute's one value, or 0.
bool constant_of_shape(const KnownOperation& operation, ConstantTensor& out) {
  const auto& attributes = operation.node.attribute();
  const auto at = std::find_if(attributes.begin(), attributes.end(),
                               [](const auto& a) { return a.name() == "value" && a.has_t(); });
  if (at == attributes.end()) return out.is_real();
  const std::optional<ConstantTensor> value = constant_of(at->t());
  if (!value || value->type != out.type || value->whole.size() + value->real.size() != 1) return false;
  if (out.is_real())
    std::fill(out.real.begin(), out.real.end(), value->real.front());
  else
    std::fill(out.whole.begin(), out.whole.end(), value->whole.front());
  return true;
}

}  // namespace

std::vector<EvaluatedOperator> arithmetic_operators() {
  return {{"Add", 2, two_sided<Sum>},
          {"Sub", 2, two_sided<Difference>},
          {"Mul", 2, two_sided<Product>},
          {"Div", 2, two_sided<Quotient>},
          {"Mod", 2, remainder_of},
          {"Min", 1, all_together<Least>},
          {"Max", 1, all_together<Most>},
          {"Equal", 2, two_sided<Comparison<std::equal_to<>>>},
          {"Less", 2, two_sided<Comparison<std::less<>>>},
          {"LessOrEqual", 2, two_sided<Comparison<std::less_equal<>>>},
          {"Greater", 2, two_sided<Comparison<std::greater<>>>},
          {"GreaterOrEqual", 2, two_sided<Comparison<std::greater_equal<>>>},
          {"And", 2, two_sided<Both>},
          {"Or", 2, two_sided<Either>},
          {"Not", 1, one_sided<Opposite>},
          {"Neg", 1, one_sided<Negative>},
          {"Abs", 1, one_sided<Magnitude>},
          {"Floor", 1, one_sided<OfReal<floor_of>>},
          {"Ceil", 1, one_sided<OfReal<ceiling_of>>},
          {"Round", 1, one_sided<OfReal<nearest_of>>},
          {"Sqrt", 1, one_sided<OfReal<root_of>>},
          {"Cast", 1, cast},
          {"ReduceProd", 1, reduce<Product>},
          {"ReduceSum", 1, reduce<Sum>},
          {"ReduceMin", 1, reduce<Least>},
          {"ReduceMax", 1, reduce<Most>},
          {"Range", 3, range},
          {"ConstantOfShape", 1, constant_of_shape}};
}

}  // namespace stepcast::onnx_graph
