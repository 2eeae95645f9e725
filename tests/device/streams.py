"""Memory-bound kernels of networks in plain PyTorch on one device, by layout and format: the bytes that a kernel must move over its time.

    streams.py OUT [--only KERNEL,...] [--deadline S]
writes OUT/streams.csv: kernel, format, layout, shape, direction, bytes, time_us, GBps. Bytes are each
input and each result once, of the backward pass those of the forward one and the gradient of the result.
"""
import argparse
import csv
import pathlib
import time

import torch
import torch.nn.functional as F

from convolutions import timed

LAYOUTS = {"last": torch.channels_last, "first": torch.contiguous_format}
IMAGES = ((256, 64, 112), (256, 256, 56), (128, 512, 28), (128, 2048, 7))
TOKENS = ((131072, 768), (32768, 1024), (16384, 4096))


def works(function, x):
    """The forward pass, and both; and their bytes."""
    leaf = x.detach().requires_grad_()
    y = function(x)
    dy = torch.randn_like(y)
    size = x.numel() * x.element_size() + y.numel() * y.element_size()
    yield "fwd", size, lambda: function(x)
    yield "both", 2 * size + dy.numel() * dy.element_size(), lambda: torch.autograd.grad(function(leaf), leaf, dy)


def of_images(x):
    c = x.shape[1]
    gate = torch.ones(x.shape[0], c, 1, 1, device="cuda", dtype=x.dtype)
    mean, variance, weight, bias = torch.zeros(c, device="cuda"), *(torch.ones(c, device="cuda") for _ in range(3))
    yield "batch_norm", lambda x: F.batch_norm(x, mean, variance, weight, bias, training=True)
    yield "relu", F.relu
    yield "silu", F.silu
    yield "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1)
    yield "max_pool_2x2", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True)
    yield "average_pool", lambda x: F.avg_pool2d(x, 3, 1, 1)
    yield "average_pool_2x2", lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True)
    yield "mean", lambda x: x.mean((2, 3))
    yield "group_norm", lambda x: F.group_norm(x, 32, weight.to(x.dtype), bias.to(x.dtype))
    yield "add", lambda x: x + x.detach()
    yield "interpolate", lambda x: F.interpolate(x, scale_factor=2, mode="nearest")
    yield "interpolate_linearly", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")
    yield "pad", lambda x: F.pad(x, (1, 1, 1, 1))
    yield "slice", lambda x: x[..., 1:-1, 1:-1].contiguous()
    yield "hardswish", F.hardswish
    yield "leaky_relu", lambda x: F.leaky_relu(x, 0.1)
    yield "channel_scale", lambda x: x * gate
    yield "channel_sum", lambda x: x.sum((0, 2, 3))
    yield "concatenate", lambda x: torch.cat((x, x.detach()), 1)


def of_tokens(x):
    width = x.shape[-1]
    weight, bias = (torch.ones(width, device="cuda", dtype=x.dtype) for _ in range(2))
    yield "layer_norm", lambda x: F.layer_norm(x, (width,), weight, bias)
    yield "layer_norm_of_16_bit_in_fp32", lambda x: F.layer_norm(x.float(), (width,), weight.float(), bias.float())
    yield "gelu", F.gelu
    yield "dropout", lambda x: F.dropout(x, 0.1)
    yield "softmax", lambda x: F.softmax(x, -1)
    yield "add", lambda x: x + x.detach()
    yield "scale", lambda x: x * weight
    rows = x.shape[0] // 64
    yield "roll", lambda x: torch.roll(x.view(-1, 32, 32, width), (-3, -3), (1, 2))
    yield "windows", lambda x: x.view(rows // 64, 8, 8, 8, 8, width).permute(0, 1, 3, 2, 4, 5).contiguous()
    yield "heads", lambda x: x.view(rows, 64, width // 32, 32).transpose(1, 2).contiguous()
    yield "to_fp32", lambda x: x.float()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--only", default="", help="kernels, with commas between; default: all")
    arguments.add_argument("--deadline", type=float, default=1e9)
    options = arguments.parse_args()
    begin, only = time.monotonic(), options.only.split(",") if options.only else []
    with open(options.out / "streams.csv", "w") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["kernel", "format", "layout", "shape", "direction", "bytes", "time_us", "GBps"])

        def add(name, function, x, number, layout, shape):
            if only and name not in only:
                return
            try:
                for direction, size, work in works(function, x):
                    us = timed(work)
                    table.writerow([name, number, layout, shape, direction, size, f"{us:.2f}", f"{size / us / 1e3:.1f}"])
            except Exception as error:  # one that fails leaves the others their turn
                print(name, number, layout, shape, type(error).__name__, str(error)[:160], flush=True)
            file.flush()

        for number, kind in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
            for n, c, side in IMAGES:
                for layout, form in LAYOUTS.items():
                    x = torch.randn(n, c, side, side, device="cuda", dtype=kind).to(memory_format=form)
                    for name, function in of_images(x):
                        if time.monotonic() - begin < options.deadline:
                            add(name, function, x, number, layout, f"{n}x{c}x{side}x{side}")
                    torch.cuda.empty_cache()
            for rows, width in TOKENS:
                x = torch.randn(rows, width, device="cuda", dtype=kind)
                for name, function in of_tokens(x):
                    if time.monotonic() - begin < options.deadline:
                        add(name, function, x, number, "", f"{rows}x{width}")
                torch.cuda.empty_cache()
        print(f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
