"""Time of one core to read, decode and augment an image, as torchvision's reference scripts train on ImageNet.

    image_input.py OUT [--seconds S]
writes OUT/image_input.json: of pictures of ImageNet's mean size the file's bytes and the ms of each step, one process, one
thread. Its pictures are smooth with noise, so that a file has about 110 kB, ImageNet's mean.
"""
import argparse
import io
import json
import pathlib
import platform
import statistics
import time

import numpy
import torch
import torchvision.transforms as T
from PIL import Image


def picture(width, height, noise, seed):
    """A JPEG file of quality 95, as ImageNet's are."""
    rng = numpy.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 255, (12, 16, 3), dtype=numpy.uint8))
    smooth = numpy.asarray(coarse.resize((width, height), Image.BICUBIC), dtype=numpy.float32)
    pixels = numpy.clip(smooth + rng.normal(0, noise, smooth.shape), 0, 255).astype(numpy.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=95)
    return file.getvalue()


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--seconds", type=float, default=4)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    normalize = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    trained = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), normalize])
    evaluated = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), normalize])
    works = {
        "decode": lambda file: Image.open(io.BytesIO(file)).convert("RGB"),
        "train": lambda file: trained(Image.open(io.BytesIO(file)).convert("RGB")),
        "evaluate": lambda file: evaluated(Image.open(io.BytesIO(file)).convert("RGB")),
    }
    rows = []
    for width, height in ((500, 375), (1000, 750)):
        files = [picture(width, height, 12, seed) for seed in range(32)]
        for name, work in works.items():
            times, begin = [], time.monotonic()
            while time.monotonic() - begin < options.seconds:
                start = time.perf_counter()
                work(files[len(times) % len(files)])
                times.append(1e3 * (time.perf_counter() - start))
            rows.append({"width": width, "height": height, "work": name, "kB": statistics.mean(map(len, files)) / 1e3,
                         "ms": statistics.mean(times), "median_ms": statistics.median(times), "images": len(times)})
            print(rows[-1], flush=True)
    out = {"processor": processor(), "torchvision": __import__("torchvision").__version__,
           "pillow": __import__("PIL").__version__, "rows": rows}
    (options.out / "image_input.json").write_text(json.dumps(out, indent=1))
    print(out["processor"], flush=True)


if __name__ == "__main__":
    main()
