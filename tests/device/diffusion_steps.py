"""Training steps of diffusion models in plain PyTorch on one device: transformers (DiT, Stable Diffusion 3, FLUX.1 of fewer
blocks, Wan 2.1) and Stable Diffusion 2's U-Net. Latents and texts are stored, so no encoder runs.

Every model is trained as users' own code does it (train_steps.py). Writes OUT/diffusion.json.
    diffusion_steps.py OUT [--only NAME,...] [--trace NAME,...] [--seconds S] [--deadline S]
"""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from train_steps import Setting, rotated, run

TIME_FEATURES = 256


def scaled(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


def rotations(tokens, size):
    angles = torch.outer(torch.arange(tokens), 10000.0 ** (-torch.arange(0, size, 2) / size)).repeat(1, 2)
    return angles.cos().bfloat16().cuda(), angles.sin().bfloat16().cuda()


def heads_of(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def mlp(width, inner):
    return nn.Sequential(nn.Linear(width, inner), nn.GELU(approximate="tanh"), nn.Linear(inner, width))


class Stream(nn.Module):
    """One stream of a block with joint attention: its norms, vectors, and products around the attention."""

    def __init__(self, h, heads, qk_norm):
        super().__init__()
        self.heads = heads
        self.vectors = nn.Linear(h, 6 * h)
        self.norm1, self.norm2 = (nn.LayerNorm(h, elementwise_affine=False) for _ in range(2))
        self.qkv, self.out, self.mlp = nn.Linear(h, 3 * h), nn.Linear(h, h), mlp(h, 4 * h)
        self.q_norm, self.k_norm = (nn.RMSNorm(h // heads) if qk_norm else nn.Identity() for _ in range(2))

    def before(self, x, c):
        shift, scale, *rest = self.vectors(F.silu(c)).chunk(6, dim=-1)
        q, k, v = (heads_of(t, self.heads) for t in self.qkv(scaled(self.norm1(x), shift, scale)).chunk(3, dim=-1))
        return self.q_norm(q), self.k_norm(k), v, rest

    def after(self, x, y, rest):
        gate1, shift, scale, gate2 = rest
        x = x + gate1.unsqueeze(1) * self.out(y)
        return x + gate2.unsqueeze(1) * self.mlp(scaled(self.norm2(x), shift, scale))


class TwoStreams(nn.Module):
    """MM-DiT (Esser et al. 2024): text and latent attend in one sequence, with weights of their own."""

    def __init__(self, h, heads, qk_norm):
        super().__init__()
        self.latent, self.text = Stream(h, heads, qk_norm), Stream(h, heads, qk_norm)

    def forward(self, x, text, c, rope):
        a, b = self.text.before(text, c), self.latent.before(x, c)
        q, k, v = (torch.cat(pair, dim=2) for pair in zip(a[:3], b[:3]))
        if rope is not None:
            q, k = rotated(q, *rope), rotated(k, *rope)
        y = joined(F.scaled_dot_product_attention(q, k, v))
        n = text.shape[1]
        return self.latent.after(x, y[:, n:], b[3]), self.text.after(text, y[:, :n], a[3])


class OneStream(nn.Module):
    """FLUX.1's later blocks: attention and MLP side by side on one norm."""

    def __init__(self, h, heads):
        super().__init__()
        self.h, self.heads = h, heads
        self.vectors, self.norm = nn.Linear(h, 3 * h), nn.LayerNorm(h, elementwise_affine=False)
        self.first, self.second = nn.Linear(h, 7 * h), nn.Linear(5 * h, h)
        self.q_norm, self.k_norm = nn.RMSNorm(h // heads), nn.RMSNorm(h // heads)

    def forward(self, x, c, rope):
        shift, scale, gate = self.vectors(F.silu(c)).chunk(3, dim=-1)
        qkv, inner = self.first(scaled(self.norm(x), shift, scale)).split([3 * self.h, 4 * self.h], dim=-1)
        q, k, v = (heads_of(t, self.heads) for t in qkv.chunk(3, dim=-1))
        q, k = rotated(self.q_norm(q), *rope), rotated(self.k_norm(k), *rope)
        y = joined(F.scaled_dot_product_attention(q, k, v))
        return x + gate.unsqueeze(1) * self.second(torch.cat((y, F.gelu(inner, approximate="tanh")), dim=-1))


class ClassBlock(nn.Module):
    """DiT (Peebles & Xie 2022): vectors of the class and the time, no text."""

    def __init__(self, h, heads):
        super().__init__()
        self.stream = Stream(h, heads, False)

    def forward(self, x, c):
        q, k, v, rest = self.stream.before(x, c)
        return self.stream.after(x, joined(F.scaled_dot_product_attention(q, k, v)), rest)


class CrossBlock(nn.Module):
    """Wan 2.1: self-attention, attention to the text, MLP; one projection of the time for all blocks, and a table of each."""

    def __init__(self, h, heads, inner):
        super().__init__()
        self.heads = heads
        self.table = nn.Parameter(torch.zeros(6, h))
        self.norm1, self.norm2 = (nn.LayerNorm(h, elementwise_affine=False) for _ in range(2))
        self.norm3 = nn.LayerNorm(h)
        self.q, self.k, self.v, self.out, self.q2, self.k2, self.v2, self.out2 = (nn.Linear(h, h) for _ in range(8))
        self.q_norm, self.k_norm, self.q2_norm, self.k2_norm = (nn.RMSNorm(h) for _ in range(4))
        self.mlp = mlp(h, inner)

    def forward(self, x, text, vectors, rope):
        shift1, scale1, gate1, shift2, scale2, gate2 = (vectors + self.table).unbind(1)
        y = scaled(self.norm1(x), shift1, scale1)
        q, k, v = (heads_of(t, self.heads) for t in (self.q_norm(self.q(y)), self.k_norm(self.k(y)), self.v(y)))
        y = F.scaled_dot_product_attention(rotated(q, *rope), rotated(k, *rope), v)
        x = x + gate1.unsqueeze(1) * self.out(joined(y))
        q = heads_of(self.q2_norm(self.q2(self.norm3(x))), self.heads)
        k, v = heads_of(self.k2_norm(self.k2(text)), self.heads), heads_of(self.v2(text), self.heads)
        x = x + self.out2(joined(F.scaled_dot_product_attention(q, k, v)))
        return x + gate2.unsqueeze(1) * self.mlp(scaled(self.norm2(x), shift2, scale2))


class Diffusion(nn.Module):
    """What is about the blocks of all: patches, text and time in, the patches' error out. `kinds` are counts of blocks."""

    def __init__(self, h, heads, patch, tokens, text=None, two=0, one=0, classes=0, cross=0, inner=0, qk_norm=True, rope=True,
                 recompute=False, compiled_blocks=False):
        super().__init__()
        self.recompute = recompute
        self.patches, self.time = nn.Linear(patch, h), nn.Sequential(nn.Linear(TIME_FEATURES, h), nn.SiLU(), nn.Linear(h, h))
        self.text = None if text is None else nn.Linear(text[1], h)
        self.label = nn.Embedding(1001, h) if classes else None
        self.shared = nn.Linear(h, 6 * h) if cross else None
        make = [lambda: TwoStreams(h, heads, qk_norm)] * two + [lambda: OneStream(h, heads)] * one
        make += [lambda: ClassBlock(h, heads)] * classes + [lambda: CrossBlock(h, heads, inner)] * cross
        self.blocks = nn.ModuleList(m() for m in make)
        if compiled_blocks:
            for block in self.blocks:
                block.compile()
        self.norm, self.last, self.out = nn.LayerNorm(h, elementwise_affine=False), nn.Linear(h, 2 * h), nn.Linear(h, patch)
        seen = tokens if cross or text is None else tokens + text[0]
        self.rope = rotations(seen, h // heads) if rope else None

    def block(self, block, *inputs):
        return checkpoint(block, *inputs, use_reentrant=False) if self.recompute else block(*inputs)

    def forward(self, latent, noise, time_features, text, label):
        x, c = self.patches(latent + noise), self.time(time_features)
        if self.label is not None:
            c = c + self.label(label)
        text = self.text(text) if self.text is not None else None
        vectors = self.shared(F.silu(c)).view(x.shape[0], 6, -1) if self.shared is not None else None
        merged = False
        for block in self.blocks:
            if isinstance(block, TwoStreams):
                x, text = self.block(block, x, text, c, self.rope)
            elif isinstance(block, OneStream):
                x, merged = x if merged else torch.cat((text, x), dim=1), True
                x = self.block(block, x, c, self.rope)
            elif isinstance(block, CrossBlock):
                x = self.block(block, x, text, vectors, self.rope)
            else:
                x = self.block(block, x, c)
        if merged:
            x = x[:, text.shape[1]:]
        shift, scale = self.last(F.silu(c)).chunk(2, dim=-1)
        return F.mse_loss(self.out(scaled(self.norm(x), shift, scale)).float(), noise)


def transformer(batch, h, heads, patch, tokens, text=None, **more):
    def work():
        model = Diffusion(h, heads, patch, tokens, text, **more).cuda()
        latent, noise = (torch.randn(batch, tokens, patch, device="cuda") for _ in range(2))
        words = torch.randn(batch, *text, device="cuda", dtype=torch.bfloat16) if text else None
        data = (latent, noise, torch.randn(batch, TIME_FEATURES, device="cuda"), words, torch.randint(1000, (batch,), device="cuda"))
        return model, data, lambda f, d: f(*d)
    return work


class Residual(nn.Module):
    def __init__(self, before, after, time_width):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, before), nn.Conv2d(before, after, 3, padding=1)
        self.time = nn.Linear(time_width, after)
        self.norm2, self.conv2 = nn.GroupNorm(32, after), nn.Conv2d(after, after, 3, padding=1)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x, c, text):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(c))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class Attended(nn.Module):
    """A transformer block over the pixels of a U-Net's level: attention, attention to the text, GEGLU."""

    def __init__(self, h, text_width, size=64):
        super().__init__()
        self.heads = h // size
        self.group, self.enter, self.leave = nn.GroupNorm(32, h), nn.Linear(h, h), nn.Linear(h, h)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(h) for _ in range(3))
        self.q, self.k, self.v, self.q2 = (nn.Linear(h, h, bias=False) for _ in range(4))
        self.k2, self.v2 = (nn.Linear(text_width, h, bias=False) for _ in range(2))
        self.out, self.out2, self.up, self.down = nn.Linear(h, h), nn.Linear(h, h), nn.Linear(h, 8 * h), nn.Linear(4 * h, h)

    def attend(self, q, k, v):
        return joined(F.scaled_dot_product_attention(*(heads_of(t, self.heads) for t in (q, k, v))))

    def forward(self, x, c, text):
        b, h, height, width = x.shape
        y = self.enter(self.group(x).permute(0, 2, 3, 1).reshape(b, height * width, h))
        z = self.norm1(y)
        y = y + self.out(self.attend(self.q(z), self.k(z), self.v(z)))
        y = y + self.out2(self.attend(self.q2(self.norm2(y)), self.k2(text), self.v2(text)))
        z, gate = self.up(self.norm3(y)).chunk(2, dim=-1)
        y = self.leave(y + self.down(z * F.gelu(gate)))
        return x + y.reshape(b, height, width, h).permute(0, 3, 1, 2)


class Resampled(nn.Module):
    def __init__(self, h, up):
        super().__init__()
        self.up, self.conv = up, nn.Conv2d(h, h, 3, stride=1 if up else 2, padding=1)

    def forward(self, x, c, text):
        return self.conv(F.interpolate(x, scale_factor=2.0) if self.up else x)


class UNet(nn.Module):
    """Stable Diffusion 2's: four levels of two (up: three) residual blocks, with attention on the first three."""

    def __init__(self, text_width=1024, widths=(320, 640, 1280, 1280)):
        super().__init__()
        t = 4 * widths[0]
        self.time = nn.Sequential(nn.Linear(widths[0], t), nn.SiLU(), nn.Linear(t, t))
        self.enter = nn.Conv2d(4, widths[0], 3, padding=1)
        self.down, self.up, kept, x = nn.ModuleList(), nn.ModuleList(), [widths[0]], widths[0]

        def level(i, before, w):
            return nn.ModuleList([Residual(before, w, t)] + ([Attended(w, text_width)] if i < 3 else []))

        for i, w in enumerate(widths):
            for _ in range(2):
                self.down.append(level(i, x, w))
                x = w
                kept.append(x)
            if i < 3:
                self.down.append(nn.ModuleList([Resampled(x, False)]))
                kept.append(x)
        self.middle = nn.ModuleList([Residual(x, x, t), Attended(x, text_width), Residual(x, x, t)])
        for i, w in reversed(list(enumerate(widths))):
            for j in range(3):
                self.up.append(level(i, x + kept.pop(), w))
                x = w
                if j == 2 and i > 0:
                    self.up[-1].append(Resampled(x, True))
        self.norm, self.leave = nn.GroupNorm(32, x), nn.Conv2d(x, 4, 3, padding=1)

    def forward(self, latent, noise, time_features, text):
        c, x = self.time(time_features), self.enter(latent + noise)
        kept = [x]
        for blocks in self.down:
            for block in blocks:
                x = block(x, c, text)
            kept.append(x)
        for block in self.middle:
            x = block(x, c, text)
        for blocks in self.up:
            x = torch.cat((x, kept.pop()), dim=1)
            for block in blocks:
                x = block(x, c, text)
        return F.mse_loss(self.leave(F.silu(self.norm(x))).float(), noise)


def unet(batch):
    model = UNet().cuda().to(memory_format=torch.channels_last)
    latent, noise = (torch.randn(batch, 4, 64, 64, device="cuda").to(memory_format=torch.channels_last) for _ in range(2))
    text = torch.randn(batch, 77, 1024, device="cuda", dtype=torch.bfloat16)
    return model, (latent, noise, torch.randn(batch, 320, device="cuda"), text), lambda f, d: f(*d)


def setting(name, model, batch, tokens, recompute=False, compiled=False, **shape):
    label = f"{name}-{tokens}x{batch}" + ("-recompute" if recompute else "") + ("-compiled" if compiled else "")
    work = transformer(batch, tokens=tokens, recompute=recompute, compiled_blocks=compiled, **shape)
    return Setting(label, model, batch, tokens, work, recompute=recompute, compiled_blocks=compiled)


DIT = {"h": 1152, "heads": 16, "patch": 16, "classes": 28, "rope": False}
SD3 = {"h": 1536, "heads": 24, "patch": 64, "text": (333, 4096), "two": 24, "qk_norm": False, "rope": False}
FLUX = {"h": 3072, "heads": 24, "patch": 64, "two": 3, "one": 6}
WAN = {"h": 1536, "heads": 12, "patch": 64, "text": (512, 4096), "cross": 30, "inner": 8960}
SETTINGS = [
    setting("dit-xl-2", "dit-xl-2", 64, 256, **DIT), setting("dit-xl-2", "dit-xl-2", 16, 1024, **DIT),
    setting("dit-xl-2", "dit-xl-2", 64, 256, compiled=True, **DIT),
    setting("sd3-medium", "sd3-medium", 8, 1024, **SD3), setting("sd3-medium", "sd3-medium", 8, 1024, compiled=True, **SD3),
    setting("flux.1-of-3-and-6", "flux.1-of-3-and-6", 16, 256, text=(256, 4096), **FLUX),
    setting("flux.1-of-3-and-6", "flux.1-of-3-and-6", 16, 256, compiled=True, text=(256, 4096), **FLUX),
    setting("flux.1-of-3-and-6", "flux.1-of-3-and-6", 2, 4096, text=(512, 4096), **FLUX),
    setting("flux.1-of-3-and-6", "flux.1-of-3-and-6", 2, 4096, compiled=True, text=(512, 4096), **FLUX),
    setting("wan2.1-1.3b", "wan2.1-1.3b", 1, 17160, recompute=True, **WAN),
    setting("wan2.1-1.3b", "wan2.1-1.3b", 1, 17160, recompute=True, compiled=True, **WAN),
    Setting("stable-diffusion-2-16", "stable-diffusion-2", 16, 4096, lambda: unet(16)),
    Setting("stable-diffusion-2-32", "stable-diffusion-2", 32, 4096, lambda: unet(32)),
]


if __name__ == "__main__":
    run(SETTINGS, __doc__, "diffusion.json", 2)
