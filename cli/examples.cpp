#include "cli/examples.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <string>

namespace stepcast {

namespace {

constexpr std::array kExamples{
    CommandExamples{"stepcast",
                    "stepcast run scenarios/gpt3-175b-a100-1024.json\n"
                    "stepcast run --model llama3-70b --node dgx-h100 --nodes 8 --write-scenario my.json\n"
                    "stepcast scale scenarios/gpt3-175b-a100-1024.json --nodes 16,32..128 --svg scaling.svg\n"},
    CommandExamples{"stepcast run",
                    "stepcast run scenarios/gpt3-175b-a100-1024.json\n"
                    "stepcast run --model llama3-70b --node dgx-h100 --nodes 8 --write-scenario my.json\n"
                    "stepcast run scenarios/llama3-70b-h100-512.json --set strategy.micro_batch=2 --trace step.json\n"
                    "stepcast run scenarios/llama3-70b-h100-512.json --html report.html\n"},
    CommandExamples{"stepcast explain", "stepcast explain scenarios/llama3-70b-h100-512.json\n"},
    CommandExamples{"stepcast compare",
                    "stepcast compare scenarios/llama3-70b-h100-512.json --set strategy.micro_batch=2\n"
                    "stepcast compare before.json after.json --html difference.html\n"
                    "stepcast compare scenarios/resnet50-v100-8gpus.json trace.json.gz\n"},
    CommandExamples{"stepcast scale",
                    "stepcast scale scenarios/gpt3-175b-a100-1024.json --nodes 16,32..128 --svg scaling.svg\n"},
    CommandExamples{"stepcast scenario check", "stepcast scenario check my.json scenarios/gpt3-175b-a100-1024.json\n"},
    CommandExamples{"stepcast scenario schema", "stepcast scenario schema > scenario.schema.json\n"},
    CommandExamples{"stepcast catalog list", "stepcast catalog list nodes\n"},
    CommandExamples{"stepcast catalog show", "stepcast catalog show dgx-h100\n"},
    CommandExamples{"stepcast catalog validate", "stepcast catalog validate our-catalog/nodes/our-server.json\n"},
    CommandExamples{"stepcast catalog schema", "stepcast catalog schema nodes\n"},
    CommandExamples{"stepcast models list", "stepcast models list\n"},
    CommandExamples{"stepcast models show", "stepcast models show llama3-70b\n"},
    CommandExamples{"stepcast frameworks list", "stepcast frameworks list\n"},
    CommandExamples{"stepcast frameworks show", "stepcast frameworks show megatron-lm\n"},
    CommandExamples{"stepcast validate",
                    "stepcast validate --set b200-single-node\n"
                    "stepcast validate --file my-runs.csv --html > validation.html\n"},
    CommandExamples{"stepcast fabric show",
                    "stepcast fabric show --node dgx-h100 --nodes 2048 --preset fat-tree-3 --oversubscription 2\n"
                    "stepcast fabric show scenarios/llama3-405b-h100-16384.json\n"},
    CommandExamples{"stepcast fabric check", "stepcast fabric check scenarios/llama3-405b-h100-16384.json\n"},
    CommandExamples{"stepcast fabric export",
                    "stepcast fabric export --node dgx-h100 --nodes 8 --preset rail-optimized --format graphviz\n"},
    CommandExamples{"stepcast share",
                    "stepcast share scenarios/resnet50-v100-8nodes.json scenarios/bert-large-16nodes.json --mixing "
                    "interleaved\n"},
    CommandExamples{"stepcast plan",
                    "stepcast plan scenarios/plan-llama3-8b-deadline.json\n"
                    "stepcast plan scenarios/plan-turing-530b-5128.json --top 3 -o chosen\n"},
    CommandExamples{"stepcast systems", "stepcast systems\n"},
    CommandExamples{"stepcast goodput", "stepcast goodput scenarios/llama3-405b-run.json\n"},
    CommandExamples{"stepcast study", "stepcast study scenarios/power-optimisation.json\n"},
    CommandExamples{
        "stepcast collective",
        "stepcast collective --op all_reduce --sizes 1K:16G --ranks 64 --cluster dgx-h100\n"
        "stepcast collective --op all_gather --sizes 64M --ranks 1024 --cluster dgx-a100-80gb --flows full --plot "
        "all-gather.svg\n"
        "stepcast collective --op all_reduce --sizes 1K:64M --ranks 64 --cluster single-gpu-star --library gloo\n"},
    CommandExamples{"stepcast import nccl-topology",
                    "stepcast import nccl-topology topo.xml -o mine/nodes/ours.json\n"},
    CommandExamples{"stepcast import nvidia-smi-topo",
                    "stepcast import nvidia-smi-topo topo.txt -o mine/nodes/ours.json\n"},
    CommandExamples{"stepcast import slurm-topology",
                    "stepcast import slurm-topology topology.conf --node dgx-h100 -o fabric.json\n"},
    CommandExamples{"stepcast import astra-sim",
                    "stepcast import astra-sim network.yml system.json workload.txt -o out/\n"},
    CommandExamples{"stepcast import chakra",
                    "stepcast import chakra job.0.et job.1.et --process-groups groups.json -o step.json\n"},
    CommandExamples{"stepcast import huggingface",
                    "stepcast import huggingface config.json --node dgx-a100-80gb --nodes 4 -o llama.json\n"},
    CommandExamples{"stepcast import onnx", "stepcast import onnx network.onnx --node dgx-a100-80gb -o network.json\n"},
    CommandExamples{"stepcast import megatron", "stepcast import megatron train.sh --node dgx-h100 -o gpt3.json\n"},
    CommandExamples{"stepcast import kineto",
                    "stepcast import kineto rank0.json.gz -o results.json --graph step.json --node dgx-a100-80gb\n"},
    CommandExamples{"stepcast import deepspeed",
                    "stepcast import deepspeed ds_config.json --model llama3-8b --nodes 1 -o ds.json\n"},
    CommandExamples{"stepcast import accelerate",
                    "stepcast import accelerate default_config.yaml --model-config config.json -o fsdp.json\n"},
    CommandExamples{"stepcast import torchtitan",
                    "stepcast import torchtitan llama3_70b.toml --nodes 32 -o titan.json\n"},
    CommandExamples{"stepcast import nccl-tests",
                    "stepcast import nccl-tests all_reduce.txt all_reduce.json -o nccl.json\n"},
    CommandExamples{"stepcast import osu",
                    "stepcast import osu allgather.txt --ranks 16 --ranks-per-node 8 -o osu.json\n"},
    CommandExamples{"stepcast import imb", "stepcast import imb imb.txt --ranks-per-node 8 -o imb.json\n"},
    CommandExamples{"stepcast import ucc", "stepcast import ucc ucc.txt --ranks 16 --ranks-per-node 8 -o ucc.json\n"},
    CommandExamples{"stepcast import fio", "stepcast import fio job.json -o storage.json\n"},
    CommandExamples{"stepcast import nvidia-smi", "stepcast import nvidia-smi power.csv -o power.json\n"},
    CommandExamples{"stepcast import dcgm", "stepcast import dcgm dmon.txt -o power.json\n"},
    CommandExamples{"stepcast import prometheus", "stepcast import prometheus range.json -o power.json\n"},
    CommandExamples{"stepcast import ipmi", "stepcast import ipmi power.csv -o power.json\n"},
    CommandExamples{"stepcast serve", "stepcast serve --stdio < requests.jsonl > replies.jsonl\n"},
    CommandExamples{"stepcast completion", "stepcast completion bash\n"},
    CommandExamples{"stepcast manual", "stepcast manual man1\n"},
    CommandExamples{
        "stepcast sweep",
        "stepcast sweep scenarios/gpt3-175b-a100-1024.json --set strategy.micro_batch=1,2,4 --set "
        "cluster.nodes=64..256*2 --store gpt3.sqlite\n"
        "stepcast sweep my.json --values points.csv --store /shared/my.sqlite --executor slurm --partition cpu\n"},
    CommandExamples{"stepcast sweep export", "stepcast sweep export gpt3.sqlite --csv -o gpt3.csv\n"},
    CommandExamples{"stepcast sweep show",
                    "stepcast sweep show gpt3.sqlite --by energy.per_sample_J --smallest --top 2\n"},
    CommandExamples{"stepcast check",
                    "stepcast check --baseline baseline.json --update scenarios/gpt3-175b-a100-1024.json\n"
                    "stepcast check --baseline baseline.json --junit report.xml --markdown summary.md\n"
                    "stepcast check scenarios/gpt3-175b-a100-1024.json --measured megatron.log\n"},
    CommandExamples{"stepcast calibrate fit",
                    "stepcast calibrate fit results/*.json --node dgx-h100 -o cluster.calib.json\n"},
    CommandExamples{
        "stepcast calibrate step",
        "stepcast calibrate step scenarios/gpt3-175b-a100-1024.json --step-time 32s -o software.calib.json\n"},
    CommandExamples{"stepcast calibrate report", "stepcast calibrate report cluster.calib.json -o report.html\n"},
    CommandExamples{"stepcast calibrate check", "stepcast calibrate check --steps\n"},
};

std::string indented(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    out += fmt::format("  {}", lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return out;
}

/// `inherited`: what the command above had under its help when this one was made.
void add_to(CLI::App& command, const std::string& path, const std::string& inherited) {
  const std::string footer = command.get_footer();
  for (CLI::App* below : command.get_subcommands({}))
    add_to(*below, fmt::format("{} {}", path, below->get_name()), footer);
  std::string examples;
  for (const CommandExamples& e : kExamples)
    if (e.command == path) examples = "Examples:\n" + indented(e.lines);
  command.footer(examples + (footer == inherited ? "" : footer));
}

}  // namespace

std::span<const CommandExamples> command_examples() { return kExamples; }

void add_examples(CLI::App& program) { add_to(program, "stepcast", ""); }

}  // namespace stepcast
