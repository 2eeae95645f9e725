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

// A start, the rates of long sequences (25 and 20 TFLOP/s, a µs), and the tokens of a sequence at half of them.
constexpr double kAttentionStart_us = 5, kForward = 25e6, kBackward = 20e6, kHalfMasked = 256, kHalf = 102.4;
constexpr double kMostWork = 1 << 28;  // of a product; larger graphs are timed alone
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

float from_bits(std::uint16_t bits, std::int64_t type) {
  return type == cudnn::kFloat16 ? stepcast::probes::from_float16(bits) : stepcast::probes::from_bfloat16(bits);
}
std::uint16_t to_bits(float value, std::int64_t type) {
  return type == cudnn::kFloat16 ? rounded_half(value) : stepcast::probes::rounded_bfloat16(value);
}

/// A tensor's values, as they lie in memory, and where each place is among them.
struct Tensor {
  std::int64_t type, number;
  Place size{}, stride{};
  bool in_memory;
  std::vector<float>* values = nullptr;

  explicit Tensor(const Descriptor& d)
      : type(d.number(cudnn::kTensorType)),
        number(d.number(cudnn::kTensorNumber)),
        in_memory(d.number(cudnn::kTensorVirtual) == 0) {
    for (std::size_t i = 0; i < size.size(); ++i) {
      size[i] = d.numbers.at(cudnn::kTensorSizes)[i];
      stride[i] = size[i] == 1 ? 0 : d.numbers.at(cudnn::kTensorStrides)[i];  // of one size, every place has the same
    }
  }
  [[nodiscard]] bool half() const { return type == cudnn::kFloat16 || type == cudnn::kBfloat16; }
  float& at(const Place& p) const {
    return (
        *values)[static_cast<std::size_t>(p[0] * stride[0] + p[1] * stride[1] + p[2] * stride[2] + p[3] * stride[3])];
  }
  void set(const Place& p, float value) const { at(p) = half() ? from_bits(to_bits(value, type), type) : value; }
};

/// The tensors of a graph; those in memory are read when they are first met.
class Values {
 public:
  explicit Values(const Descriptor& pack) : pack_(pack) {}

  Tensor of(const Descriptor& descriptor) {
    Tensor out(descriptor);
    const auto [found, fresh] = all_.try_emplace(out.number);
    out.values = &found->second;
    if (!fresh) return out;
    found->second.resize(static_cast<std::size_t>(out.size[0] * out.size[1] * out.size[2] * out.size[3]));
    const void* memory = out.in_memory ? memory_of(out.number) : nullptr;
    for (std::size_t i = 0; memory && i < found->second.size(); ++i)
      found->second[i] = out.half() ? from_bits(static_cast<const std::uint16_t*>(memory)[i], out.type)
                                    : static_cast<const float*>(memory)[i];
    return out;
  }
  /// Another tensor's memory under sizes and strides of its own.
  void view(const Descriptor& from, const Descriptor& as) { all_[as.number(cudnn::kTensorNumber)] = *of(from).values; }
  void store(const Descriptor& descriptor) {
    const Tensor tensor = of(descriptor);
    if (!tensor.in_memory) return;
    void* memory = memory_of(tensor.number);
    for (std::size_t i = 0; i < tensor.values->size(); ++i) {
      if (tensor.half())
        static_cast<std::uint16_t*>(memory)[i] = to_bits((*tensor.values)[i], tensor.type);
      else
        static_cast<float*>(memory)[i] = (*tensor.values)[i];
    }
  }

 private:
  [[nodiscard]] void* memory_of(std::int64_t number) const {
    const std::vector<std::int64_t>& numbers = pack_.numbers.at(cudnn::kPackNumbers);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] == number) return pack_.pointers.at(cudnn::kPackPointers)[i];
    return nullptr;
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
  const Tensor a = values.of(op.at(cudnn::kProductA)), b = values.of(op.at(cudnn::kProductB)),
               c = values.of(op.at(cudnn::kProductC));
  const std::int64_t sharing = c.size[1] / b.size[1];
  for_each_place(c.size, [&](const Place& at) {
    const float* left = &a.at({at[0], at[1], at[2], 0});
    const float* right = &b.at({at[0], at[1] / sharing, 0, at[3]});
    float sum = 0;
    for (std::int64_t k = 0; k < a.size[3]; ++k) sum += left[k * a.stride[3]] * right[k * b.stride[2]];
    c.set(at, sum);
  });
}

void reduce(const Descriptor& op, Values& values) {
  const Tensor x = values.of(op.at(cudnn::kReductionX)), y = values.of(op.at(cudnn::kReductionY));
  const bool largest = op.at(cudnn::kReductionOf).number(cudnn::kReductionKind) == cudnn::kLargest;
  const std::int64_t heads = x.size[1] / y.size[1];
  for_each_place(y.size, [&](const Place& at) {
    float out = largest ? -INFINITY : 0;
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t column = 0; column < x.size[3] / y.size[3]; ++column) {
        const float one = x.at({at[0], at[1] * heads + head, at[2], at[3] + column});
        out = largest ? std::max(out, one) : out + one;
      }
    y.set(at, out);
  });
}

float carried_out(std::int64_t mode, float a, float b) {
  switch (mode) {
    case cudnn::kAdd:
      return a + b;
    case cudnn::kSubtract:
      return a - b;
    case cudnn::kMultiply:
      return a * b;
    case cudnn::kDivide:
      return a / b;
    case cudnn::kExponential:
      return std::exp(a);
    case cudnn::kLogarithm:
      return std::log(a);
    case cudnn::kNotLess:
      return a >= b ? 1 : 0;
    default:
      return a;  // identity
  }
}

void pointwise(const Descriptor& op, Values& values) {
  const Descriptor& kind = op.at(cudnn::kPointwiseOf);
  const std::int64_t mode = kind.number(cudnn::kPointwiseMode);
  const auto optional = [&](int attribute) {
    return values.of(op.at(op.has(attribute) ? attribute : cudnn::kPointwiseX));
  };
  const Tensor x = values.of(op.at(cudnn::kPointwiseX)), y = values.of(op.at(cudnn::kPointwiseY));
  const Tensor b = optional(cudnn::kPointwiseB), t = optional(cudnn::kPointwiseT);
  const auto axis = static_cast<std::size_t>(mode == cudnn::kIndex ? kind.number(cudnn::kPointwiseAxis) : 0);
  for_each_place(y.size, [&](const Place& at) {
    if (mode == cudnn::kIndex)
      y.set(at, static_cast<float>(at[axis]));
    else if (mode == cudnn::kSelect)
      y.set(at, t.at(at) > 0 ? x.at(at) : b.at(at));
    else
      y.set(at, carried_out(mode, x.at(at), b.at(at)));
  });
}

/// Falsifies a result.
void add_one(Values& values, const Descriptor& descriptor) {
  const Tensor tensor = values.of(descriptor);
  for_each_place(tensor.size, [&](const Place& at) { tensor.set(at, tensor.at(at) + 1); });
}

const std::vector<void*>& operations(const Descriptor& graph) { return graph.pointers.at(cudnn::kGraphOperations); }

/// What a graph is and costs.
struct Work {
  double products = 0, largest = 0, tokens = 1;
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
    const Place size = Tensor(op.at(cudnn::kProductC)).size;
    const auto inner = static_cast<double>(Tensor(op.at(cudnn::kProductA)).size[3]);
    const double product = static_cast<double>(size[0] * size[1] * size[2] * size[3]) * inner;
    out.products += product;
    out.largest = std::max(out.largest, product);
    out.tokens = static_cast<double>(size[2]);
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
  const double slower = 1 + (work.masked ? kHalfMasked : kHalf) / work.tokens;
  return advance(*stream, kAttentionStart_us + flops * slower / (work.backward ? kBackward : kForward)), 0;
}
#endif
}
