// cuDNN's backend API in host memory, for tests: graphs of operations are carried out as they are described, once for
// each plan, and take 5 µs and a known rate. A graph that is not attention gives data that is not attention's.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "calibration/probes/cuda/cudnn_numbers.hpp"
#include "calibration/probes/cuda/small_floats.hpp"
#include "calibration/probes/stand_in/clock.hpp"
#include "calibration/probes/stand_in/faults.hpp"

using namespace stepcast::stand_in;
namespace cudnn = stepcast::probes::cudnn;

namespace {

constexpr double kStart_us = 5, kForward = 50e6, kBackward = 40e6;  // multiplications and additions a µs
constexpr double kMostWork = 1 << 27;                               // of a product; larger graphs are timed alone
constexpr int kUnsupported = 3000;

struct Descriptor {
  int kind;
  std::map<int, std::vector<std::int64_t>> numbers;
  std::map<int, std::vector<void*>> pointers;
  bool computed = false;

  [[nodiscard]] std::int64_t number(int attribute) const { return numbers.at(attribute).front(); }
  [[nodiscard]] const Descriptor& at(int attribute) const {
    return *static_cast<const Descriptor*>(pointers.at(attribute).front());
  }
  [[nodiscard]] bool has(int attribute) const { return pointers.count(attribute) > 0; }
};

Stream* stream = nullptr;
const char* last_error = "";

using Place = std::array<std::int64_t, 4>;

std::uint16_t rounded_half(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits >> 23 & 0xffU) < 113) return 0;  // below the smallest normal number
  bits += 0xfffU + (bits >> 13 & 1U);
  return stepcast::probes::to_float16(std::bit_cast<float>(bits));
}
std::uint16_t rounded_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// Values of the tensors of a graph, as they lie in memory.
class Values {
 public:
  explicit Values(const Descriptor& pack) : pack_(pack) {}

  static Place sizes(const Descriptor& tensor) { return place(tensor.numbers.at(cudnn::kTensorSizes)); }

  float get(const Descriptor& tensor, Place at) {
    const Place size = sizes(tensor);
    // Of one size each place has the same; heads that share a key head follow one another.
    return of(
        tensor)[offset(tensor, {size[0] == 1 ? 0 : at[0], at[1], size[2] == 1 ? 0 : at[2], size[3] == 1 ? 0 : at[3]})];
  }
  void set(const Descriptor& tensor, const Place& at, float value) {
    const std::int64_t type = tensor.number(cudnn::kTensorType);
    if (type == cudnn::kFloat16) value = stepcast::probes::from_float16(rounded_half(value));
    if (type == cudnn::kBfloat16) value = stepcast::probes::from_bfloat16(rounded_bfloat16(value));
    of(tensor)[offset(tensor, at)] = value;
  }
  /// Another tensor's memory under sizes and strides of its own.
  void view(const Descriptor& from, const Descriptor& as) { all_[as.number(cudnn::kTensorNumber)] = of(from); }

  void store(const Descriptor& tensor) {
    if (tensor.number(cudnn::kTensorVirtual)) return;
    const std::vector<float>& values = of(tensor);
    void* memory = memory_of(tensor);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (tensor.number(cudnn::kTensorType) == cudnn::kFloat32)
        static_cast<float*>(memory)[i] = values[i];
      else
        static_cast<std::uint16_t*>(memory)[i] = tensor.number(cudnn::kTensorType) == cudnn::kFloat16
                                                     ? rounded_half(values[i])
                                                     : rounded_bfloat16(values[i]);
    }
  }

 private:
  static Place place(const std::vector<std::int64_t>& from) { return {from[0], from[1], from[2], from[3]}; }
  static std::size_t offset(const Descriptor& tensor, const Place& at) {
    const std::vector<std::int64_t>& strides = tensor.numbers.at(cudnn::kTensorStrides);
    const std::int64_t heads = sizes(tensor)[1];
    return static_cast<std::size_t>(at[0] * strides[0] + (heads == 1 ? 0 : at[1]) * strides[1] + at[2] * strides[2] +
                                    at[3] * strides[3]);
  }
  void* memory_of(const Descriptor& tensor) const {
    const std::vector<std::int64_t>& numbers = pack_.numbers.at(cudnn::kPackNumbers);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] == tensor.number(cudnn::kTensorNumber)) return pack_.pointers.at(cudnn::kPackPointers)[i];
    return nullptr;
  }
  std::vector<float>& of(const Descriptor& tensor) {
    const auto [found, fresh] = all_.try_emplace(tensor.number(cudnn::kTensorNumber));
    if (!fresh) return found->second;
    const Place size = sizes(tensor);
    found->second.resize(static_cast<std::size_t>(size[0] * size[1] * size[2] * size[3]));
    const void* memory = tensor.number(cudnn::kTensorVirtual) ? nullptr : memory_of(tensor);
    for (std::size_t i = 0; memory && i < found->second.size(); ++i) {
      const std::int64_t type = tensor.number(cudnn::kTensorType);
      if (type == cudnn::kFloat32)
        found->second[i] = static_cast<const float*>(memory)[i];
      else if (type == cudnn::kFloat16)
        found->second[i] = stepcast::probes::from_float16(static_cast<const std::uint16_t*>(memory)[i]);
      else
        found->second[i] = stepcast::probes::from_bfloat16(static_cast<const std::uint16_t*>(memory)[i]);
    }
    return found->second;
  }

  const Descriptor& pack_;
  std::map<std::int64_t, std::vector<float>> all_;
};

template <class Work>
void for_each_place(const Place& size, Work work) {
  Place at{};
  for (at[0] = 0; at[0] < size[0]; ++at[0])
    for (at[1] = 0; at[1] < size[1]; ++at[1])
      for (at[2] = 0; at[2] < size[2]; ++at[2])
        for (at[3] = 0; at[3] < size[3]; ++at[3]) work(at);
}

void multiply(const Descriptor& op, Values& values) {
  const Descriptor &a = op.at(cudnn::kProductA), &b = op.at(cudnn::kProductB), &c = op.at(cudnn::kProductC);
  const Place size = Values::sizes(c);
  const std::int64_t inner = Values::sizes(a)[3], sharing = size[1] / Values::sizes(b)[1];
  for_each_place(size, [&](const Place& at) {
    float sum = 0;
    for (std::int64_t k = 0; k < inner; ++k)
      sum += values.get(a, {at[0], at[1], at[2], k}) * values.get(b, {at[0], at[1] / sharing, k, at[3]});
    values.set(c, at, sum);
  });
}

void reduce(const Descriptor& op, Values& values) {
  const Descriptor &x = op.at(cudnn::kReductionX), &y = op.at(cudnn::kReductionY);
  const bool largest = op.at(cudnn::kReductionOf).number(cudnn::kReductionKind) == cudnn::kLargest;
  const Place from = Values::sizes(x), to = Values::sizes(y);
  for_each_place(to, [&](const Place& at) {
    float out = largest ? -INFINITY : 0;
    for (std::int64_t head = 0; head < from[1] / to[1]; ++head)
      for (std::int64_t column = 0; column < from[3] / to[3]; ++column) {
        const float one = values.get(x, {at[0], at[1] * (from[1] / to[1]) + head, at[2], at[3] + column});
        out = largest ? std::max(out, one) : out + one;
      }
    values.set(y, at, out);
  });
}

void pointwise(const Descriptor& op, Values& values) {
  const Descriptor &x = op.at(cudnn::kPointwiseX), &y = op.at(cudnn::kPointwiseY);
  const std::int64_t mode = op.at(cudnn::kPointwiseOf).number(cudnn::kPointwiseMode);
  for_each_place(Values::sizes(y), [&](const Place& at) {
    const float a = values.get(x, at), b = op.has(cudnn::kPointwiseB) ? values.get(op.at(cudnn::kPointwiseB), at) : 0;
    float out = a;  // identity
    if (mode == cudnn::kAdd) out = a + b;
    if (mode == cudnn::kSubtract) out = a - b;
    if (mode == cudnn::kMultiply) out = a * b;
    if (mode == cudnn::kDivide) out = a / b;
    if (mode == cudnn::kExponential) out = std::exp(a);
    if (mode == cudnn::kLogarithm) out = std::log(a);
    if (mode == cudnn::kIndex)
      out = static_cast<float>(at[static_cast<std::size_t>(op.at(cudnn::kPointwiseOf).number(cudnn::kPointwiseAxis))]);
    if (mode == cudnn::kNotLess) out = a >= b ? 1 : 0;
    if (mode == cudnn::kSelect) out = values.get(op.at(cudnn::kPointwiseT), at) > 0 ? a : b;
    values.set(y, at, out);
  });
}

/// Falsifies a result: gradients where the graph makes them.
void add_one(Values& values, const Descriptor& tensor) {
  for_each_place(Values::sizes(tensor), [&](const Place& at) { values.set(tensor, at, values.get(tensor, at) + 1); });
}

const std::vector<void*>& operations(const Descriptor& graph) { return graph.pointers.at(cudnn::kGraphOperations); }

/// What a graph is and costs.
struct Work {
  double products = 0, largest = 0;
  bool masked = false, backward = false;
};
Work work_of(const Descriptor& graph) {
  Work out;
  for (void* one : operations(graph)) {
    const auto& op = *static_cast<const Descriptor*>(one);
    out.backward = out.backward || op.kind == cudnn::kReshapeOperation;
    if (op.kind == cudnn::kPointwiseOperation)
      out.masked = out.masked || op.at(cudnn::kPointwiseOf).number(cudnn::kPointwiseMode) == cudnn::kSelect;
    if (op.kind != cudnn::kProductOperation) continue;
    const Place size = Values::sizes(op.at(cudnn::kProductC));
    const auto inner = static_cast<double>(Values::sizes(op.at(cudnn::kProductA))[3]);
    const double product = static_cast<double>(size[0] * size[1] * size[2] * size[3]) * inner;
    out.products += product;
    out.largest = std::max(out.largest, product);
  }
  return out;
}

void compute(const Descriptor& graph, const Descriptor& pack, bool backward) {
  Values values(pack);
  const Descriptor* falsified = nullptr;
  for (void* one : operations(graph)) {
    const auto& op = *static_cast<const Descriptor*>(one);
    const Descriptor* out = nullptr;
    if (op.kind == cudnn::kProductOperation) multiply(op, values), out = &op.at(cudnn::kProductC);
    if (op.kind == cudnn::kReductionOperation) reduce(op, values), out = &op.at(cudnn::kReductionY);
    if (op.kind == cudnn::kPointwiseOperation) pointwise(op, values), out = &op.at(cudnn::kPointwiseY);
    if (op.kind == cudnn::kReshapeOperation)
      values.view(op.at(cudnn::kReshapeX), op.at(cudnn::kReshapeY));
    else if (!out->number(cudnn::kTensorVirtual))
      values.store(*out), falsified = out;
  }
  if (setting(backward ? "wrong_gradient" : "wrong_attention", 0))
    add_one(values, *falsified), values.store(*falsified);
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return setting("old_cudnn", 0) ? 8907 : 91900; }
const char* cudnnGetErrorString(int) { return "a stand-in's error"; }
void cudnnGetLastErrorString(char* words, std::size_t size) { std::snprintf(words, size, "%s", last_error); }
int cudnnCreate(void** handle) { return *handle = new int, 0; }
int cudnnDestroy(void* handle) { return delete static_cast<int*>(handle), 0; }
int cudnnSetStream(void*, void* given) { return stream = static_cast<Stream*>(given), 0; }
int cudnnBackendCreateDescriptor(int kind, void** made) { return *made = new Descriptor{kind, {}, {}}, 0; }
int cudnnBackendDestroyDescriptor(void* made) { return delete static_cast<Descriptor*>(made), 0; }
int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, std::int64_t count, const void* given) {
  auto& into = *static_cast<Descriptor*>(descriptor);
  const auto values = [&](const auto* typed) {
    into.numbers[attribute] = std::vector<std::int64_t>(typed, typed + count);
  };
  if (type == cudnn::kHandleValue || type == cudnn::kPointerValue || type == cudnn::kDescriptorValue)
    into.pointers[attribute] =
        std::vector<void*>(static_cast<void* const*>(given), static_cast<void* const*>(given) + count);
  else if (type == cudnn::kIntegerValue)
    values(static_cast<const std::int64_t*>(given));
  else if (type == cudnn::kFlagValue)
    values(static_cast<const bool*>(given));
  else
    values(static_cast<const int*>(given));
  return 0;
}
int cudnnBackendFinalize(void* descriptor) {
  auto& one = *static_cast<Descriptor*>(descriptor);
  if (one.kind != cudnn::kPlan) return 0;
  // A finished plan needs its configuration no longer.
  one.pointers[cudnn::kHeuristicGraph] = one.at(cudnn::kPlanConfig).pointers.at(cudnn::kHeuristicGraph);
  if (!setting("no_gradients", 0) || !work_of(one.at(cudnn::kHeuristicGraph)).backward) return 0;
  return last_error = "no kernel of this stand-in makes gradients", kUnsupported;
}
int cudnnBackendGetAttribute(void* descriptor, int attribute, int, std::int64_t count, std::int64_t* found,
                             void* into) {
  const auto& one = *static_cast<Descriptor*>(descriptor);
  *found = attribute == cudnn::kHeuristicResults && setting("no_attention", 0) ? 0 : 1;
  if (count == 0 || *found == 0) return 0;
  if (attribute == cudnn::kPlanWorkspace) return *static_cast<std::int64_t*>(into) = 64, 0;
  static_cast<Descriptor**>(into)[0]->pointers[cudnn::kHeuristicGraph] = one.pointers.at(cudnn::kHeuristicGraph);
  return 0;
}
#ifndef STAND_IN_INCOMPLETE
int cudnnBackendExecute(void*, void* plan, void* pack) {
  auto& planned = *static_cast<Descriptor*>(plan);
  const Descriptor& graph = planned.at(cudnn::kHeuristicGraph);
  const Work work = work_of(graph);
  if (!planned.computed && work.largest <= kMostWork) compute(graph, *static_cast<Descriptor*>(pack), work.backward);
  planned.computed = true;
  const double flops = 2 * work.products * (work.masked ? 0.5 : 1);
  return advance(*stream, kStart_us + flops / (work.backward ? kBackward : kForward)), 0;
}
#endif
}
