#include "tests/fuzz/command_target.hpp"

namespace stepcast {

const std::vector<CommandTarget>& command_targets() {
  static const std::vector<CommandTarget> targets{
      {"scenario",
       {"run", "FILE", "--fidelity", "analytic", "--json"},
       ".json",
       {"scenarios/gpt3-175b-a100-1024.json", "scenarios/resnet50-v100-8gpus.json",
        "scenarios/rental-cpu-server.json"}},
      {"nccl-topology", {"import", "nccl-topology", "FILE"}, ".xml", {"tests/data/imports/g5.48xl-topo.xml"}},
      {"nvidia-smi-topo", {"import", "nvidia-smi-topo", "FILE"}, ".txt", {"tests/data/imports/dgx-1v.topo.txt"}},
      {"slurm-topology",
       {"import", "slurm-topology", "FILE", "--node", "dgx-h100"},
       ".conf",
       {"tests/fuzz/corpus/slurm-topology/two-leaves.conf"}},
      {"astra-network", {"import", "astra-sim", "FILE"}, ".yml", {"tests/fuzz/corpus/astra-network/two-tiers.yml"}},
      {"chakra", {"import", "chakra", "FILE"}, ".et", {"tests/fuzz/corpus/chakra/step.0.et"}},
      {"huggingface",
       {"import", "huggingface", "FILE", "--model-only"},
       ".json",
       {"tests/fuzz/corpus/huggingface/moe.json"}},
      {"megatron", {"import", "megatron", "FILE"}, ".txt", {"tests/fuzz/corpus/megatron/gpt.txt"}},
      {"deepspeed", {"import", "deepspeed", "FILE"}, ".json", {"tests/fuzz/corpus/deepspeed/zero.json"}},
      {"kineto",
       {"import", "kineto", "FILE", "--graph", "OUT", "--node", "dgx-a100-80gb"},
       ".json",
       {"tests/fuzz/corpus/kineto/step.json"}},
      {"sweep-values",
       {"sweep", "scenarios/resnet50-v100-8gpus.json", "--values", "FILE", "--store", "/dev/null"},
       ".jsonl",
       {"tests/fuzz/corpus/sweep-values/two.jsonl"}},
      {"baseline",
       {"check", "--baseline", "FILE", "--fidelity", "analytic"},
       ".json",
       {"docs/examples/ci/baseline.json"}},
      {"measured-events",
       {"check", "scenarios/gpt3-175b-a100-1024.json", "--fidelity", "analytic", "--format", "tensorboard",
        "--measured", "FILE"},
       ".tfevents",
       {"tests/data/measured/events.out.tfevents.torchtitan"}},
      {"measured-runs", {"validate", "--file", "FILE"}, ".csv", {"calibration/data/megatron-published.csv"}},
  };
  return targets;
}

}  // namespace stepcast
