#include <algorithm>
#include <array>

#include "calibration/importers/onnx/program/constant_operators.hpp"

namespace stepcast::onnx_graph {

namespace {

using Numbers = std::vector<std::int64_t>;

/// An axis that may be counted from the last one; null where there is none.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t axes) {
  const auto count = static_cast<std::int64_t>(axes);
  if (axis < -count || axis >= count) return {};
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

void copy_element(const ConstantTensor& from, std::size_t element, ConstantTensor& out, std::size_t to) {
  if (from.is_real())
    out.real[to] = from.real[element];
  else
    out.whole[to] = from.whole[element];
}

/// Each element of the result from the element of `in` that `source` names by its coordinates.
template <typename Source>
bool fill(const ConstantTensor& in, ConstantTensor& out, const Source& source) {
  if (in.type != out.type) return false;
  std::size_t to = 0;
  for (const Numbers& at : coordinates_of(out.sizes)) {
    const std::optional<std::size_t> from = source(at);
    if (!from) return false;
    copy_element(in, *from, out, to++);
  }
  return true;
}

bool view(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  if (in.type != out.type || in.whole.size() != out.whole.size() || in.real.size() != out.real.size()) return false;
  out.whole = in.whole;
  out.real = in.real;
  return true;
}

bool expand(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  return fill(in, out, [&](const Numbers& at) { return broadcast_element(in.sizes, at); });
}

bool tile(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  if (in.sizes.size() != out.sizes.size()) return false;
  return fill(in, out, [&](Numbers at) {
    for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] %= std::max<std::int64_t>(in.sizes[axis], 1);
    return element_at(in.sizes, at);
  });
}

bool transpose(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  Numbers order = operation.numbers("perm");
  if (order.empty())
    for (std::size_t axis = in.sizes.size(); axis-- > 0;) order.push_back(static_cast<std::int64_t>(axis));
  if (order.size() != in.sizes.size()) return false;
  const auto inside = [&](std::int64_t axis) { return axis >= 0 && axis < static_cast<std::int64_t>(order.size()); };
  if (!std::all_of(order.begin(), order.end(), inside)) return false;
  return fill(in, out, [&](const Numbers& at) {
    Numbers from(at.size());
    for (std::size_t axis = 0; axis < at.size(); ++axis) from[static_cast<std::size_t>(order[axis])] = at[axis];
    return element_at(in.sizes, from);
  });
}

/// Where a slice begins: counted from the end where negative, and brought inside.
std::int64_t slice_begin(std::int64_t start, std::int64_t size, bool forwards) {
  if (start < 0) start = start < -size ? -1 : start + size;
  return std::clamp<std::int64_t>(start, 0, forwards ? size : size - 1);
}

bool slice(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor& in = *operation.input(0);
  const Numbers starts = operation.numbers(1, "starts"), named = operation.numbers(3, "axes"),
                strides = operation.numbers(4, "");
  if ((!named.empty() && named.size() != starts.size()) || (!strides.empty() && strides.size() != starts.size()))
    return false;
  Numbers begins(in.sizes.size(), 0), steps(in.sizes.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = axis_of(named.empty() ? static_cast<std::int64_t>(i) : named[i], in.sizes.size());
    if (!axis || in.sizes[*axis] == 0) return false;
    const std::int64_t size = in.sizes[*axis], step = strides.empty() ? 1 : strides[i];
    // A longer step than the axis takes one element, as one of its length does.
    steps[*axis] = std::clamp<std::int64_t>(step, -size, size);
    begins[*axis] = slice_begin(starts[i], size, step > 0);
  }
  return out.sizes.size() == in.sizes.size() && fill(in, out, [&](Numbers at) {
           for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] = begins[axis] + at[axis] * steps[axis];
           return element_at(in.sizes, at);
         });
}

bool gather(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor &in = *operation.input(0), &indices = *operation.input(1);
  const auto axis = axis_of(operation.number("axis", 0), in.sizes.size());
  if (!axis || indices.is_real() || out.sizes.size() != in.sizes.size() + indices.sizes.size() - 1) return false;
  const auto first = static_cast<std::ptrdiff_t>(*axis),
             last = first + static_cast<std::ptrdiff_t>(indices.sizes.size());
  return fill(in, out, [&](const Numbers& at) -> std::optional<std::size_t> {
    const auto element = element_at(indices.sizes, {at.begin() + first, at.begin() + last});
    if (!element) return {};
    Numbers from(at.begin(), at.begin() + first);
    const std::int64_t index = indices.whole[*element];
    from.push_back(index < 0 ? index + in.sizes[*axis] : index);
    from.insert(from.end(), at.begin() + last, at.end());
    return element_at(in.sizes, from);
  });
}

bool concatenate(const KnownOperation& operation, ConstantTensor& out) {
  const auto axis = axis_of(operation.number("axis", 0), out.sizes.size());
  if (!axis) return false;
  std::int64_t begin = 0;
  for (const ConstantTensor* part : operation.inputs) {
    if (part == nullptr || part->type != out.type || part->sizes.size() != out.sizes.size()) return false;
    std::size_t from = 0;
    for (Numbers at : coordinates_of(part->sizes)) {
      at[*axis] += begin;
      const auto to = element_at(out.sizes, at);
      if (!to) return false;
      copy_element(*part, from++, out, *to);
    }
    begin += part->sizes[*axis];
  }
  return begin == out.sizes[*axis];
}

bool choose(const KnownOperation& operation, ConstantTensor& out) {
  const ConstantTensor &which = *operation.input(0), &yes = *operation.input(1), &no = *operation.input(2);
  if (which.is_real() || yes.type != out.type || no.type != out.type) return false;
  std::size_t to = 0;
  for (const Numbers& at : coordinates_of(out.sizes)) {
    const auto condition = broadcast_element(which.sizes, at);
    if (!condition) return false;
    const ConstantTensor& from = which.whole[*condition] != 0 ? yes : no;
    const auto element = broadcast_element(from.sizes, at);
    if (!element) return false;
    copy_element(from, *element, out, to++);
  }
  return true;
}

}  // namespace

std::vector<EvaluatedOperator> rearranging_operators() {
  return {{"Identity", 1, view}, {"Reshape", 1, view},  {"Squeeze", 1, view},       {"Unsqueeze", 1, view},
          {"Flatten", 1, view},  {"Expand", 2, expand}, {"Tile", 2, tile},          {"Transpose", 1, transpose},
          {"Slice", 1, slice},   {"Gather", 2, gather}, {"Concat", 1, concatenate}, {"Where", 3, choose}};
}

}  // namespace stepcast::onnx_graph
