"""Products of experts on one device: many small ones at once, as mixtures of experts run them, beside one plain product of as many FLOPs.

    experts.py OUT [--deadline S]
writes OUT/experts.csv: experts, rows of each, in, out, direction, kernel, time_us, tflops. Kernels: plain (one product of all rows),
grouped (PyTorch's grouped kernel, 16 bit), grouped-fp8 (the same, scales by rows), loop (one product after another), streams (four
streams of them, as Transformer Engine issues them); and what tokens' permutation takes (index, scatter-add), in GB/s.
"""
import argparse
import csv
import pathlib
import time

import torch

from convolutions import timed

# DeepSeek-V3, Qwen3 235B and 30B, Mixtral 8x7B, gpt-oss: hidden size, size of an expert, experts on a device.
LAYERS = {"deepseek-v3": (7168, 2048, (4, 8, 32)), "qwen3-235b": (4096, 1536, (8, 16)), "qwen3-30b": (2048, 768, (8, 16, 128)),
          "mixtral-8x7b": (4096, 14336, (1, 8)), "gpt-oss": (2880, 2880, (4, 32))}
ROWS = (32, 128, 256, 512, 1024, 2048)
MOST_ROWS, STREAMS = 65536, 4


def bf16(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def on_streams(works, streams):
    main = torch.cuda.current_stream()
    for stream in streams:
        stream.wait_stream(main)
    for i, work in enumerate(works):
        with torch.cuda.stream(streams[i % len(streams)]):
            work()
    for stream in streams:
        main.wait_stream(stream)


def calls(experts, rows, k, n, direction):
    """Work of each kernel for `experts` products of [rows × k] and [k × n], or their gradients."""
    total = experts * rows
    ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * rows
    x, dy, w = bf16(total, k), bf16(total, n), bf16(experts, n, k)
    parts = [slice(e * rows, (e + 1) * rows) for e in range(experts)]
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    if direction == "fwd":
        out = bf16(total, n)
        yield "plain", lambda: torch.mm(x, w[0].t())
        yield "grouped", lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=ends)
        works = [lambda e=e, p=p: torch.mm(x[p], w[e].t(), out=out[p]) for e, p in enumerate(parts)]
        x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
        by_row, by_column = torch.ones(total, device="cuda"), torch.ones(experts, n, device="cuda")
        yield "grouped-fp8", lambda: torch._scaled_grouped_mm(x8, w8.transpose(1, 2), by_row, by_column, offs=ends,
                                                              out_dtype=torch.bfloat16)
    elif direction == "bwd-data":
        out = bf16(total, k)
        yield "plain", lambda: torch.mm(dy, w[0])
        yield "grouped", lambda: torch._grouped_mm(dy, w, offs=ends)
        works = [lambda e=e, p=p: torch.mm(dy[p], w[e], out=out[p]) for e, p in enumerate(parts)]
    else:
        out = bf16(experts, n, k)
        yield "plain", lambda: torch.mm(dy.t(), x)
        yield "grouped", lambda: torch._grouped_mm(dy.t(), x, offs=ends)
        works = [lambda e=e, p=p: torch.mm(dy[p].t(), x[p], out=out[e]) for e, p in enumerate(parts)]
    yield "loop", lambda: [work() for work in works]
    yield "streams", lambda: on_streams(works, streams)


def permutation(hidden, tokens, top_k):
    """Tokens copied to their experts' order, and brought back."""
    x, order = bf16(tokens, hidden), torch.randint(tokens, (tokens * top_k,), device="cuda")
    spread, out = bf16(tokens * top_k, hidden), torch.zeros(tokens, hidden, device="cuda", dtype=torch.bfloat16)
    scores = torch.rand(tokens, 256, device="cuda")
    yield "index", 2 * spread.numel() * 2, lambda: x[order]
    yield "scatter-add", 3 * spread.numel() * 2, lambda: out.index_add_(0, order, spread)
    yield "top-k", scores.numel() * 4, lambda: torch.topk(scores.softmax(-1), top_k)
    yield "sort", order.numel() * 8, lambda: torch.argsort(order)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--deadline", type=float, default=1e9)
    options = arguments.parse_args()
    begin = time.monotonic()
    with open(options.out / "experts.csv", "w") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["model", "experts", "rows", "k", "n", "direction", "kernel", "time_us", "tflops"])

        def add(kernel, work, *where, amount):
            try:
                us = timed(work)
                table.writerow([*where, kernel, f"{us:.2f}", f"{amount / us / 1e6:.3f}"])
            except Exception as error:  # one that this device has not leaves the others their turn
                print(where, kernel, type(error).__name__, str(error)[:160], flush=True)
            file.flush()

        for hidden, tokens, top_k in ((7168, 4096, 8), (2048, 8192, 8), (4096, 8192, 2)):
            for kernel, amount, work in permutation(hidden, tokens, top_k):
                add(kernel, work, "permutation", "", tokens * top_k, hidden, "", "", amount=amount * 1e3)
        for model, (hidden, size, counts) in LAYERS.items():
            for experts in counts:
                for rows in ROWS:
                    if experts * rows > MOST_ROWS:
                        continue
                    for k, n in ((hidden, 2 * size), (size, hidden)):
                        for direction in ("fwd", "bwd-data", "bwd-weights"):
                            if time.monotonic() - begin > options.deadline:
                                return
                            for kernel, work in calls(experts, rows, k, n, direction):
                                add(kernel, work, model, experts, rows, k, n, direction, amount=2 * experts * rows * k * n)
                torch.cuda.empty_cache()
            print(model, f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
