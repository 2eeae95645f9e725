"""Training steps of plain PyTorch on one device: their time, memory, power, and traces of the profiler.

Every model is trained as users' own code does it: parameters in fp32, automatic mixed precision in bf16, fused AdamW. Writes
OUT/steps.json, and OUT/traces/NAME.json.gz of the settings that --trace names; with --kernels each setting's kernels, how many
of each a step has and their time.
    train_steps.py OUT [--only NAME,...] [--trace NAME,...] [--kernels] [--seconds S] [--deadline S]
"""
import argparse
import dataclasses
import datetime
import gzip
import json
import pathlib
import shutil
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn, profiler
from torch.utils.checkpoint import checkpoint

from energy import Energy

WARM_UP, LEAST_STEPS, MOST_STEPS, TRACED = 4, 8, 400, 2


@dataclasses.dataclass
class Decoder:
    """A decoder as GPT-2 (learnt positions, LayerNorm, GELU) or as Llama 3 (rotary positions, RMSNorm, SwiGLU)."""
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    llama: bool


MODELS = {
    "gpt2": Decoder(12, 768, 12, 12, 3072, 50304, False),
    "gpt2-medium": Decoder(24, 1024, 16, 16, 4096, 50304, False),
    "gpt2-xl": Decoder(48, 1600, 25, 25, 6400, 50304, False),
    "gpt3-1.3b": Decoder(24, 2048, 16, 16, 8192, 50304, False),
    "llama3.2-1b": Decoder(16, 2048, 32, 8, 8192, 128256, True),
    "llama3.2-3b": Decoder(28, 3072, 24, 8, 8192, 128256, True),
}


def rotated(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


class Block(nn.Module):
    """One layer."""

    def __init__(self, m):
        super().__init__()
        self.m, self.size = m, m.hidden // m.heads
        norm = nn.RMSNorm if m.llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(m.hidden), norm(m.hidden)
        self.qkv = nn.Linear(m.hidden, (m.heads + 2 * m.kv_heads) * self.size, bias=not m.llama)
        self.out = nn.Linear(m.hidden, m.hidden, bias=not m.llama)
        self.up = nn.Linear(m.hidden, m.ffn, bias=not m.llama)
        self.gate = nn.Linear(m.hidden, m.ffn, bias=False) if m.llama else None
        self.down = nn.Linear(m.ffn, m.hidden, bias=not m.llama)

    def attention(self, x, cos, sin):
        b, s, _ = x.shape
        q, k, v = self.qkv(x).split([n * self.size for n in (self.m.heads, self.m.kv_heads, self.m.kv_heads)], dim=-1)
        q, k, v = (t.view(b, s, -1, self.size).transpose(1, 2) for t in (q, k, v))
        if self.m.llama:
            q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        shared = self.m.kv_heads != self.m.heads
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=shared)
        return self.out(y.transpose(1, 2).reshape(b, s, -1))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        h = self.norm2(x)
        h = F.silu(self.gate(h)) * self.up(h) if self.m.llama else F.gelu(self.up(h), approximate="tanh")
        return x + self.down(h)


class Language(nn.Module):
    """A decoder with its loss."""

    def __init__(self, m, seq_len, recompute):
        super().__init__()
        self.recompute = recompute
        self.embedding = nn.Embedding(m.vocab, m.hidden)
        self.positions = None if m.llama else nn.Embedding(seq_len, m.hidden)
        self.blocks = nn.ModuleList(Block(m) for _ in range(m.layers))
        self.norm = (nn.RMSNorm if m.llama else nn.LayerNorm)(m.hidden)
        self.head = nn.Linear(m.hidden, m.vocab, bias=False)
        if not (m.llama and m.layers > 16):
            self.head.weight = self.embedding.weight
        size = m.hidden // m.heads
        angles = torch.outer(torch.arange(seq_len), 500000.0 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
        self.register_buffer("cos", angles.cos().bfloat16())
        self.register_buffer("sin", angles.sin().bfloat16())

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight
        for block in self.blocks:
            if self.recompute:
                x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False)
            else:
                x = block(x, self.cos, self.sin)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def language(name, seq_len, batch, recompute=False):
    m = MODELS[name]
    model = Language(m, seq_len, recompute).cuda()
    tokens = torch.randint(m.vocab, (batch, seq_len + 1), device="cuda")
    return model, (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()), lambda f, data: f(*data)


def image(name, batch, channels_last=True):
    import torchvision
    model = getattr(torchvision.models, name)().cuda()
    images, labels = torch.randn(batch, 3, 224, 224, device="cuda"), torch.randint(1000, (batch,), device="cuda")
    if channels_last:
        model, images = model.to(memory_format=torch.channels_last), images.to(memory_format=torch.channels_last)
    return model, (images, labels), lambda f, data: F.cross_entropy(f(data[0]), data[1])


def bert(seq_len, batch, hidden=1024, layers=24, heads=16):
    import transformers
    config = transformers.BertConfig(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
                                     intermediate_size=4 * hidden, vocab_size=30522, attn_implementation="sdpa")
    model = transformers.BertForPreTraining(config).cuda()
    tokens = torch.randint(30522, (batch, seq_len), device="cuda")
    words = {"input_ids": tokens, "labels": tokens, "next_sentence_label": tokens[:, 0] % 2}
    return model, words, lambda f, data: f(**data).loss


def hugging_face(name, seq_len, batch, half, recompute):
    """Transformers' Llama; `half`: its weights, and so its gradients and AdamW's moments, are in bf16."""
    import transformers
    m = MODELS[name]
    config = transformers.LlamaConfig(
        vocab_size=m.vocab, hidden_size=m.hidden, intermediate_size=m.ffn, num_hidden_layers=m.layers,
        num_attention_heads=m.heads, num_key_value_heads=m.kv_heads, max_position_embeddings=8192, rope_theta=500000.0,
        tie_word_embeddings=m.layers <= 16, attn_implementation="sdpa", use_cache=False)
    torch.set_default_dtype(torch.bfloat16 if half else torch.float32)
    with torch.device("cuda"):
        model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    if recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    tokens = torch.randint(m.vocab, (batch, seq_len), device="cuda")
    return model, {"input_ids": tokens, "labels": tokens}, lambda f, data: f(**data).loss


@dataclasses.dataclass
class Setting:
    """One run: `work` makes a model, its data, and the function of both that gives the loss."""
    name: str
    model: str
    batch: int
    seq_len: int
    work: object
    precision: str = "bf16"
    compiled: bool = False
    recompute: bool = False
    optimizer: str = "adamw"
    compiled_blocks: bool = False  # `work` compiles the model's blocks, each for itself


def decoder(model, seq_len, batch, compiled=False, recompute=False):
    name = f"{model}-{seq_len}x{batch}" + ("-compiled" if compiled else "") + ("-recompute" if recompute else "")
    return Setting(name, model, batch, seq_len, lambda: language(model, seq_len, batch, recompute), "bf16", compiled, recompute)


def llama_of_hugging_face(seq_len, batch, half=False, recompute=False):
    name = f"hugging-face-llama3.2-1b-{seq_len}x{batch}" + ("-half" if half else "") + ("-recompute" if recompute else "")
    work = lambda: hugging_face("llama3.2-1b", seq_len, batch, half, recompute)
    return Setting(name, "llama3.2-1b", batch, seq_len, work, "half" if half else "bf16", recompute=recompute)


SETTINGS = [
    decoder("llama3.2-1b", 4096, 2), decoder("gpt2-medium", 1024, 16), decoder("gpt3-1.3b", 2048, 4),
    decoder("gpt2-xl", 1024, 8), decoder("llama3.2-3b", 4096, 2), decoder("llama3.2-1b", 8192, 1),
    decoder("llama3.2-3b", 4096, 4, recompute=True), decoder("gpt2", 256, 1), decoder("gpt2", 1024, 8),
    decoder("gpt2-medium", 1024, 4), decoder("gpt2-medium", 512, 2), decoder("llama3.2-1b", 1024, 1),
    Setting("resnet50-256", "resnet50", 256, 0, lambda: image("resnet50", 256)),
    Setting("resnet50-64", "resnet50", 64, 0, lambda: image("resnet50", 64)),
    Setting("resnet50-128-tf32", "resnet50", 128, 0, lambda: image("resnet50", 128, False), "tf32"),
    Setting("vgg16-128", "vgg16", 128, 0, lambda: image("vgg16", 128)),
    Setting("vit_l_16-64", "vit-l16", 64, 0, lambda: image("vit_l_16", 64, False)),
    Setting("bert-large-512x16", "bert-large", 16, 512, lambda: bert(512, 16)),
    Setting("bert-large-128x64", "bert-large", 64, 128, lambda: bert(128, 64)),
    decoder("gpt2-medium", 1024, 16, compiled=True), decoder("llama3.2-1b", 4096, 2, compiled=True),
    decoder("gpt2", 256, 1, compiled=True), decoder("gpt2", 1024, 8, compiled=True), decoder("gpt2-medium", 512, 2, compiled=True),
    decoder("gpt2-medium", 1024, 4, compiled=True), decoder("llama3.2-1b", 1024, 1, compiled=True),
    llama_of_hugging_face(4096, 2), llama_of_hugging_face(4096, 4, recompute=True), llama_of_hugging_face(4096, 2, half=True),
    llama_of_hugging_face(4096, 4, half=True, recompute=True),
]


def kernels_of(step):
    """Of each kernel of a step: how many there are, and their µs."""
    step()
    torch.cuda.synchronize()
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    found = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            count, us = found.get(event.name, (0, 0.0))
            found[event.name] = (count + 1, us + event.device_time_total)
    return {name[:160]: [count, round(us, 1)] for name, (count, us) in sorted(found.items(), key=lambda item: -item[1][1])}


def measured(setting, seconds, energy, traces, kernels):
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = setting.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    model, data, loss_of = setting.work()
    model.train()
    called = torch.compile(model) if setting.compiled else model
    trained = [p for p in model.parameters() if p.requires_grad]
    if setting.optimizer == "sgd":
        optimizer = torch.optim.SGD(trained, lr=1e-3, momentum=0.9, weight_decay=1e-4)
    else:
        optimizer = torch.optim.AdamW(trained, lr=1e-4, fused=True)

    def forward():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=setting.precision == "bf16"):
            return loss_of(called, data)

    def step():
        loss = forward()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    begin = time.monotonic()
    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    started_s = time.monotonic() - begin
    # How long the host takes to issue each part, the device being idle before.
    issue = {"forward_us": [], "backward_us": [], "optimizer_us": [], "device_forward_us": [], "device_backward_us": [],
             "device_optimizer_us": []}

    def part(name, work):
        torch.cuda.synchronize()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        begin = time.monotonic()
        events[0].record()
        out = work()
        events[1].record()
        issue[f"{name}_us"].append(1e6 * (time.monotonic() - begin))
        torch.cuda.synchronize()
        issue[f"device_{name}_us"].append(1e3 * events[0].elapsed_time(events[1]))
        return out

    for _ in range(4):
        loss = part("forward", forward)
        part("backward", loss.backward)
        part("optimizer", optimizer.step)
        optimizer.zero_grad(set_to_none=True)
        del loss
    times, clocks = [], []
    begin_J, begin = energy.read(), time.monotonic()
    marks = [torch.cuda.Event(enable_timing=True)]
    marks[0].record()
    while len(times) < MOST_STEPS and (len(times) < LEAST_STEPS or time.monotonic() - begin < seconds):
        loss = step()
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()
        if len(marks) > 2:  # the host runs one step ahead
            marks[-2].synchronize()
            clocks.append(energy.clock())
        times.append(0.0)
    torch.cuda.synchronize()
    elapsed = time.monotonic() - begin
    mean_power_W = energy.power(begin_J, elapsed)
    times = [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]
    out = {"name": setting.name, "model": setting.model, "batch": setting.batch, "seq_len": setting.seq_len,
           "precision": setting.precision, "compiled": setting.compiled or setting.compiled_blocks, "recompute": setting.recompute,
           "parameters": sum(p.numel() for p in model.parameters()), "loss": float(loss), "start_s": started_s,
           "step_ms": statistics.median(times), "mean_step_ms": 1e3 * elapsed / len(times), "steps_ms": times[:40],
           "steps": len(times), "peak_allocated_GiB": torch.cuda.max_memory_allocated() / 2**30,
           "peak_reserved_GiB": torch.cuda.max_memory_reserved() / 2**30,
           "mean_power_W": mean_power_W,
           "mean_sm_clock_MHz": statistics.mean(clocks) if clocks and clocks[0] else None,
           "parts": {name: statistics.median(values) for name, values in issue.items()}}
    if kernels:
        out["kernels"] = kernels_of(step)
    if traces is not None:
        file = traces / f"{setting.name}.json"
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA], record_shapes=True,
                              schedule=profiler.schedule(wait=0, warmup=2, active=TRACED),
                              on_trace_ready=lambda p: p.export_chrome_trace(str(file))) as profile:
            for _ in range(2 + TRACED):
                step()
                torch.cuda.synchronize()
                profile.step()
        with open(file, "rb") as plain, gzip.open(f"{file}.gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        file.unlink()
    return out


def machine():
    """What the figures were measured on, and when."""
    return {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")}


def run(settings, description, file, seconds):
    """Measures what the command line names of `settings`, all without names, and writes OUT/`file`."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--trace", default="")
    arguments.add_argument("--kernels", action="store_true")
    arguments.add_argument("--seconds", type=float, default=seconds)
    arguments.add_argument("--deadline", type=float, default=1e9, help="no setting begins later than this many seconds")
    options = arguments.parse_args()
    traces = options.out / "traces"
    traces.mkdir(parents=True, exist_ok=True)
    begin, energy, rows, failed = time.monotonic(), Energy(), [], []
    by_name = {setting.name: setting for setting in settings}
    for setting in map(by_name.__getitem__, options.only.split(",") if options.only else by_name):
        if time.monotonic() - begin > options.deadline:
            break
        try:
            rows.append(measured(setting, options.seconds, energy,
                                 traces if setting.name in options.trace.split(",") else None, options.kernels))
            print(f"{setting.name}: {rows[-1]['step_ms']:.2f} ms, {rows[-1]['peak_allocated_GiB']:.2f} GiB, "
                  f"{rows[-1]['mean_power_W'] or 0:.0f} W", flush=True)
        except Exception as error:  # one setting that does not fit leaves the others their turn
            failed.append(setting.name)
            print(f"{setting.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        torch._dynamo.reset()
        (options.out / file).write_text(json.dumps({"machine": machine(), "runs": rows, "failed": failed}, indent=1))


if __name__ == "__main__":
    run(SETTINGS, __doc__, "steps.json", 3)
