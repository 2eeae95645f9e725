#include <algorithm>
#include <memory>

#include "calibration/probes/common/fault.hpp"
#include "calibration/probes/cuda/cublas_lt.hpp"
#include "calibration/probes/nccl/collectives.hpp"

namespace stepcast::probes {
namespace {

/// Samples of one piece of work while another is under way on its own streams: half as much again of the other is
/// enqueued with each call, so that it neither ends early nor piles up.
NcclMeasured beside(Ranks& ranks, const std::vector<LocalRank>& on, int samples, const std::function<void()>& work,
                    double work_us, const std::function<void()>& other, double other_us,
                    const std::vector<LocalRank>& other_on) {
  double owed_us = 0;
  NcclMeasured out = measure_on(ranks, on, samples, [&] {
    owed_us += 1.5 * work_us;
    while (owed_us > 0) {
      other();
      owed_us -= other_us;
    }
    work();
  });
  ranks.wait(other_on);
  return out;
}

double middle(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

Json row_of(const Ranks& ranks, const char* what, std::int64_t size) {
  return {{"kind", "overlap"},
          {"what", what},
          {"op", "all_reduce"},
          {"size_bytes", size},
          {"ranks", ranks.size()},
          {"nodes", ranks.hosts().size()},
          {"ranks_per_node", ranks.ranks_per_node()}};
}

void two_collectives(Ranks& ranks, const NcclCall& call, int samples, ResultFile& file) {
  std::vector<LocalRank> second = ranks.second();
  const NcclCall other(ranks, "all_reduce", call.size_bytes(), false);
  other.fill();
  const auto first_work = [&] { call.run(ranks.local()); };
  const auto second_work = [&] { other.run(second); };
  const NcclMeasured alone = measure_on(ranks, ranks.local(), samples, first_work);
  const NcclMeasured other_alone = measure_on(ranks, second, samples, second_work);
  const double a = middle(alone.samples_us), b = middle(other_alone.samples_us);
  const NcclMeasured together = beside(ranks, ranks.local(), samples, first_work, a, second_work, b, second);
  const NcclMeasured other_together = beside(ranks, second, samples, second_work, b, first_work, a, ranks.local());
  ranks.wait(ranks.local());
  Json row = row_of(ranks, "two_collectives", call.size_bytes());
  row["collective_alone_us"] = samples_json(alone.samples_us);
  row["collective_together_us"] = samples_json(together.samples_us);
  row["other_alone_us"] = samples_json(other_alone.samples_us);
  row["other_together_us"] = samples_json(other_together.samples_us);
  file.add(std::move(row));
  ranks.leave(second);
}

void beside_gemm(Ranks& ranks, const NcclCall& call, int samples, ResultFile& file) {
  const CublasLt library;
  const GemmShape shape{4096, 4096, 4096, ranks.local()[0].device->capability() >= 80 ? "bf16" : "fp32"};
  std::vector<std::unique_ptr<Gemm>> products;
  std::vector<LocalRank> streams = ranks.local();
  for (LocalRank& rank : streams) {
    rank.device->use();
    rank.stream = rank.device->new_stream();
    products.push_back(std::make_unique<Gemm>(library, *rank.device, shape));
  }
  const auto multiply = [&] {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams[i].device->use();
      products[i]->run(streams[i].stream);
    }
  };
  const auto reduce = [&] { call.run(ranks.local()); };
  const NcclMeasured alone = measure_on(ranks, ranks.local(), samples, reduce);
  const NcclMeasured product = measure_on(ranks, streams, samples, multiply);
  const double a = middle(alone.samples_us), b = middle(product.samples_us);
  const NcclMeasured together = beside(ranks, ranks.local(), samples, reduce, a, multiply, b, streams);
  const NcclMeasured product_together = beside(ranks, streams, samples, multiply, b, reduce, a, ranks.local());
  Json row = row_of(ranks, "collective_beside_gemm", call.size_bytes());
  row["gemm"] = {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}, {"precision", shape.precision}};
  row["collective_alone_us"] = samples_json(alone.samples_us);
  row["collective_together_us"] = samples_json(together.samples_us);
  row["other_alone_us"] = samples_json(product.samples_us);
  row["other_together_us"] = samples_json(product_together.samples_us);
  file.add(std::move(row));
}

}  // namespace

void probe_nccl_overlap(Ranks& ranks, std::int64_t size_bytes, int samples, ResultFile& file) {
  const NcclCall call(ranks, "all_reduce", size_bytes, false);
  call.fill();
  two_collectives(ranks, call, samples, file);
  try {
    beside_gemm(ranks, call, samples, file);
  } catch (const Fault& fault) {
    if (fault.code() != Exit::environment_missing) throw;
    file.warn(std::string("no collective beside a matrix product: ") + fault.what());
  }
}

}  // namespace stepcast::probes
