"""Convolutions that convolutions.py has not: grouped, depthwise, dilated, transposed, of sequences and of volumes; each alone on one
device, forward and both gradients, with cuDNN's own choice of kernel among those it times.

    convolution_kinds.py OUT --device ID [--deadline S]
writes OUT/convolution-kinds.csv. Sizes are written as 56x56, outermost first.
"""
import argparse
import csv
import dataclasses
import math
import pathlib
import time

import torch

from convolutions import DIRECTIONS, source_of, timed

COLUMNS = ["accelerator_id", "precision", "layout", "kind", "n", "c", "image", "k", "window", "groups", "stride", "dilation", "direction",
           "time_us", "tflops", "source"]
LAST = {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}


@dataclasses.dataclass
class Shape:
    kind: str
    n: int
    c: int
    image: tuple
    k: int
    window: tuple
    groups: int = 1
    stride: int = 1
    dilation: int = 1

    @property
    def transposed(self):
        return self.kind == "transposed"


def grouped():
    """Bottlenecks of ResNeXt-50 32x4d, ResNeXt-101 32x8d and RegNetY-16GF (112 channels a group)."""
    for n, widths, groups in ((128, (128, 256, 512, 1024), 32), (64, (256, 512, 1024, 2048), 32)):
        for i, c in enumerate(widths):
            side = 56 >> i
            yield Shape("grouped", n, c, (side, side), c, (3, 3), groups)
            if i:
                yield Shape("grouped", n, c, (2 * side, 2 * side), c, (3, 3), groups, stride=2)
    for c, side in ((224, 56), (448, 28), (1232, 14)):
        yield Shape("grouped", 64, c, (side, side), c, (3, 3), c // 112)


def depthwise():
    """MobileNetV2, EfficientNet-B0, ConvNeXt-B, Xception."""
    layers = [(32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (384, 14, 3, 1), (576, 14, 3, 2),
              (960, 7, 3, 1), (144, 56, 5, 2), (240, 28, 5, 1), (672, 14, 5, 1), (1152, 7, 5, 1), (128, 56, 7, 1), (256, 28, 7, 1),
              (512, 14, 7, 1), (1024, 7, 7, 1), (128, 147, 3, 1), (728, 19, 3, 1)]
    for c, side, window, stride in layers:
        yield Shape("depthwise", 128, c, (side, side), c, (window, window), c, stride)


def dilated():
    """DeepLab v3 at 513 pixels: the last stage and its pyramid."""
    for c, k, dilation in ((256, 256, 2), (512, 512, 2), (512, 512, 4), (2048, 256, 6), (2048, 256, 12), (2048, 256, 18)):
        yield Shape("dilated", 16, c, (33, 33), k, (3, 3), dilation=dilation)


def transposed():
    """U-Net's and Mask R-CNN's doubling, DCGAN's and HiFi-GAN's."""
    for n, c, side, k, window in ((8, 1024, 28, 512, 2), (8, 512, 52, 256, 2), (8, 256, 100, 128, 2), (8, 128, 196, 64, 2),
                                  (400, 256, 14, 256, 2), (128, 512, 8, 256, 4), (128, 256, 16, 128, 4), (128, 128, 32, 64, 4)):
        yield Shape("transposed", n, c, (side, side), k, (window, window), stride=2)
    for c, length, stride in ((512, 32, 8), (256, 256, 8), (128, 2048, 2), (64, 4096, 2)):
        yield Shape("transposed", 16, c, (length,), c // 2, (2 * stride,), stride=stride)


def sequences():
    """WaveGlow (8,000 groups of samples), HiFi-GAN, Jasper, QuartzNet and FastPitch."""
    for dilation in (1, 2, 8, 32, 128):
        yield Shape("sequence", 8, 512, (2000,), 1024, (3,), dilation=dilation)
    for c, length, window, dilation in ((256, 256, 3, 1), (256, 256, 11, 5), (128, 2048, 7, 3), (64, 4096, 11, 5), (32, 8192, 3, 1)):
        yield Shape("sequence", 16, c, (length,), c, (window,), dilation=dilation)
    for c, window in ((256, 11), (384, 13), (512, 17), (640, 21), (768, 25)):
        yield Shape("sequence", 32, c, (800,), c, (window,))
    for c, k in ((384, 1536), (1536, 384)):
        yield Shape("sequence", 32, c, (800,), k, (3,))
    for c, window in ((256, 33), (256, 39), (512, 51), (512, 63), (512, 75)):
        yield Shape("depthwise", 32, c, (800,), c, (window,), c)


def volumes():
    """MLPerf's 3D U-Net on 128 x 128 x 128 voxels, V-Net, and videos (C3D, R(2+1)D)."""
    for c, k, side, stride in ((1, 32, 128, 1), (32, 32, 128, 1), (32, 64, 128, 2), (64, 64, 64, 1), (64, 128, 64, 2), (128, 128, 32, 1),
                               (128, 256, 32, 2), (256, 256, 16, 1), (256, 320, 16, 2), (320, 320, 8, 1), (320, 320, 4, 1),
                               (640, 320, 8, 1), (512, 256, 16, 1), (256, 128, 32, 1), (128, 64, 64, 1), (64, 32, 128, 1)):
        yield Shape("volume", 2, c, (side,) * 3, k, (3, 3, 3), stride=stride)
    for c, side in ((16, 64), (32, 32), (64, 16), (128, 8)):
        yield Shape("volume", 4, c, (side,) * 3, c, (5, 5, 5))
    for c, k, frames, side in ((64, 128, 16, 56), (256, 256, 8, 28), (512, 512, 4, 14)):
        yield Shape("volume", 16, c, (frames, side, side), k, (3, 3, 3))
    for width, inner, image in ((64, 144, (16, 56, 56)), (128, 288, (8, 28, 28))):
        yield Shape("volume", 16, width, image, inner, (1, 3, 3))
        yield Shape("volume", 16, inner, image, width, (3, 1, 1))


def measured(shape, number, layout):
    """Rows of one shape."""
    kind = torch.bfloat16 if number == "bf16" else torch.float32
    torch.backends.cudnn.allow_tf32 = number == "tf32"
    form = LAST[len(shape.image)] if layout == "last" else torch.contiguous_format
    x = torch.randn(shape.n, shape.c, *shape.image, device="cuda", dtype=kind).to(memory_format=form)
    filters = (shape.c, shape.k) if shape.transposed else (shape.k, shape.c // shape.groups)
    weight = torch.randn(*filters, *shape.window, device="cuda", dtype=kind).to(memory_format=form)
    dimensions = len(shape.image)
    if shape.transposed:
        padding = [(w - shape.stride) // 2 for w in shape.window]
    else:
        padding = [shape.dilation * (w - 1) // 2 for w in shape.window]
    geometry = ([shape.stride] * dimensions, padding, [shape.dilation] * dimensions, shape.transposed, [0] * dimensions, shape.groups)
    y = torch.ops.aten.convolution(x, weight, None, *geometry)
    dy = torch.randn_like(y)
    pixels = (x if shape.transposed else y).numel()
    flops = 2 * pixels * filters[1] * math.prod(shape.window)
    for direction, mask in DIRECTIONS.items():
        if mask is None:
            us = timed(lambda: torch.ops.aten.convolution(x, weight, None, *geometry))
        else:
            us = timed(lambda: torch.ops.aten.convolution_backward(dy, x, weight, None, *geometry, mask))
        size = ["x".join(map(str, part)) for part in (shape.image, shape.window)]
        yield [number, layout, shape.kind, shape.n, shape.c, size[0], shape.k, size[1], shape.groups, shape.stride, shape.dilation,
               direction, f"{us:.2f}", f"{flops / us / 1e6:.3f}", source_of(__file__)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--device", required=True, help="id of the catalogue")
    arguments.add_argument("--deadline", type=float, default=1e9)
    options = arguments.parse_args()
    torch.backends.cudnn.benchmark = True
    begin = time.monotonic()
    shapes = [shape for kind in (volumes, depthwise, grouped, dilated, transposed) for shape in kind()]
    both = [shape for shape in shapes if len(shape.image) > 1]
    rounds = (("bf16", "last", both), ("bf16", "first", [*sequences(), *transposed(), *volumes()]), ("tf32", "first", [*sequences(), *shapes]),
              ("tf32", "last", both))
    with open(options.out / "convolution-kinds.csv", "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for number, layout, these in rounds:
            for shape in these:
                if time.monotonic() - begin > options.deadline:
                    return
                try:
                    for row in measured(shape, number, layout):
                        writer.writerow([options.device, *row])
                except Exception as error:  # one that does not fit leaves the others their turn
                    print(shape, number, layout, type(error).__name__, str(error)[:200], flush=True)
                file.flush()
                torch.cuda.empty_cache()
            print(number, layout, f"{time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
