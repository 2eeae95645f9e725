#include "calibration/importers/onnx/program/constant_tensor.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace stepcast::onnx_graph {

namespace {

using ::onnx::TensorProto;

/// A whole type: what its elements may be, and how raw data holds them.
struct WholeType {
  int type;
  std::int64_t least, most;
  std::size_t bytes;
};

template <typename Number>
constexpr WholeType whole_type(int type) {
  return {type, std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max(), sizeof(Number)};
}

constexpr std::array kWholeTypes{whole_type<std::int64_t>(TensorProto::INT64),
                                 whole_type<std::int32_t>(TensorProto::INT32),
                                 whole_type<std::uint8_t>(TensorProto::UINT8), WholeType{TensorProto::BOOL, 0, 1, 1}};

const WholeType* find_whole(int type) {
  const auto* at = std::find_if(kWholeTypes.begin(), kWholeTypes.end(), [&](const auto& t) { return t.type == type; });
  return at == kWholeTypes.end() ? nullptr : at;
}

bool is_real_type(int type) { return type == TensorProto::FLOAT || type == TensorProto::DOUBLE; }

template <typename Stored, typename Number>
bool read_raw(const std::string& raw, std::vector<Number>& numbers) {
  if (raw.size() != numbers.size() * sizeof(Stored)) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored one{};
    std::memcpy(&one, raw.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = static_cast<Number>(one);
  }
  return true;
}

template <typename Field, typename Number>
bool read_field(const Field& field, std::vector<Number>& numbers) {
  if (static_cast<std::size_t>(field.size()) != numbers.size()) return false;
  std::copy(field.begin(), field.end(), numbers.begin());
  return true;
}

bool read_whole(const TensorProto& tensor, std::vector<std::int64_t>& numbers) {
  const bool wide = tensor.data_type() == TensorProto::INT64;
  if (!tensor.has_raw_data())
    return wide ? read_field(tensor.int64_data(), numbers) : read_field(tensor.int32_data(), numbers);
  if (wide) return read_raw<std::int64_t>(tensor.raw_data(), numbers);
  const bool narrow = find_whole(tensor.data_type())->bytes == 1;
  return narrow ? read_raw<std::uint8_t>(tensor.raw_data(), numbers)
                : read_raw<std::int32_t>(tensor.raw_data(), numbers);
}

bool read_real(const TensorProto& tensor, std::vector<double>& numbers) {
  const bool wide = tensor.data_type() == TensorProto::DOUBLE;
  if (tensor.has_raw_data())
    return wide ? read_raw<double>(tensor.raw_data(), numbers) : read_raw<float>(tensor.raw_data(), numbers);
  return wide ? read_field(tensor.double_data(), numbers) : read_field(tensor.float_data(), numbers);
}

void write_values(const ConstantTensor& constant, TensorProto& tensor) {
  if (constant.type == TensorProto::INT64)
    for (const std::int64_t number : constant.whole) tensor.add_int64_data(number);
  else
    for (const std::int64_t number : constant.whole) tensor.add_int32_data(static_cast<std::int32_t>(number));
  if (constant.type == TensorProto::DOUBLE)
    for (const double number : constant.real) tensor.add_double_data(number);
  else
    for (const double number : constant.real) tensor.add_float_data(static_cast<float>(number));
}

}  // namespace

bool ConstantTensor::is_real() const { return is_real_type(type); }

std::optional<std::int64_t> few_elements(const std::vector<std::int64_t>& sizes) {
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; })) return {};
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    if (size > kMostElements / elements) return {};
    elements *= size;
  }
  return elements;
}

std::optional<ConstantTensor> empty_constant(int type, const std::vector<std::int64_t>& sizes) {
  const std::optional<std::int64_t> elements = few_elements(sizes);
  if (!elements || (!is_real_type(type) && find_whole(type) == nullptr)) return {};
  ConstantTensor out{type, sizes, {}, {}, false};
  if (out.is_real())
    out.real.resize(static_cast<std::size_t>(*elements));
  else
    out.whole.resize(static_cast<std::size_t>(*elements));
  return out;
}

bool fits(std::int64_t number, int type) {
  const WholeType* whole = find_whole(type);
  return whole != nullptr && number >= whole->least && number <= whole->most;
}

double rounded_to(double number, int type) {
  return type == TensorProto::FLOAT ? static_cast<double>(static_cast<float>(number)) : number;
}

std::optional<ConstantTensor> constant_of(const TensorProto& tensor) {
  if (tensor.data_location() == TensorProto::EXTERNAL) return {};
  std::optional<ConstantTensor> out = empty_constant(tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()});
  if (!out) return {};
  const bool read = out->is_real() ? read_real(tensor, out->real) : read_whole(tensor, out->whole);
  const bool sound =
      std::all_of(out->whole.begin(), out->whole.end(), [&](std::int64_t number) { return fits(number, out->type); });
  return read && sound ? out : std::nullopt;
}

::onnx::NodeProto constant_node(const ConstantTensor& constant, const std::string& output) {
  ::onnx::NodeProto node;
  node.set_op_type("Constant");
  node.set_name(output);
  node.add_output(output);
  ::onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(::onnx::AttributeProto::TENSOR);
  TensorProto& tensor = *attribute.mutable_t();
  tensor.set_data_type(constant.type);
  for (const std::int64_t size : constant.sizes) tensor.add_dims(size);
  write_values(constant, tensor);
  return node;
}

}  // namespace stepcast::onnx_graph
