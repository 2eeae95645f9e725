"""Training steps of decoders under XLA on one device: their time, memory and power.

Parameters in fp32, products in bf16 or flax's delayed-scaled fp8, optax' AdamW, layers scanned, one compiled program a step.
Writes OUT/steps.json.
    jax_steps.py OUT [--only NAME,...] [--seconds S]
"""
import argparse
import functools
import json
import pathlib
import statistics
import time

import optax

from energy import Energy
from jax_layers import Layer, jax, jnp, nn

MODELS = {
    "gpt2": dict(layers=12, hidden=768, heads=12, kv_heads=12, ffn=3072, vocab=50304, gated=False),
    "gpt2-medium": dict(layers=24, hidden=1024, heads=16, kv_heads=16, ffn=4096, vocab=50304, gated=False),
    "gpt3-1.3b": dict(layers=24, hidden=2048, heads=16, kv_heads=16, ffn=8192, vocab=50304, gated=False),
    "llama3.2-1b": dict(layers=16, hidden=2048, heads=32, kv_heads=8, ffn=8192, vocab=128256, gated=True),
    "llama3.2-3b": dict(layers=28, hidden=3072, heads=24, kv_heads=8, ffn=8192, vocab=128256, gated=True),
}
SETTINGS = [("llama3.2-1b", 4096, 2, False, False), ("gpt2-medium", 1024, 16, False, False), ("gpt2", 1024, 8, False, False),
            ("gpt2", 256, 1, False, False), ("gpt3-1.3b", 2048, 4, False, False), ("llama3.2-1b", 4096, 2, True, False),
            ("llama3.2-3b", 4096, 2, False, False), ("llama3.2-3b", 4096, 4, False, True), ("llama3.2-3b", 4096, 4, True, True)]


class Decoder(nn.Module):
    model: dict
    fp8: bool
    recompute: bool

    @nn.compact
    def __call__(self, tokens):
        m = self.model
        table = self.param("embedding", nn.initializers.normal(0.02), (m["vocab"], m["hidden"]), jnp.float32)
        x = jnp.take(table.astype(jnp.bfloat16), tokens, axis=0)
        if not m["gated"]:
            x = x + self.param("positions", nn.initializers.normal(0.02), (tokens.shape[1], m["hidden"]), jnp.float32).astype(x.dtype)
        kind = nn.remat(Layer, prevent_cse=False) if self.recompute else Layer
        scanned = nn.scan(kind, variable_axes={"params": 0, "_overwrite_with_gradient": 0}, split_rngs={"params": True},
                          length=m["layers"])
        x, _ = scanned(m, self.fp8, name="layers")(x, None)
        x = (nn.RMSNorm if m["gated"] else nn.LayerNorm)(dtype=jnp.bfloat16, param_dtype=jnp.float32, name="norm")(x)
        head = self.param("head", nn.initializers.normal(0.02), table.shape, jnp.float32) if m["layers"] == 28 else table
        return jnp.einsum("bsh,vh->bsv", x, head.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


def name_of(model, seq_len, batch, fp8, recompute):
    return f"{model}-{seq_len}x{batch}" + ("-fp8" if fp8 else "") + ("-recompute" if recompute else "")


def measured(name, seq_len, batch, fp8, recompute, seconds, energy):
    net, optimizer = Decoder(MODELS[name], fp8, recompute), optax.adamw(1e-4)
    tokens = jax.random.randint(jax.random.key(1), (batch, seq_len + 1), 0, MODELS[name]["vocab"])
    scaled = "_overwrite_with_gradient"

    @jax.jit
    def start():
        variables = net.init(jax.random.key(0), tokens[:1, :128] if MODELS[name]["gated"] else tokens[:1, :-1])
        return variables["params"], variables.get(scaled, {}), optimizer.init(variables["params"])

    def loss(variables, tokens):
        logits = net.apply(variables, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(params, scales, state, tokens):
        value, gradients = jax.value_and_grad(loss)({"params": params, **({scaled: scales} if fp8 else {})}, tokens)
        changes, state = optimizer.update(gradients["params"], state, params)
        return optax.apply_updates(params, changes), gradients.get(scaled, {}), state, value

    begin = time.monotonic()
    state = start()
    for _ in range(4):
        *state, value = step(*state, tokens)
    value.block_until_ready()
    started_s = time.monotonic() - begin
    times, begin, begin_J = [], time.monotonic(), energy.read()
    ahead, last = [], time.monotonic()
    while time.monotonic() - begin < seconds or len(times) < 8:
        *state, value = step(*state, tokens)
        ahead.append(value)
        if len(ahead) > 1:  # the host runs one step ahead
            ahead.pop(0).block_until_ready()
            times.append(time.monotonic() - last)
            last = time.monotonic()
    value.block_until_ready()
    elapsed = time.monotonic() - begin
    power_W = energy.power(begin_J, elapsed)
    peak = jax.devices()[0].memory_stats()["peak_bytes_in_use"]
    return {"model": name, "seq_len": seq_len, "batch": batch, "fp8": fp8, "recompute": recompute, "start_s": started_s,
            "step_ms": 1e3 * statistics.median(times[2:]), "mean_step_ms": 1e3 * elapsed / (len(times) + 1),
            "power_W": power_W, "peak_in_use_GiB": peak / 2**30, "loss": float(value)}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seconds", type=float, default=2)
    options = arguments.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    energy, rows = Energy(), []
    for setting in SETTINGS:
        name = name_of(*setting)
        if options.only and name not in options.only.split(","):
            continue
        try:
            rows.append(measured(*setting, options.seconds, energy))
            print(f"{name}: {rows[-1]['step_ms']:.2f} ms, {rows[-1]['peak_in_use_GiB']:.2f} GiB, "
                  f"{rows[-1]['power_W'] or 0:.0f} W", flush=True)
        except Exception as error:  # one setting that does not fit leaves the others their turn
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        jax.clear_caches()
        machine = {"device": str(jax.devices()[0].device_kind), "jax": jax.__version__}
        (options.out / "steps.json").write_text(json.dumps({"machine": machine, "runs": rows}, indent=1))


if __name__ == "__main__":
    main()
