"""A data-parallel step of PyTorch over gloo, traced by its profiler, and gloo's all_reduce by itself.

Started once for each rank by mpirun. Computation is small beside timed pauses, which stand for an accelerator: ranks that
share few cores then compute as fast whatever their number, and communication has the processors, as it has on a cluster.
Writes OUT/rank<N>.json, a profiler trace, and on rank 0 OUT/sums.json, times of all_reduce as results of a probe
(docs/formats/probe-results.md), and OUT/steps.json, lengths of the traced steps and of as many without a profiler, in ms.
    train_torch.py OUT ADDRESS PORT
"""
import datetime
import json
import os
import pathlib
import platform
import sys
import time

import torch
from torch import distributed, nn, profiler

WIDTH, LAYERS, BATCH = 256, 6, 8
FORWARD_S, BACKWARD_S = 0.004, 0.008  # of a layer
STEPS, WARM_UP = 8, 3
SIZES = [2**power for power in range(14, 22)]
SAMPLES = 7


def summed(size):
    """Times of all_reduce of so many bytes, in us; wrong sums end the program."""
    world = distributed.get_world_size()
    samples = []
    for _ in range(SAMPLES + 1):
        data = torch.full((size // 4,), float(distributed.get_rank()))
        distributed.barrier()
        begin = time.monotonic()
        distributed.all_reduce(data)
        taken = torch.tensor([1e6 * (time.monotonic() - begin)])
        if not bool((data == world * (world - 1) / 2).all()):
            sys.exit(f"wrong sum of {size} bytes")
        distributed.all_reduce(taken, op=distributed.ReduceOp.MAX)
        samples.append(float(taken))
    return samples[1:]


def sums(world):
    """Results of all_reduce alone."""
    rows = [
        {"kind": "collective", "op": "all_reduce", "size_bytes": size, "ranks": world, "nodes": world, "ranks_per_node": 1,
         "in_place": True, "algorithm": "auto", "protocol": "auto", "data_type": "float32", "samples_us": summed(size),
         "across_ranks": "max", "checked": True}
        for size in SIZES
    ]
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"format_version": 1, "probe": "torch-gloo", "tool_version": "0", "host": platform.node(), "date": date,
            "command": sys.argv, "versions": {"torch": torch.__version__, "kernel": platform.release()}, "clocks": {},
            "environment": {"hosts": [f"node{rank}" for rank in range(world)]}, "warnings": [], "results": rows}


class Paused(torch.autograd.Function):
    """The identity after a pause, in both directions."""

    @staticmethod
    def forward(_, data):
        time.sleep(FORWARD_S)
        return data.view_as(data)

    @staticmethod
    def backward(_, gradient):
        time.sleep(BACKWARD_S)
        return gradient


class Layer(nn.Linear):
    """A layer with its activation, as slow as a large one."""

    def forward(self, data):
        return Paused.apply(nn.functional.relu(super().forward(data)))


class Training:
    """A multi-layer perceptron, its gradients in buckets of half a megabyte."""

    def __init__(self):
        torch.manual_seed(1)
        layers = nn.Sequential(*(Layer(WIDTH, WIDTH) for _ in range(LAYERS)))
        self.model = nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.5)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.inputs, self.targets = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def step(self):
        """One step; its length in ms."""
        begin = time.monotonic()
        self.optimizer.zero_grad(set_to_none=False)
        nn.functional.mse_loss(self.model(self.inputs), self.targets).backward()
        self.optimizer.step()
        return 1e3 * (time.monotonic() - begin)


def main(out, address, port):
    """All of it, on one rank."""
    rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=world)
    folder = pathlib.Path(out)
    alone = sums(world)
    training = Training()
    plain = [training.step() for _ in range(WARM_UP + STEPS)][WARM_UP:]
    traced = []
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU],
                          schedule=profiler.schedule(wait=0, warmup=WARM_UP, active=STEPS),
                          on_trace_ready=lambda p: p.export_chrome_trace(str(folder / f"rank{rank}.json"))) as profile:
        for _ in range(WARM_UP + STEPS):
            traced.append(training.step())
            profile.step()
    if rank == 0:
        (folder / "sums.json").write_text(json.dumps(alone))
        (folder / "steps.json").write_text(json.dumps({"traced_ms": traced[WARM_UP:], "plain_ms": plain}))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
