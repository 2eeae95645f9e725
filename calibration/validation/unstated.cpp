#include "calibration/validation/unstated.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "models/estimate.hpp"
#include "models/memory/memory.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

constexpr std::array kFrameworks{
    // The generation behind VIA-Research/vTrain's measurements: GPT in fp16 with every layer recomputed; Megatron pads
    // GPT-2's vocabulary to 51,200 for 8-way tensor parallelism.
    FrameworkDefaults{"Megatron-DeepSpeed", "megatron-deepspeed", "fp16", "full", 51200},
    // Narayanan et al. 2021 and Korthikanti et al. 2022 state everything but the format, which is fp16 in both.
    FrameworkDefaults{"Megatron-LM (2021)", "megatron-lm-2021", "fp16", "full"},
    FrameworkDefaults{"pytorch-fsdp (Composer)", "pytorch-fsdp", "bf16", "none"},
    // MooreThreads/SimuMax, docs/b200: bf16, no recomputation, sequences of 4,096 unless a name says otherwise.
    FrameworkDefaults{"Megatron-LM (Megatron-Core)", "megatron-lm", "bf16", "none", 0, 4096, true},
    // NVIDIA's recipes on Megatron-Core: sequence parallelism with tensor parallelism (NeMo and Megatron-Bridge docs).
    FrameworkDefaults{"NeMo (Megatron-Core)", "megatron-lm", "bf16", "none", 0, 0, true},
    FrameworkDefaults{"Megatron-Bridge (Megatron-Core)", "megatron-lm", "bf16", "none", 0, 0, true},
    FrameworkDefaults{"InternEvo", "internevo", "bf16", "none"},
    FrameworkDefaults{"torchtitan (FSDP2)", "pytorch-fsdp", "bf16", "per-operator", 0, 0, true},
    FrameworkDefaults{"PyTorch FSDP + compile", "pytorch-fsdp", "bf16", "none"},
    FrameworkDefaults{"MaxText (JAX)", "jax", "bf16", "full"},
};

constexpr int kLargestMicroBatch = 64;  // beyond it a transformer's products gain nothing on any GPU

}  // namespace

const FrameworkDefaults* find_defaults(std::string_view framework) {
  for (const FrameworkDefaults& entry : kFrameworks)
    if (entry.name == framework) return &entry;
  return nullptr;
}

const FrameworkDefaults& defaults_of(std::string_view framework) {
  if (const FrameworkDefaults* entry = find_defaults(framework)) return *entry;
  throw std::logic_error(fmt::format("no defaults of framework {}", framework));
}

void settle_micro_batch(MeasuredRun& run, const Catalog& catalog) {
  const std::string file = run.id;
  Json best = run.scenario;
  best["strategy"]["micro_batch"] = 1;
  std::optional<Seconds> fastest;
  for (int size = 1; size <= kLargestMicroBatch; size *= 2) {
    Json candidate = best;
    candidate["strategy"]["micro_batch"] = size;
    // What does not divide a replica's share is refused, and so is what leaves an interleaved schedule too few.
    try {
      const Scenario scenario = resolve(candidate, file, {}, catalog);
      const Job job = lower(scenario);
      if (!memory_of(job).fits) break;
      const Seconds time = estimate(job).step_time;
      if (fastest && !(time < *fastest)) continue;
      fastest = time;
      best = std::move(candidate);
    } catch (const InputError&) {
      break;
    }
  }
  run.scenario = std::move(best);
}

}  // namespace stepcast
