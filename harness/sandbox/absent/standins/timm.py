"""What scripts take of timm: a small network of any name, its layers, losses and helpers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.torchvision import Network, transforms


class Version(str):
    """The version that a program asks for, whichever that is."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, str)

    __hash__ = str.__hash__


__version__ = Version("1.0.0")


def create_model(
    model_name: str, pretrained: bool = False, num_classes: int = 1000, **_: Any
) -> nn.Module:
    """A small network, whatever its name."""
    lend(f"{model_name}: a small network, not pretrained")
    found = Network(64, "fc", num_classes)
    facts: dict[str, Any] = {"num_classes": num_classes, "num_features": 64}
    sizes = {"input_size": (3, 224, 224), "mean": (0.5,) * 3, "std": (0.5,) * 3}
    vars(found).update(facts, default_cfg=sizes, pretrained_cfg=sizes)
    return found


def list_models(*_: Any, **__: Any) -> list[str]:
    """One."""
    return ["resnet18"]


class DropPath(nn.Module):
    """Leaves out no path: chance is left out."""

    def __init__(self, drop_prob: float = 0.0, *_: Any, **__: Any) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: Tensor) -> Tensor:
        """What it is given."""
        return x


class Mlp(nn.Module):
    """Two layers."""

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        drop: float = 0.0,
        **_: Any,
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(in_features, hidden_features or in_features)
        self.act, self.drop = act_layer(), nn.Dropout(drop)
        self.fc2 = nn.Linear(hidden_features or in_features, out_features or in_features)

    def forward(self, x: Tensor) -> Tensor:
        """One after the other."""
        found: Tensor = self.drop(self.fc2(self.drop(self.act(self.fc1(x)))))
        return found


class PatchEmbed(nn.Module):
    """Patches of a picture as tokens."""

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        embed_dim: int = 768,
        **_: Any,
    ) -> None:
        super().__init__()
        self.img_size, self.patch_size = (img_size, img_size), (patch_size, patch_size)
        self.grid_size = (img_size // patch_size, img_size // patch_size)
        self.num_patches = self.grid_size[0] ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, patch_size, patch_size)
        self.norm = nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """(n, c, h, w) -> (n, patches, width)"""
        patches: Tensor = self.proj(x)
        return patches.flatten(2).transpose(1, 2)


class Attention(nn.Module):
    """Of a token to all others."""

    def __init__(self, dim: int, num_heads: int = 8, qkv_bias: bool = False, **_: Any) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=qkv_bias), nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """(n, tokens, width) -> (n, tokens, width)"""
        n, t, width = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(q, k, v)
        together: Tensor = self.proj(found.transpose(1, 2).reshape(n, t, width))
        return together


class Block(nn.Module):
    """Attention and two layers."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = False,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        **_: Any,
    ) -> None:
        super().__init__()
        self.norm1, self.attn = norm_layer(dim), Attention(dim, num_heads, qkv_bias)
        self.norm2, self.mlp = norm_layer(dim), Mlp(dim, int(dim * mlp_ratio))

    def forward(self, x: Tensor) -> Tensor:
        """One after the other."""
        x = x + self.attn(self.norm1(x))
        found: Tensor = x + self.mlp(self.norm2(x))
        return found


class LabelSmoothingCrossEntropy(nn.Module):
    """Cross entropy that is a little less sure."""

    def __init__(self, smoothing: float = 0.1) -> None:
        super().__init__()
        self.smoothing = smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A mean over the batch."""
        return nn.functional.cross_entropy(x, target, label_smoothing=self.smoothing)


class SoftTargetCrossEntropy(nn.Module):
    """Cross entropy with shares of classes."""

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """A mean over the batch."""
        return torch.sum(-target * nn.functional.log_softmax(x, dim=-1), dim=-1).mean()


def accuracy(output: Tensor, target: Tensor, topk: tuple[int, ...] = (1,)) -> list[Tensor]:
    """In percent."""
    most = min(max(topk), output.shape[1])
    right = output.topk(most)[1].t().eq(target.reshape(1, -1))
    return [right[:k].reshape(-1).float().sum(0) * 100.0 / len(target) for k in topk]


class AverageMeter:
    """A running mean."""

    def __init__(self) -> None:
        self.val = self.avg = self.sum = 0.0
        self.count = 0

    reset = __init__

    def update(self, val: float, n: int = 1) -> None:
        """One more value."""
        self.val = val
        self.sum, self.count = self.sum + val * n, self.count + n
        self.avg = self.sum / self.count


def to_2tuple(x: Any) -> tuple[Any, Any]:
    """Twice the same."""
    return tuple(x) if isinstance(x, tuple | list) else (x, x)


class layers:
    """``timm.layers``."""

    DropPath, Mlp, PatchEmbed, to_2tuple = DropPath, Mlp, PatchEmbed, staticmethod(to_2tuple)
    trunc_normal_ = staticmethod(nn.init.trunc_normal_)


class models:
    """``timm.models``."""

    layers = layers
    create_model = staticmethod(create_model)
    register_model = staticmethod(lambda function: function)

    class vision_transformer:
        """``timm.models.vision_transformer``."""

        PatchEmbed, Block, Attention, Mlp = PatchEmbed, Block, Attention, Mlp


class loss:
    """``timm.loss``."""

    LabelSmoothingCrossEntropy, SoftTargetCrossEntropy = (
        LabelSmoothingCrossEntropy,
        SoftTargetCrossEntropy,
    )


class utils:
    """``timm.utils``."""

    accuracy, AverageMeter = staticmethod(accuracy), AverageMeter


class data:
    """``timm.data``."""

    resolve_data_config = resolve_model_data_config = staticmethod(lambda *_, **__: {})
    create_transform = staticmethod(
        lambda *_, **__: transforms.Compose([transforms.Resize(224), transforms.ToTensor()])
    )

    class constants:
        """``timm.data.constants``."""

        IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
