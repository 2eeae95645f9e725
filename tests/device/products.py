"""Power and time of repeated matrix products on one device: by what their operands hold, and by format.

    products.py OUT [--seconds S] [--layers]
writes OUT/products.csv: m, n, k, format, what the weights and the activations hold, time_us, power_W over the run.
"""
import argparse
import csv
import pathlib
import time

import torch

from energy import Energy

DEEP = [(4097, 768, 65536), (2561, 2048, 65536), (4097, 3584, 65536), (2816, 6144, 65536), (3072, 65536, 65536),
        (3073, 768, 51200), (16384, 2560, 51200), (2817, 51200, 51200), (4096, 2048, 12288)]
GRID = [(m, n, k) for k in (1024, 4096, 16384) for m in (512, 2048, 8192) for n in (2048, 8192)]
# Llama 3 70B whole and on four tensor-parallel ranks, 8B whole, GPT-3 175B on four.
LAYERS = [(8192, 10240, 8192), (8192, 57344, 8192), (8192, 8192, 28672), (4096, 2560, 8192), (4096, 8192, 2048),
          (4096, 14336, 8192), (4096, 8192, 7168), (8192, 28672, 4096), (8192, 4096, 14336), (8192, 6144, 4096),
          (2048, 12288, 12288), (2048, 12288, 3072)]
# 8-bit products as layers call them: forward with fast sums, gradients (e5m2) with sums split.
FORMATS = {"bf16": (torch.bfloat16, None), "fp8": (torch.float8_e4m3fn, True), "fp8-gradient": (torch.float8_e5m2, False),
           "fp8-rows": (torch.float8_e4m3fn, True), "fp8-blocks": (torch.float8_e4m3fn, False)}
BLOCK = 128


def filled(kind, *shape):
    make = {"random": torch.randn, "zero": torch.zeros, "uninitialised": torch.empty}[kind]
    return make(*shape, dtype=torch.bfloat16, device="cuda")


def call_of(x, w, form):
    left, fast = FORMATS[form]
    if fast is None:
        return lambda: torch.mm(x, w.t())
    x8, w8, one = x.to(left), w.to(torch.float8_e4m3fn), torch.ones((), device="cuda")
    if form == "fp8-rows":
        by_row, by_column = torch.ones(x.shape[0], 1, device="cuda"), torch.ones(1, w.shape[0], device="cuda")
        return lambda: torch._scaled_mm(x8, w8.t(), scale_a=by_row, scale_b=by_column, out_dtype=torch.bfloat16, use_fast_accum=fast)
    if form == "fp8-blocks":  # activations by 1 x 128, weights by 128 x 128, outer dimension first
        by_piece = torch.ones(x.shape[1] // BLOCK, x.shape[0], device="cuda").t()
        by_square = torch.ones(w.shape[0] // BLOCK, w.shape[1] // BLOCK, device="cuda").t()
        return lambda: torch._scaled_mm(x8, w8.t(), scale_a=by_piece, scale_b=by_square, out_dtype=torch.bfloat16)
    return lambda: torch._scaled_mm(x8, w8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)


def sustained(call, batch, seconds, energy):
    """Microseconds of one call and the board's power, after half a second of the same."""
    for run_s in (0.5, seconds):
        torch.cuda.synchronize()
        begin, begin_J, count = time.monotonic(), energy.read(), 0
        while time.monotonic() - begin < run_s:
            for _ in range(batch):
                call()
            torch.cuda.synchronize()
            count += batch
        elapsed = time.monotonic() - begin
    return 1e6 * elapsed / count, energy.power(begin_J, elapsed)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--seconds", type=float, default=1.2)
    arguments.add_argument("--layers", action="store_true", help="only products of layers, by format")
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    energy = Energy()
    runs = []
    if not options.layers:
        runs += [(s, "bf16", w, a) for s in DEEP for w, a in (("random", "random"), ("zero", "random"), ("random", "zero"))]
        runs += [(s, "bf16", "random", "random") for s in GRID]
    runs += [(s, form, "random", "random") for s in LAYERS for form in FORMATS]
    with open(options.out / "products.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["m", "n", "k", "format", "weights", "activations", "time_us", "power_W"])
        for (m, n, k), form, weights, activations in runs:
            try:
                call = call_of(filled(activations, m, k), filled(weights, n, k), form)
                time_us, power_W = sustained(call, max(1, int(2e13 / (2 * m * n * k))), options.seconds, energy)
            except (RuntimeError, ValueError) as error:  # a format that this device or release has not
                print(m, n, k, form, type(error).__name__, str(error)[:160], flush=True)
                continue
            table.writerow([m, n, k, form, weights, activations, f"{time_us:.2f}", f"{power_W or 0:.1f}"])
            file.flush()
            print(m, n, k, form, weights, activations, f"{time_us:.1f} us {power_W or 0:.0f} W", flush=True)
            del call
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
