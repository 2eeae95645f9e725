"""Convolutions alone on one device, forward and both gradients, with cuDNN's own choice of kernel among those it times.

Reads the shapes of a table in the columns of calibration/data/operators-conv.csv, and writes OUT/convolutions.csv in those columns.
    convolutions.py OUT SHAPES.csv [--formats bf16-nhwc,tf32-nchw,...] [--deadline S]
"""
import argparse
import csv
import pathlib
import statistics
import time

import torch

COLUMNS = ["accelerator_id", "precision", "n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w", "direction",
           "time_us", "tflops", "algorithm", "source"]
SHAPE = COLUMNS[2:13]
DIRECTIONS = {"fwd": None, "bwd-data": [True, False, False], "bwd-weights": [False, True, False]}
REPEATS, LEAST_s = 8, 0.02


def source_of(file):
    """What a table of timings calls the script that made it."""
    return "stepcast:tests/device/" + pathlib.Path(file).name


def timed(work):
    """Median µs of `work` in a graph that repeats it, so that no host is waited for."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPEATS):
            work()
    times, spent = [], 0.0
    while spent < LEAST_s or len(times) < 3:
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        graph.replay()
        b.record()
        b.synchronize()
        spent += a.elapsed_time(b) / 1e3
        times.append(1e3 * a.elapsed_time(b) / REPEATS)
    return statistics.median(times)


def measured(shape, number, layout):
    """Rows of one shape."""
    n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w = shape
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(number, torch.float32)
    torch.backends.cudnn.allow_tf32 = number == "tf32"
    form = torch.channels_last if layout == "nhwc" else torch.contiguous_format
    x = torch.randn(n, c, h, w, device="cuda", dtype=kind).to(memory_format=form)
    weight = torch.randn(k, c, r, s, device="cuda", dtype=kind).to(memory_format=form)
    geometry = ([stride_h, stride_w], [pad_h, pad_w], [1, 1], False, [0, 0], 1)
    y = torch.ops.aten.convolution(x, weight, None, *geometry)
    dy = torch.randn_like(y)
    flops = 2 * y.numel() * c * r * s
    for direction, mask in DIRECTIONS.items():
        if mask is None:
            us = timed(lambda: torch.ops.aten.convolution(x, weight, None, *geometry))
        else:
            us = timed(lambda: torch.ops.aten.convolution_backward(dy, x, weight, None, *geometry, mask))
        yield [*shape, direction, f"{us:.2f}", f"{flops / us / 1e6:.2f}", f"cudnn {layout.upper()}", source_of(__file__)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("shapes", type=pathlib.Path)
    arguments.add_argument("--formats", default="bf16-nhwc,tf32-nchw")
    arguments.add_argument("--device", required=True, help="id of the catalogue")
    arguments.add_argument("--deadline", type=float, default=1e9)
    options = arguments.parse_args()
    torch.backends.cudnn.benchmark = True
    with open(options.shapes) as table:
        shapes = sorted({tuple(int(row[column]) for column in SHAPE) for row in csv.DictReader(table)})
    begin = time.monotonic()
    with open(options.out / "convolutions.csv", "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for format_ in options.formats.split(","):
            number, layout = format_.split("-")
            for shape in shapes:
                if time.monotonic() - begin > options.deadline:
                    return
                try:
                    for row in measured(shape, number, layout):
                        writer.writerow([options.device, number, *row])
                except Exception as error:  # one that does not fit leaves the others their turn
                    print(shape, format_, type(error).__name__, str(error)[:200], flush=True)
                file.flush()
                torch.cuda.empty_cache()
            print(format_, f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
