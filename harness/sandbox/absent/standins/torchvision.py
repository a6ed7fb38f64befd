"""Pictures by chance, the usual transforms of them, and small networks with the usual heads."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from harness.sandbox.absent.inert import Inert
from harness.sandbox.absent.lent import lend

__version__ = "0.21.0"

TRAIN, TEST = 2072, 256
"""How many pictures there are: what the usual batches leave over makes a last, short window."""

TRAINS = frozenset({"train", "unlabeled", "letters", "balanced", "extra", "trainval"})
"""Names of the part to train on."""

SETS: dict[str, tuple[int, int, int]] = {
    "MNIST": (1, 28, 10), "FashionMNIST": (1, 28, 10), "KMNIST": (1, 28, 10), "QMNIST": (1, 28, 10),
    "EMNIST": (1, 28, 27), "CIFAR10": (3, 32, 10), "CIFAR100": (3, 32, 100), "SVHN": (3, 32, 10),
    "STL10": (3, 96, 10), "ImageNet": (3, 48, 1000), "Flowers102": (3, 48, 102),
    "Food101": (3, 48, 101), "OxfordIIITPet": (3, 48, 37),
}  # fmt: skip
"""Channels, size and classes of known sets; others have 3 channels, 48 pixels and 2
classes, which fit whatever comes after them."""


def picture(pixels: Tensor) -> Any:
    """What a data set hands out, of (channels, height, width): an image of pillow where it is here."""
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        return pixels
    return image.fromarray(pixels.permute(1, 2, 0).squeeze(2).numpy())


class Pictures(Dataset[Any]):
    """Pictures by chance, each the same whenever it is asked for, brighter with the class."""

    channels, size, kinds = 3, 48, 10

    def __init__(
        self,
        root: Any = None,
        *places: Any,
        train: bool = True,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        **_: Any,
    ) -> None:
        """As many as a probe needs. ``places``: the same arguments without names, by what they are."""
        lend(f"{type(self).__name__}: pictures by chance")
        given = [place for place in places if callable(place)]
        self.transform, self.target_transform = (*given, transform, target_transform)[:2]
        train = next((place for place in places if isinstance(place, bool)), train)
        split = next((place for place in places if isinstance(place, str)), split)
        self.train = train and split in TRAINS
        self.classes = [f"class {n}" for n in range(self.kinds)]
        self.class_to_idx = {name: n for n, name in enumerate(self.classes)}
        kinds = [self._kind(n) for n in range(self._many())]
        self.targets: Any = torch.as_tensor(kinds) if self.channels == 1 else kinds
        self.labels = self.targets
        self.samples = self.imgs = [(f"{n}.png", kind) for n, kind in enumerate(kinds)]

    def __len__(self) -> int:
        return self._many()

    def _many(self) -> int:
        """As many as there are, whatever a program says that its own set of them has."""
        return TRAIN if self.train else TEST

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def _kind(self, index: int) -> int:
        return (index * 7 + index // 5) % self.kinds

    def _pixels(self, index: int) -> Tensor:
        dice = torch.Generator().manual_seed(index + (0 if self.train else TRAIN))
        noise = torch.randint(0, 128, (self.channels, self.size, self.size), generator=dice)
        return (noise + 127 * self._kind(index) // self.kinds).to(torch.uint8)

    def __getitem__(self, index: int) -> Any:
        """A picture and its class; one behind the last, as a subset of the real set may ask for."""
        index = int(index)  # numpy's have other types
        shown, kind = picture(self._pixels(index)), self._kind(index)
        return (
            shown if self.transform is None else self.transform(shown),
            kind if self.target_transform is None else self.target_transform(kind),
        )

    @property
    def train_data(self) -> Any:
        """All pixels, by an older name."""
        return self.data

    @property
    def train_labels(self) -> Any:
        """All classes, by an older name."""
        return self.targets

    test_data, test_labels = train_data, train_labels

    def loader(self, path: Any) -> Any:
        """The picture of a file, as ``imgs`` names them."""
        return picture(self._pixels(int(str(path).partition(".")[0])))

    @cached_property
    def data(self) -> Any:
        """All pixels: a tensor where there is one channel, else an array, as in the real ones."""
        pixels = torch.stack([self._pixels(n) for n in range(self._many())])
        return pixels[:, 0] if self.channels == 1 else pixels.permute(0, 2, 3, 1).numpy()


class FakeData(Pictures):
    """Says itself how many and how large its pictures are."""

    def __init__(
        self,
        size: int = 1000,
        image_size: Any = (3, 224, 224),
        num_classes: int = 10,
        *rest: Any,
        **more: Any,
    ) -> None:
        """As many as it says."""
        self.channels, self.size, _ = image_size
        self.kinds, self._count = num_classes, size
        super().__init__(None, *rest, **more)

    def _many(self) -> int:
        return self._count


def _set(name: str) -> type[Pictures]:
    channels, size, kinds = SETS.get(name, (3, 48, 2))
    return type(name, (Pictures,), {"channels": channels, "size": size, "kinds": kinds})


class datasets:
    """``torchvision.datasets``, in which some programs look up a set by a text."""

    locals().update({name: _set(name) for name in SETS})
    FakeData = FakeData

    @staticmethod
    def lookup(name: str) -> Any:
        """A set of any name."""
        return _set(name) if name[:1].isupper() else None


# --------------------------------------------------------------------------------------- transforms


def _pixels(shown: Any) -> Tensor:
    """Of a picture, an array or a tensor, channels first."""
    if isinstance(shown, Tensor):
        return shown
    array = torch.as_tensor(np.array(shown))
    return array[None] if array.ndim == 2 else array.permute(2, 0, 1)


def _alike(shown: Any, pixels: Tensor) -> Any:
    """Pixels in the form of what they were computed of: ``picture.filter(...)`` comes behind."""
    return pixels if isinstance(shown, Tensor | np.ndarray) else picture(pixels)


def _same(*_: Any, **__: Any) -> Callable[..., Any]:
    """A transform that changes no sizes: chance is left out."""
    return lambda *given: given[0] if len(given) == 1 else given


def _sized(size: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
    """The nearest pixels."""
    height, width = (*size, *size)[:2] if isinstance(size, tuple | list) else (size, size)

    def resized(shown: Any) -> Any:
        pixels = _pixels(shown)
        rows = torch.arange(height) * pixels.shape[-2] // height
        columns = torch.arange(width) * pixels.shape[-1] // width
        return _alike(shown, pixels[..., rows, :][..., columns])

    return resized


def _scaled(shown: Any) -> Tensor:
    pixels = _pixels(shown)
    return pixels / 255.0 if pixels.dtype == torch.uint8 else pixels.float()


class _Functional:
    """``torchvision.transforms.functional``."""

    to_tensor = staticmethod(_scaled)
    pil_to_tensor = staticmethod(_pixels)

    @staticmethod
    def convert_image_dtype(shown: Any, dtype: Any = torch.float32) -> Tensor:
        """Between 0 and 1."""
        return _scaled(shown).to(dtype)

    @staticmethod
    def to_dtype(shown: Any, dtype: Any = torch.float32, scale: bool = False) -> Tensor:
        """The same, where that is asked for."""
        return transforms.ToDtype(dtype, scale)(shown)

    @staticmethod
    def rgb_to_grayscale(shown: Any, num_output_channels: int = 1) -> Any:
        """One channel, or three that are alike."""
        return transforms.Grayscale(num_output_channels)(shown)

    to_grayscale = rgb_to_grayscale

    @staticmethod
    def resize(shown: Any, size: Any, *_: Any, **__: Any) -> Any:
        """The nearest pixels."""
        return _sized(size)(shown)

    center_crop = resize

    @staticmethod
    def crop(shown: Any, top: int, left: int, height: int, width: int) -> Any:
        """As large as is asked for, from anywhere."""
        return _sized((height, width))(shown)

    @staticmethod
    def normalize(shown: Tensor, mean: Any, std: Any, *_: Any) -> Tensor:
        """Less the mean, over the deviation, by channel."""
        return transforms.Normalize(mean, std)(shown)

    @staticmethod
    def lookup(name: str) -> Any:
        """All others change no sizes."""
        return (lambda shown, *_, **__: shown) if name.islower() else None


class transforms:
    """``torchvision.transforms``; its second version has the same names."""

    functional = _Functional

    Resize = CenterCrop = RandomCrop = RandomResizedCrop = staticmethod(_sized)
    ToTensor = ConvertImageDtype = staticmethod(lambda *_: _scaled)
    ToImage = PILToTensor = staticmethod(lambda *_: _pixels)
    Lambda = staticmethod(lambda function: function)

    class Compose:
        """One after another."""

        def __init__(self, steps: Any) -> None:
            self.transforms = [*steps]

        def __call__(self, *shown: Any) -> Any:
            """Of one picture, or of it and its mask alike."""
            for step in self.transforms:
                shown = tuple(map(step, shown))
            return shown[0] if len(shown) == 1 else shown

    @staticmethod
    def ToDtype(dtype: Any, scale: bool = False) -> Callable[[Any], Tensor]:
        """Another element type, between 0 and 1 where that is asked for."""
        return lambda shown: (_scaled(shown) if scale else _pixels(shown)).to(dtype)

    @staticmethod
    def Normalize(mean: Any, std: Any, *_: Any) -> Callable[[Tensor], Tensor]:
        """Less the mean, over the deviation, by channel."""

        def normalized(shown: Tensor) -> Tensor:
            low, wide = (torch.as_tensor(v).to(shown).reshape(-1, 1, 1) for v in (mean, std))
            return (shown - low) / wide

        return normalized

    @staticmethod
    def FiveCrop(size: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
        """The same as often."""
        return lambda shown: (_sized(size)(shown),) * 5

    @staticmethod
    def TenCrop(size: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
        """The same as often."""
        return lambda shown: (_sized(size)(shown),) * 10

    @staticmethod
    def Pad(padding: Any, *_: Any, **__: Any) -> Callable[[Any], Any]:
        """Zeros around it, as many on all sides."""
        wide = padding if isinstance(padding, int) else padding[0]
        return lambda shown: _alike(shown, nn.functional.pad(_pixels(shown), (wide,) * 4))

    @staticmethod
    def Grayscale(num_output_channels: int = 1) -> Callable[[Any], Any]:
        """One channel, or three that are alike."""
        wide = (num_output_channels, 1, 1)
        return lambda shown: _alike(shown, _pixels(shown)[:1].repeat(wide))

    @staticmethod
    def lookup(name: str) -> Any:
        """All others change no sizes."""
        return Inert() if name == "InterpolationMode" else _same if name[:1].isupper() else None


# ----------------------------------------------------------------------------------------- networks

HEADS: tuple[tuple[str, int, str], ...] = (
    ("resnet18", 512, "fc"), ("resnet34", 512, "fc"), ("resnet", 2048, "fc"), ("resnext", 2048, "fc"),
    ("wide_resnet", 2048, "fc"), ("googlenet", 1024, "fc"), ("inception", 2048, "fc"),
    ("regnet", 512, "fc"), ("shufflenet", 1024, "fc"), ("vgg", 4096, "classifier.6"),
    ("alexnet", 4096, "classifier.6"), ("densenet", 1024, "classifier"),
    ("mobilenet_v3", 1024, "classifier.3"), ("mobilenet", 1280, "classifier.1"),
    ("efficientnet", 1280, "classifier.1"), ("mnasnet", 1280, "classifier.1"),
    ("convnext", 768, "classifier.2"), ("vit", 768, "heads.head"), ("swin", 768, "head"),
)  # fmt: skip
"""How a family of networks begins by name, how wide its head is, and where it is."""


class Network(nn.Module):
    """Four small stages, and the head of the network that it stands in for."""

    def __init__(self, width: int, head: str, num_classes: int = 1000) -> None:
        """``width``: inputs of the head; ``head``: where it is found."""
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        real = head == "fc" and width in (512, 2048)  # programs take stages of these apart
        self.maxpool = nn.MaxPool2d(3, 2, 1) if real else nn.Identity()
        widths = (64, *(width // n if real else 16 for n in (8, 4, 2)), width)
        for n, (i, o) in enumerate(pairwise(widths), 1):
            how: dict[str, Any] = {"stride": 1 + (n > 1), "groups": width // 512} if real else {}
            conv = nn.Conv2d(i, o, 1, bias=False, **how)
            self.add_module(f"layer{n}", nn.Sequential(conv, nn.BatchNorm2d(o), nn.ReLU()))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self._head, _, place = head.partition(".")
        last: nn.Module = nn.Linear(width, num_classes)
        if place:
            before = {str(n): nn.Dropout(0.2) for n in range(int(place) if place.isdigit() else 0)}
            parts, last = {**before, place: last}, nn.Sequential()
            for name, part in parts.items():
                last.add_module(name, part)
        self.add_module(self._head, last)

    @property
    def features(self) -> nn.Sequential:
        """All before the head, as most families name it."""
        stages = (getattr(self, f"layer{n}") for n in range(1, 5))
        return nn.Sequential(self.conv1, self.bn1, self.relu, nn.AdaptiveAvgPool2d(7), *stages)

    def forward_features(self, pictures: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, width)"""
        x = self.maxpool(self.relu(self.bn1(self.conv1(pictures))))
        for n in range(1, 5):
            x = getattr(self, f"layer{n}")(x)
        found: Tensor = self.avgpool(x).flatten(1)
        return found

    def forward(self, pictures: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, classes)"""
        found: Tensor = getattr(self, self._head)(self.forward_features(pictures))
        return found


CONVOLUTIONS: Mapping[str, tuple[int, ...]] = {
    "vgg11": (1, 1, 2, 2, 2), "vgg13": (2,) * 5, "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4),
}  # fmt: skip
"""How many stand between two poolings, in networks of which programs take layers by their number."""

NARROW = (3, 8, 8, 16, 16, 512)
"""Channels before the first of these and behind each pooling: of all but the last fewer than real."""


class Pooled(nn.Module):
    """A VGG with its layers in their places, most of them narrow."""

    def __init__(self, name: str, num_classes: int) -> None:
        super().__init__()
        many, normed = CONVOLUTIONS[name.removesuffix("_bn")], name.endswith("_bn")
        self.features, self.avgpool = nn.Sequential(), nn.AdaptiveAvgPool2d(7)
        for before, wide, count in zip(NARROW[:-1], NARROW[1:], many, strict=True):
            for n in range(count):
                self.features.append(nn.Conv2d(wide if n else before, wide, 3, padding=1))
                self.features.extend([nn.BatchNorm2d(wide)] * normed + [nn.ReLU(inplace=True)])
            self.features.append(nn.MaxPool2d(2, 2))
        first, rest = nn.AdaptiveAvgPool1d(4096), [nn.Dropout(0.2) for _ in range(5)]
        first.in_features, first.out_features = 25088, 4096  # type: ignore[assignment]  # of Linear
        self.classifier = nn.Sequential(first, *rest, nn.Linear(4096, num_classes))

    def forward(self, pictures: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, classes)"""
        found: Tensor = self.classifier(self.avgpool(self.features(pictures)).flatten(1))
        return found


def network(name: str) -> Callable[..., nn.Module] | None:
    """What makes the network of a name; ``None`` for one of which nothing is known."""
    found = next(((w, h) for prefix, w, h in HEADS if name.startswith(prefix)), None)
    if found is None or name in FILES:
        return None
    width, head = found

    def make(*_: Any, num_classes: int = 1000, **__: Any) -> nn.Module:
        lend(f"{name}: a small network with its head, not pretrained")
        if name.removesuffix("_bn") in CONVOLUTIONS:
            return Pooled(name, num_classes)
        return Network(width, head, num_classes)

    make.__name__ = name
    return make


FILES = frozenset({"resnet", "vgg", "inception", "densenet", "mobilenet", "efficientnet", "convnext",
                   "vision_transformer", "swin_transformer"})  # fmt: skip
"""Files that the networks of a family are in, with their parts."""


class models:
    """``torchvision.models``, which some programs look through for the names of networks."""

    locals().update({name: network(name) for name in (
        "resnet18", "resnet34", "resnet50", "resnet101", "vgg16", "alexnet", "densenet121",
        "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "vit_b_16",
    )})  # fmt: skip

    @staticmethod
    def get_model(name: str, **kwargs: Any) -> nn.Module | None:
        """By name."""
        make = network(name)
        return make(**kwargs) if make is not None else None

    @staticmethod
    def lookup(name: str) -> Any:
        """A network, or weights of one, which nobody has."""
        return Inert() if name.endswith(("_Weights", "WeightsEnum")) else network(name)


class io:
    """``torchvision.io``: pictures as the program would open them."""

    @staticmethod
    def read_image(path: Any, *_: Any, **__: Any) -> Tensor:
        """(channels, height, width) of whole numbers up to 255"""
        from PIL import Image  # what opens pictures that are not here

        pixels = torch.from_numpy(np.array(Image.open(str(path))))
        return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)


class utils:
    """``torchvision.utils``: saves nothing."""

    save_image = Inert()

    @staticmethod
    def make_grid(pictures: Any, *_: Any, **__: Any) -> Tensor:
        """All of them side by side."""
        shown = [*pictures] if isinstance(pictures, Tensor) and pictures.ndim == 4 else pictures
        return torch.cat([*shown], -1) if isinstance(shown, list | tuple) else shown
