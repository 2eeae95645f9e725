#include "calibration/probes/cuda/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/cuda/cudnn_numbers.hpp"
#include "calibration/probes/cuda/operands.hpp"

namespace stepcast::probes {
namespace {

constexpr std::uint64_t kSaltQ = 3, kSaltK = 0x2545f491, kSaltV = 0x7f4a7c15, kSaltGradient = 0x51ed270b;

int type_of(const AttentionShape& shape) { return shape.precision == "fp16" ? kFloat16 : kBfloat16; }

struct Elements {
  std::size_t of_queries, of_keys, each_query;
};
Elements elements_of(const AttentionShape& s) {
  const auto rows = static_cast<std::size_t>(s.batch * s.tokens);
  const auto size = static_cast<std::size_t>(s.head_size);
  return {rows * static_cast<std::size_t>(s.heads) * size, rows * static_cast<std::size_t>(s.key_heads) * size,
          rows * static_cast<std::size_t>(s.heads)};
}

std::string words_of(const AttentionShape& s) {
  return "attention " + std::to_string(s.batch) + "×" + std::to_string(s.heads) + "×" + std::to_string(s.key_heads) +
         "×" + std::to_string(s.tokens) + "×" + std::to_string(s.head_size) + (s.causal ? ", causal," : "") + " in " +
         s.precision;
}

/// A sum whose terms were rounded to eight bits on the way.
struct RoundedSum {
  double sum = 0, squares = 0;
  void add(double term) {
    sum += term;
    squares += term * term;
  }
  void require(double found, const AttentionShape& shape, const char* what, std::size_t row, std::size_t at) const {
    const double rounding = std::abs(sum) / 64 + std::sqrt(squares) / 32 + 1e-3;
    if (std::abs(found - sum) <= rounding) return;
    throw check_failed(words_of(shape) + ": wrong data: " + what + " of token " + std::to_string(row) + ", element " +
                       std::to_string(at) + " is " + std::to_string(found) + ", expected " + std::to_string(sum));
  }
};

/// Kernels for a graph, the fastest by cuDNN's own estimate first.
std::vector<CudnnDescriptor> configurations_of(const Cudnn& library, const CudnnDescriptor& graph, int mode) {
  CudnnDescriptor heuristic(library, cudnn::kHeuristic);
  heuristic.set_descriptors(cudnn::kHeuristicGraph, {&graph});
  heuristic.set_choice(cudnn::kHeuristicModeOf, cudnn::kHeuristicModeValue, mode);
  heuristic.finish("choosing a kernel");
  std::vector<CudnnDescriptor> out;
  for (std::size_t i = heuristic.count(cudnn::kHeuristicResults); i > 0; --i)
    out.emplace_back(library, cudnn::kEngineConfig);
  const std::size_t found = heuristic.fill(cudnn::kHeuristicResults, out);
  while (out.size() > found) out.pop_back();
  return out;
}

/// The first of them that can be built.
CudnnDescriptor built_plan(const Cudnn& library, const CudnnDescriptor& graph) {
  std::string reason = "it offers none";
  const auto unless_unsupported = [&](const auto& work) {
    try {
      work();
      return true;
    } catch (const Fault& fault) {
      if (fault.code() != Exit::environment_missing) throw;
      reason = fault.what();
      return false;
    }
  };
  for (const int mode : {cudnn::kModeA, cudnn::kModeFallback}) {
    std::vector<CudnnDescriptor> configurations;
    unless_unsupported([&] { configurations = configurations_of(library, graph, mode); });
    for (const CudnnDescriptor& configuration : configurations) {
      CudnnDescriptor plan(library, cudnn::kPlan);
      plan.set_pointers(cudnn::kPlanHandle, cudnn::kHandleValue, {library.handle()});
      plan.set_descriptors(cudnn::kPlanConfig, {&configuration});
      if (unless_unsupported([&] { plan.finish("building a kernel"); })) return plan;
    }
  }
  throw missing("cuDNN " + library.version() + " has no kernel for it: " + reason);
}

}  // namespace

/// Scores of one query as probabilities.
struct AttentionData::Row {
  std::vector<double> probabilities;
  double statistics = 0;
};

AttentionData::AttentionData(const CudaDevice& device, const AttentionShape& shape)
    : shape_(shape),
      tokens_(static_cast<std::size_t>(shape.tokens)),
      size_(static_cast<std::size_t>(shape.head_size)),
      heads_(static_cast<std::size_t>(shape.heads)),
      key_heads_(static_cast<std::size_t>(shape.key_heads)),
      scale_(1 / std::sqrt(static_cast<double>(shape.head_size))) {
  const Elements elements = elements_of(shape);
  const auto make = [&](AttentionTensor which, std::size_t count, std::size_t bytes, std::uint64_t salt) {
    const auto made = buffers_.emplace(which, DeviceBuffer(device, count * bytes)).first;
    if (salt > 0) fill_operand(made->second, count, type_of(shape), bytes, salt);
  };
  using T = AttentionTensor;
  make(T::queries, elements.of_queries, 2, kSaltQ);
  make(T::keys, elements.of_keys, 2, kSaltK);
  make(T::values, elements.of_keys, 2, kSaltV);
  make(T::result_gradient, elements.of_queries, 2, kSaltGradient);
  make(T::result, elements.of_queries, 2, 0);
  make(T::statistics, elements.each_query, 4, 0);
  make(T::query_gradient, elements.of_queries, 2, 0);
  make(T::key_gradient, elements.of_keys, 2, 0);
  make(T::value_gradient, elements.of_keys, 2, 0);
  make(T::row_sums, elements.each_query, 4, 0);
  make(T::query_sums, elements.of_queries, 4, 0);
}

std::size_t AttentionData::bytes_of(const AttentionShape& shape) {
  const Elements elements = elements_of(shape);
  return elements.of_queries * (4 * 2 + 4) + elements.of_keys * 4 * 2 + elements.each_query * 2 * 4;
}

std::vector<double> AttentionData::read(AttentionTensor which, std::size_t first, std::size_t count) const {
  const bool whole = which == AttentionTensor::statistics;
  const std::size_t bytes = whole ? 4 : 2;
  std::vector<unsigned char> data(count * bytes);
  buffer(which).read(data.data(), data.size(), first * bytes);
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = number_of(&data[i * bytes], whole ? kFloat32 : type_of(shape_));
  return out;
}

AttentionData::Row AttentionData::row_of(std::size_t batch, std::size_t head, std::size_t query) const {
  const std::size_t at = ((batch * heads_ + head) * tokens_ + query) * size_;
  const std::size_t key_head = head / (heads_ / key_heads_);
  const std::size_t keys = shape_.causal ? query + 1 : tokens_;
  Row out;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t key = 0; key < keys; ++key) {
    const std::size_t other = ((batch * key_heads_ + key_head) * tokens_ + key) * size_;
    double score = 0;
    for (std::size_t i = 0; i < size_; ++i)
      score += static_cast<double>(datum(at + i, kSaltQ)) * datum(other + i, kSaltK);
    out.probabilities.push_back(score * scale_);
    largest = std::max(largest, out.probabilities.back());
  }
  double sum = 0;
  for (double& one : out.probabilities) sum += one = std::exp(one - largest);
  for (double& one : out.probabilities) one /= sum;
  out.statistics = largest + std::log(sum);
  return out;
}

void AttentionData::require_right_result() const {
  // Ends and a middle: a wrong layout or mask does not spare all of them.
  for (const std::size_t query : {std::size_t{0}, tokens_ / 3, tokens_ - 1})
    for (const std::size_t head : {std::size_t{0}, heads_ - 1}) {
      const std::size_t batch = query % static_cast<std::size_t>(shape_.batch);
      const std::size_t row = (batch * heads_ + head) * tokens_ + query;
      const std::size_t first_value = (batch * key_heads_ + head / (heads_ / key_heads_)) * tokens_ * size_;
      const Row expected = row_of(batch, head, query);
      const std::vector<double> found = read(AttentionTensor::result, row * size_, size_);
      for (std::size_t i = 0; i < size_; ++i) {
        RoundedSum sum;
        for (std::size_t key = 0; key < expected.probabilities.size(); ++key)
          sum.add(expected.probabilities[key] * datum(first_value + key * size_ + i, kSaltV));
        sum.require(found[i], shape_, "the result", query, i);
      }
      RoundedSum statistics;
      statistics.add(expected.statistics);
      statistics.require(read(AttentionTensor::statistics, row, 1)[0], shape_, "the statistics", query, 0);
    }
}

void AttentionData::require_query_gradient(std::size_t batch, std::size_t head, std::size_t query) const {
  const std::size_t row = ((batch * heads_ + head) * tokens_ + query) * size_;
  const std::size_t first_key = (batch * key_heads_ + head / (heads_ / key_heads_)) * tokens_ * size_;
  const Row expected = row_of(batch, head, query);
  const std::vector<double> result = read(AttentionTensor::result, row, size_);
  double of_query = 0;
  for (std::size_t i = 0; i < size_; ++i) of_query += result[i] * datum(row + i, kSaltGradient);
  std::vector<RoundedSum> sums(size_);
  for (std::size_t key = 0; key < expected.probabilities.size(); ++key) {
    double of_value = 0;
    for (std::size_t i = 0; i < size_; ++i)
      of_value += static_cast<double>(datum(row + i, kSaltGradient)) * datum(first_key + key * size_ + i, kSaltV);
    const double of_score = expected.probabilities[key] * (of_value - of_query) * scale_;
    for (std::size_t i = 0; i < size_; ++i) sums[i].add(of_score * datum(first_key + key * size_ + i, kSaltK));
  }
  const std::vector<double> found = read(AttentionTensor::query_gradient, row, size_);
  for (std::size_t i = 0; i < size_; ++i) sums[i].require(found[i], shape_, "the query gradient", query, i);
}

void AttentionData::require_key_gradients(std::size_t batch, std::size_t key_head, std::size_t key) const {
  const std::size_t key_row = ((batch * key_heads_ + key_head) * tokens_ + key) * size_;
  const std::size_t sharing = heads_ / key_heads_;
  std::vector<RoundedSum> of_key(size_), of_value(size_);
  for (std::size_t head = key_head * sharing; head < (key_head + 1) * sharing; ++head) {
    const std::size_t first = (batch * heads_ + head) * tokens_;
    const std::vector<double> statistics = read(AttentionTensor::statistics, first, tokens_);
    const std::vector<double> results = read(AttentionTensor::result, first * size_, tokens_ * size_);
    for (std::size_t query = shape_.causal ? key : 0; query < tokens_; ++query) {
      const std::size_t row = (first + query) * size_;
      double score = 0, of_query = 0, product = 0;
      for (std::size_t i = 0; i < size_; ++i) {
        const double gradient = datum(row + i, kSaltGradient);
        score += static_cast<double>(datum(row + i, kSaltQ)) * datum(key_row + i, kSaltK);
        of_query += results[query * size_ + i] * gradient;
        product += gradient * datum(key_row + i, kSaltV);
      }
      const double probability = std::exp(score * scale_ - statistics[query]);
      for (std::size_t i = 0; i < size_; ++i) {
        of_value[i].add(probability * datum(row + i, kSaltGradient));
        of_key[i].add(probability * (product - of_query) * scale_ * datum(row + i, kSaltQ));
      }
    }
  }
  const std::vector<double> keys = read(AttentionTensor::key_gradient, key_row, size_);
  const std::vector<double> values = read(AttentionTensor::value_gradient, key_row, size_);
  for (std::size_t i = 0; i < size_; ++i) {
    of_key[i].require(keys[i], shape_, "the key gradient", key, i);
    of_value[i].require(values[i], shape_, "the value gradient", key, i);
  }
}

void AttentionData::require_right_gradients() const {
  const std::size_t last = static_cast<std::size_t>(shape_.batch) - 1;
  require_query_gradient(0, 0, tokens_ / 3);
  require_query_gradient(last, heads_ - 1, tokens_ - 1);
  require_key_gradients(0, 0, tokens_ / 3);
  require_key_gradients(last, key_heads_ - 1, 0);
}

Attention::Attention(const Cudnn& library, const CudaDevice& device, const AttentionData& data, bool backward)
    : device_(device),
      data_(data),
      backward_(backward),
      graph_(library, data.shape(), backward),
      scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(data.shape().head_size)))),
      masked_(std::numeric_limits<float>::lowest()),

      plan_(built_plan(library, graph_.graph())),
      pack_(library, cudnn::kVariantPack) {
  std::vector<std::int64_t> numbers;
  std::vector<void*> pointers;
  for (const AttentionTensor which : graph_.tensors()) {
    numbers.push_back(static_cast<std::int64_t>(which));
    if (which == AttentionTensor::scale)
      pointers.push_back(&scale_);
    else if (which == AttentionTensor::kept)
      pointers.push_back(&kept_);
    else if (which == AttentionTensor::masked)
      pointers.push_back(&masked_);
    else
      pointers.push_back(data.buffer(which).pointer());
  }
  const auto bytes = static_cast<std::size_t>(plan_.integer(cudnn::kPlanWorkspace));
  if (bytes > 0) workspace_.emplace_back(device, bytes);
  pack_.set_integers(cudnn::kPackNumbers, numbers);
  pack_.set_pointers(cudnn::kPackPointers, cudnn::kPointerValue, pointers);
  pack_.set_pointers(cudnn::kPackWorkspace, cudnn::kPointerValue,
                     {workspace_.empty() ? nullptr : workspace_.front().pointer()});
  pack_.finish("naming the data of a run");
}

void Attention::run() const {
  if (backward_) {
    const CudaDriver& driver = device_.driver();
    const Elements elements = elements_of(data_.shape());
    driver.require(driver.call().set_async(data_.buffer(AttentionTensor::query_sums).address(), 0,
                                           elements.of_queries * 4, device_.stream()),
                   "setting device memory");
  }
  plan_.execute(pack_);
}

}  // namespace stepcast::probes
