"""Layers of a decoder under XLA on one device: time of forward, backward and recomputation, in 16 and 8 bit.

A step is the gradient of L equal layers, parameters in fp32 that products read in bf16 or as flax's delayed-scaled fp8; two values
of L give the time of one layer. `--gradient zero` multiplies the loss by nothing, as training on constant text ends.
Writes OUT/layers.json.
    jax_layers.py OUT [--seconds S]
"""
import argparse
import collections
import functools
import glob
import gzip
import json
import os
import pathlib
import time

os.environ.setdefault("XLA_FLAGS", "--xla_gpu_enable_latency_hiding_scheduler=true --xla_gpu_enable_triton_gemm=false")
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.94")

import jax
import jax.numpy as jnp
from flax import linen as nn
from jax.ad_checkpoint import checkpoint_name

from energy import Energy

MODELS = {"llama3-70b": dict(hidden=8192, heads=64, kv_heads=8, ffn=28672, gated=True, seq_len=8192, batch=2),
          "llama3-8b": dict(hidden=4096, heads=32, kv_heads=8, ffn=14336, gated=True, seq_len=8192, batch=2),
          "gpt3-175b": dict(hidden=12288, heads=96, kv_heads=96, ffn=49152, gated=False, seq_len=2048, batch=2)}


def rotated(x):
    half = x.shape[-1] // 2
    angles = jnp.outer(jnp.arange(x.shape[1]), 500000.0 ** (-jnp.arange(half) / half))[:, None, :]
    cos, sin = jnp.cos(angles).astype(x.dtype), jnp.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)


class Layer(nn.Module):
    model: dict
    fp8: bool

    @nn.compact
    def __call__(self, x, _):
        m, size = self.model, self.model["hidden"] // self.model["heads"]

        def dense(name, width, y):
            kind = nn.Fp8DotGeneralOp if self.fp8 else None
            return nn.Dense(width, use_bias=not m["gated"], dtype=jnp.bfloat16, param_dtype=jnp.float32, name=name,
                            dot_general_cls=kind)(y)

        def norm(name, y):
            kind = functools.partial(nn.RMSNorm, epsilon=1e-5) if m["gated"] else nn.LayerNorm
            return kind(dtype=jnp.bfloat16, param_dtype=jnp.float32, name=name)(y)

        b, s, h = x.shape
        y = norm("norm1", x)
        q = checkpoint_name(dense("q", h, y), "qkv").reshape(b, s, m["heads"], size)
        k = checkpoint_name(dense("k", m["kv_heads"] * size, y), "qkv").reshape(b, s, m["kv_heads"], size)
        v = checkpoint_name(dense("v", m["kv_heads"] * size, y), "qkv").reshape(b, s, m["kv_heads"], size)
        if m["gated"]:
            q, k = rotated(q), rotated(k)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="cudnn")
        x = x + dense("out", h, y.reshape(b, s, h))
        y = norm("norm2", x)
        up = dense("up", m["ffn"], y)
        y = nn.silu(dense("gate", m["ffn"], y)) * up if m["gated"] else nn.gelu(up)
        return x + dense("down", h, y), None


def layers(model, count, fp8, recompute):
    kind = Layer
    if recompute == "full":
        kind = nn.remat(Layer, prevent_cse=False)
    elif recompute == "save_qkv":
        kind = nn.remat(Layer, prevent_cse=False, policy=jax.checkpoint_policies.save_only_these_names("qkv"))
    return nn.scan(kind, variable_axes={"params": 0, "_overwrite_with_gradient": 0}, split_rngs={"params": True},
                   length=count)(MODELS[model], fp8)


def kernels(step, state, out):
    """Time of each kernel in a step, in µs, from the profiler."""
    where = f"{out}/trace"
    with jax.profiler.trace(where, create_perfetto_trace=False):
        for _ in range(2):
            state = step(*state)
        jax.block_until_ready(state)
    times = collections.Counter()
    for file in glob.glob(f"{where}/**/*.trace.json.gz", recursive=True):
        events = json.load(gzip.open(file))["traceEvents"]
        devices = {e["pid"] for e in events if e.get("name") == "process_name" and "GPU" in e["args"]["name"]}
        streams = {(e["pid"], e["tid"]) for e in events
                   if e.get("name") == "thread_name" and e["pid"] in devices and e["args"]["name"].startswith("Stream")}
        for e in events:
            if e.get("ph") == "X" and (e["pid"], e["tid"]) in streams:
                times[e["name"]] += e["dur"] / 2
        os.remove(file)
    return state, times.most_common(30)


def measured(model, fp8, recompute, gradient, count, seconds, energy, out):
    m = MODELS[model]
    net = layers(model, count, fp8, recompute)
    x = jax.random.normal(jax.random.key(1), (m["batch"], m["seq_len"], m["hidden"]), jnp.bfloat16)
    pull = jax.random.normal(jax.random.key(2), x.shape, jnp.bfloat16) * (0 if gradient == "zero" else 1)
    variables = jax.jit(lambda: net.init(jax.random.key(0), x[:1, :128], None))()

    def loss(variables, x, pull):
        y, _ = net.apply(variables, x, None)
        return (y.astype(jnp.float32) * pull).mean()

    scaled = "_overwrite_with_gradient"  # flax: the new history of amax comes as the gradient of the old one

    @functools.partial(jax.jit, donate_argnums=(1, 2), keep_unused=True)
    def gradient_of(params, scales, old, x, pull):
        gradients = jax.grad(loss)({"params": params, **({scaled: scales} if fp8 else {})}, x, pull)
        return gradients.get(scaled, {}), gradients["params"]

    params = variables["params"]

    def step(scales, old):
        return gradient_of(params, scales, old, x, pull)

    state = (variables.get(scaled, {}), jax.tree.map(jnp.zeros_like, params))
    begin = time.monotonic()
    for _ in range(3):
        state = step(*state)
    jax.block_until_ready(state)
    started_s = time.monotonic() - begin
    steps, begin, begin_J, clocks = 0, time.monotonic(), energy.read(), []
    while time.monotonic() - begin < seconds:
        for _ in range(2):
            state = step(*state)
        jax.block_until_ready(state)
        clocks.append(energy.clock())
        steps += 2
    elapsed = time.monotonic() - begin
    power_W = energy.power(begin_J, elapsed)
    state, names = kernels(step, state, out)
    return {"model": model, "fp8": fp8, "recompute": recompute, "gradient": gradient, "layers": count, "start_s": started_s,
            "step_ms": 1e3 * elapsed / steps, "power_W": power_W, "sm_clock_MHz": clocks[len(clocks) // 2],
            "kernels_us": names}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--seconds", type=float, default=2.5)
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    energy, rows = Energy(), []
    for model, fp8, recompute, gradient, count in [
            ("llama3-70b", True, "save_qkv", "random", 4), ("llama3-70b", False, "save_qkv", "random", 4),
            ("llama3-70b", True, "save_qkv", "zero", 4), ("llama3-70b", True, "save_qkv", "random", 2),
            ("gpt3-175b", True, "full", "random", 2), ("gpt3-175b", False, "full", "random", 2),
            ("llama3-8b", True, "none", "random", 4), ("llama3-8b", False, "none", "random", 4),
            ("llama3-70b", False, "save_qkv", "zero", 4)]:
        try:
            rows.append(measured(model, fp8, recompute, gradient, count, options.seconds, energy, options.out))
            row = rows[-1]
            print(f"{model} fp8={fp8} {recompute} {gradient} L={count}: {row['step_ms']:.2f} ms {row['power_W'] or 0:.0f} W "
                  f"{row['sm_clock_MHz'] or 0:.0f} MHz (start {row['start_s']:.0f} s)", flush=True)
        except Exception as error:  # one setting that does not fit leaves the others their turn
            print(f"{model} {fp8} {count}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        jax.clear_caches()
        machine = {"device": str(jax.devices()[0]), "jax": jax.__version__}
        (options.out / "layers.json").write_text(json.dumps({"machine": machine, "runs": rows}, indent=1))


if __name__ == "__main__":
    main()
