"""Training steps of models beyond decoders, in plain PyTorch on one device: CNNs, vision transformers, detectors, a U-Net,
encoders, and adapters of a large decoder.

Every model is trained as users' own code does it (train_steps.py). Writes OUT/workloads.json.
    workload_steps.py OUT [--only NAME,...] [--trace NAME,...] [--seconds S] [--deadline S]
"""
import torch
import torch.nn.functional as F
from torch import nn

from train_steps import Setting, bert, run


def images(batch, side, channels_last, classes=1000):
    """A batch of images and their labels."""
    x = torch.randn(batch, 3, side, side, device="cuda")
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    return x, torch.randint(classes, (batch,), device="cuda")


def classifier(make, batch, side, channels_last):
    def work():
        model = make().cuda()
        if channels_last:
            model = model.to(memory_format=torch.channels_last)

        def loss(f, data):
            out = f(data[0])
            if isinstance(out, tuple):  # Inception-v3 with its auxiliary head
                return F.cross_entropy(out[0], data[1]) + 0.4 * F.cross_entropy(out[1], data[1])
            return F.cross_entropy(out, data[1])
        return model, images(batch, side, channels_last), loss
    return work


def torchvision_model(name):
    def make():
        import torchvision
        auxiliary = {"inception_v3": True, "googlenet": False}
        more = {"aux_logits": auxiliary[name], "init_weights": False} if name in auxiliary else {}
        return getattr(torchvision.models, name)(weights=None, **more)
    return make


def timm_model(name):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=1000)
    return make


class DoubleConvolution(nn.Sequential):
    def __init__(self, before, after):
        super().__init__(nn.Conv2d(before, after, 3), nn.ReLU(inplace=True), nn.Conv2d(after, after, 3), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Ronneberger et al. 2015: 572 x 572 in, 388 x 388 out, without padding or normalisation."""

    def __init__(self, classes=2):
        super().__init__()
        widths = [64, 128, 256, 512, 1024]
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in zip([1] + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in widths[-2::-1])
        self.merge = nn.ModuleList(DoubleConvolution(2 * w, w) for w in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, kept[-2::-1]):
            x = up(x)
            cut = (skip.shape[-1] - x.shape[-1]) // 2
            x = merge(torch.cat((skip[..., cut:cut + x.shape[-2], cut:cut + x.shape[-1]], x), dim=1))
        return self.head(x)


def unet(batch):
    x = torch.randn(batch, 1, 572, 572, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(2, (batch, 388, 388), device="cuda")
    model = UNet().cuda().to(memory_format=torch.channels_last)
    return model, (x, y), lambda f, data: F.cross_entropy(f(data[0]), data[1])


def detector(name, batch, height, width, objects=8):
    """With as many objects an image as COCO has (Lin et al. 2014: 7.7)."""
    def work():
        import torchvision
        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None).cuda()
        corner = torch.rand(objects, 2, device="cuda") * torch.tensor([width / 2, height / 2], device="cuda")
        boxes = torch.cat((corner, corner + torch.tensor([width / 4, height / 4], device="cuda")), dim=1)
        target = {"boxes": boxes, "labels": torch.randint(1, 90, (objects,), device="cuda")}
        if name.startswith("mask"):
            target["masks"] = torch.zeros(objects, height, width, dtype=torch.uint8, device="cuda")
            target["masks"][:, ::2] = 1
        pictures = [torch.rand(3, height, width, device="cuda") for _ in range(batch)]
        return model, (pictures, [target] * batch), lambda f, data: sum(f(*data).values())
    return work


def bert_base(seq_len, batch):
    return bert(seq_len, batch, hidden=768, layers=12, heads=12)


def adapters(batch, seq_len, recompute):
    """Llama 3 8B in bf16 with adapters of rank 16 at its attention."""
    import peft
    import transformers
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=8192, rope_theta=500000.0, attn_implementation="sdpa", use_cache=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model = peft.get_peft_model(model, peft.LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))
    if recompute:
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    tokens = torch.randint(128256, (batch, seq_len), device="cuda")
    return model, {"input_ids": tokens, "labels": tokens}, lambda f, data: f(**data).loss


def of(name, preset, make, batch, side=224, precision="bf16", channels_last=True, compiled=False):
    label = f"{preset}-{batch}-{precision}" + ("" if channels_last else "-nchw") + ("-compiled" if compiled else "")
    return Setting(label, preset, batch, side, classifier(make(name), batch, side, channels_last), precision, compiled,
                   optimizer="sgd")


def segmentation(name, batch, side, classes=21):
    """A network that says a class for each pixel."""
    def work():
        import torchvision
        model = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=classes).cuda()
        model = model.to(memory_format=torch.channels_last)
        x, _ = images(batch, side, True)
        y = torch.randint(classes, (batch, side, side), device="cuda")
        return model, (x, y), lambda f, data: F.cross_entropy(f(data[0])["out"], data[1])
    return work


def video(name, batch, frames, side):
    def work():
        import torchvision
        model = getattr(torchvision.models.video, name)(weights=None).cuda().to(memory_format=torch.channels_last_3d)
        x = torch.randn(batch, 3, frames, side, side, device="cuda").to(memory_format=torch.channels_last_3d)
        y = torch.randint(400, (batch,), device="cuda")
        return model, (x, y), lambda f, data: F.cross_entropy(f(data[0]), data[1])
    return work


VISION, TIMM = torchvision_model, timm_model
# Networks without a preset: what `stepcast import onnx` makes of them is compared with their steps.
WITHOUT_PRESET = [
    of("googlenet", "googlenet", VISION, 256), of("regnet_y_8gf", "regnet_y_8gf", VISION, 128),
    of("regnet_x_3_2gf", "regnet_x_3_2gf", VISION, 256), of("shufflenet_v2_x1_0", "shufflenet_v2_x1_0", VISION, 512),
    of("mnasnet1_0", "mnasnet1_0", VISION, 256), of("squeezenet1_1", "squeezenet1_1", VISION, 512),
    of("mobilenet_v3_small", "mobilenet_v3_small", VISION, 512), of("wide_resnet101_2", "wide_resnet101_2", VISION, 128),
    of("convnext_tiny", "convnext_tiny", VISION, 128), of("swin_t", "swin_t", VISION, 128, channels_last=False),
    of("swin_v2_t", "swin_v2_t", VISION, 128, channels_last=False), of("vit_b_32", "vit_b_32", VISION, 256, channels_last=False),
    of("maxvit_t", "maxvit_t", VISION, 64),
    Setting("deeplabv3_resnet50-16-bf16", "deeplabv3_resnet50", 16, 512, segmentation("deeplabv3_resnet50", 16, 512),
            optimizer="sgd"),
    Setting("fcn_resnet50-16-bf16", "fcn_resnet50", 16, 512, segmentation("fcn_resnet50", 16, 512), optimizer="sgd"),
    Setting("r3d_18-32-bf16", "r3d_18", 32, 112, video("r3d_18", 32, 16, 112), optimizer="sgd"),
]
# Steps that the host's launches bound.
SMALL = [
    of("resnet18", "resnet18", VISION, 2), of("resnet50", "resnet50", VISION, 2), of("resnet101", "resnet101", VISION, 2),
    of("resnet50", "resnet50", VISION, 2, precision="tf32"), of("vgg16", "vgg16", VISION, 2),
    of("inception_v3", "inception-v3", VISION, 2, 299), of("densenet121", "densenet121", VISION, 2),
    of("mobilenet_v2", "mobilenet-v2", VISION, 2), of("efficientnet_b0", "efficientnet-b0", VISION, 2),
    of("convnext_base", "convnext-base", VISION, 2), of("vit_b_16", "vit-b16", VISION, 2, channels_last=False),
    of("swin_b", "swin-base", VISION, 2, channels_last=False),
    Setting("bert-base-128x2", "bert-base", 2, 128, lambda: bert_base(128, 2)),
    Setting("bert-large-128x2", "bert-large", 2, 128, lambda: bert(128, 2)),
    Setting("bert-base-128x2-tf32", "bert-base", 2, 128, lambda: bert_base(128, 2), "tf32"),
]
SETTINGS = WITHOUT_PRESET + SMALL + [
    of("resnet50", "resnet50", VISION, 256), of("resnet50", "resnet50", VISION, 64), of("resnet50", "resnet50", VISION, 16),
    of("resnet50", "resnet50", VISION, 128, precision="tf32", channels_last=False),
    of("resnet50", "resnet50", VISION, 128, precision="tf32"),
    of("resnet50", "resnet50", VISION, 128, precision="fp32", channels_last=False),
    of("resnet50", "resnet50", VISION, 256, channels_last=False),
    of("resnet18", "resnet18", VISION, 256), of("resnet101", "resnet101", VISION, 128), of("resnet152", "resnet152", VISION, 128),
    of("resnext50_32x4d", "resnext50-32x4d", VISION, 128), of("resnext101_32x8d", "resnext101-32x8d", VISION, 64),
    of("wide_resnet50_2", "wide-resnet50-2", VISION, 128),
    of("vgg16", "vgg16", VISION, 128), of("vgg16", "vgg16", VISION, 64, precision="tf32", channels_last=False),
    of("vgg16", "vgg16", VISION, 64, precision="fp32", channels_last=False),
    of("vgg19", "vgg19", VISION, 128), of("alexnet", "alexnet", VISION, 512),
    of("alexnet", "alexnet", VISION, 256, precision="tf32", channels_last=False),
    of("inception_v3", "inception-v3", VISION, 128, 299), of("legacy_xception", "xception", TIMM, 128, 299),
    of("mobilenet_v2", "mobilenet-v2", VISION, 256), of("mobilenet_v3_large", "mobilenet-v3-large", VISION, 256),
    of("efficientnet_b0", "efficientnet-b0", VISION, 256), of("efficientnet_b4", "efficientnet-b4", VISION, 64, 380),
    of("efficientnet_v2_s", "efficientnet-v2-s", VISION, 128, 300), of("densenet121", "densenet121", VISION, 128),
    of("convnext_base", "convnext-base", VISION, 128), of("legacy_seresnext101_32x4d", "se-resnext101-32x4d", TIMM, 128),
    of("inception_v4", "inception-v4", TIMM, 128, 299),
    of("vit_b_16", "vit-b16", VISION, 128, channels_last=False), of("vit_l_16", "vit-l16", VISION, 64, channels_last=False),
    of("vit_b_16", "vit-b16", VISION, 64, precision="tf32", channels_last=False),
    of("swin_b", "swin-base", VISION, 128, channels_last=False),
    of("deit_small_patch16_224", "deit-s16", TIMM, 256, channels_last=False),
    Setting("unet-medical-8-bf16", "unet-medical", 8, 572, lambda: unet(8), optimizer="sgd"),
    Setting("unet-medical-4-tf32", "unet-medical", 4, 572, lambda: unet(4), "tf32", optimizer="sgd"),
    Setting("ssd300-vgg16-32-bf16", "ssd300-vgg16", 32, 300, detector("ssd300_vgg16", 32, 300, 300), optimizer="sgd"),
    Setting("mask-rcnn-rn50-fpn-4-bf16", "mask-rcnn-rn50-fpn", 4, 800, detector("maskrcnn_resnet50_fpn", 4, 800, 1333),
            optimizer="sgd"),
    Setting("bert-large-512x16", "bert-large", 16, 512, lambda: bert(512, 16)),
    Setting("bert-large-128x64", "bert-large", 64, 128, lambda: bert(128, 64)),
    Setting("bert-large-128x32-tf32", "bert-large", 32, 128, lambda: bert(128, 32), "tf32"),
    Setting("bert-base-128x128", "bert-base", 128, 128, lambda: bert_base(128, 128)),
    Setting("bert-base-512x32", "bert-base", 32, 512, lambda: bert_base(512, 32)),
    Setting("bert-base-128x8", "bert-base", 8, 128, lambda: bert_base(128, 8)),
    Setting("llama3-8b-lora-2048x1", "llama3-8b", 1, 2048, lambda: adapters(1, 2048, False)),
    Setting("llama3-8b-lora-4096x2-recompute", "llama3-8b", 2, 4096, lambda: adapters(2, 4096, True), recompute=True),
    of("resnet50", "resnet50", VISION, 256, compiled=True),
    of("vit_b_16", "vit-b16", VISION, 128, channels_last=False, compiled=True),
    of("convnext_tiny", "convnext_tiny", VISION, 128, compiled=True),
    of("efficientnet_b0", "efficientnet-b0", VISION, 256, compiled=True),
    of("swin_t", "swin_t", VISION, 128, channels_last=False, compiled=True),
    of("googlenet", "googlenet", VISION, 256, compiled=True),
    Setting("bert-large-512x16-compiled", "bert-large", 16, 512, lambda: bert(512, 16), compiled=True),
]


if __name__ == "__main__":
    run(SETTINGS, __doc__, "workloads.json", 2)
