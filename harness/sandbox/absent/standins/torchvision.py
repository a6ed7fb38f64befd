"""Pictures by chance, the usual transforms of them, and small networks with the usual heads."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.pillow import Picture
from harness.sandbox.machine.inert import Inert

__version__ = "0.21.0"

TRAIN, TEST = 2048, 256
"""How many pictures there are."""


class Pictures(Dataset[Any]):
    """Pictures by chance, each the same whenever it is asked for, brighter with the class."""

    channels, height, width, kinds = 3, 32, 32, 10

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
        transforms = [place for place in places if callable(place)]
        transform, target_transform = (*transforms, transform, target_transform)[:2]
        train = next((place for place in places if isinstance(place, bool)), train)
        split = next((place for place in places if isinstance(place, str)), split)
        lend(f"{type(self).__name__}: pictures by chance")
        self.train = train and split in ("train", "unlabeled", "letters", "balanced", "extra")
        self.transform, self.target_transform = transform, target_transform
        self.classes = [f"class {n}" for n in range(self.kinds)]
        self.class_to_idx = {name: n for n, name in enumerate(self.classes)}
        self.targets: Any = [self._kind(n) for n in range(len(self))]
        self.labels = self.targets
        self.samples = self.imgs = [(f"{n}.png", kind) for n, kind in enumerate(self.targets)]

    def __len__(self) -> int:
        return TRAIN if self.train else TEST

    def _kind(self, index: int) -> int:
        return (index * 7 + index // 5) % self.kinds

    def _pixels(self, index: int) -> Tensor:
        dice = torch.Generator().manual_seed(index + (0 if self.train else TRAIN))
        size = (self.height, self.width, self.channels)
        noise = torch.randint(0, 128, size, generator=dice)
        return (noise + 127 * self._kind(index) // self.kinds).to(torch.uint8)

    def __getitem__(self, index: int) -> Any:
        """A picture and its class."""
        if index >= len(self):
            raise IndexError(index)
        picture: Any = Picture(self._pixels(index))
        kind: Any = self._kind(index)
        picture = self.transform(picture) if self.transform is not None else picture
        return picture, self.target_transform(kind) if self.target_transform is not None else kind

    @property
    def data(self) -> Any:
        """All pixels: a tensor where there is one channel, else an array, as in the real ones."""
        pixels = torch.stack([self._pixels(n) for n in range(len(self))])
        if self.channels == 1:
            self.targets = torch.as_tensor(self.targets)
            return pixels[..., 0]
        return pixels.numpy()


def _of(name: str, channels: int, size: int, kinds: int) -> type[Pictures]:
    facts = {"channels": channels, "height": size, "width": size, "kinds": kinds}
    return type(name, (Pictures,), facts)


class datasets:
    """``torchvision.datasets``."""

    MNIST, FashionMNIST = _of("MNIST", 1, 28, 10), _of("FashionMNIST", 1, 28, 10)
    KMNIST, EMNIST, QMNIST = (
        _of("KMNIST", 1, 28, 10),
        _of("EMNIST", 1, 28, 27),
        _of("QMNIST", 1, 28, 10),
    )
    CIFAR10, CIFAR100 = _of("CIFAR10", 3, 32, 10), _of("CIFAR100", 3, 32, 100)
    SVHN, STL10 = _of("SVHN", 3, 32, 10), _of("STL10", 3, 96, 10)
    ImageFolder, ImageNet = _of("ImageFolder", 3, 48, 10), _of("ImageNet", 3, 48, 1000)
    LSUN, CelebA, Flowers102 = (
        _of("LSUN", 3, 48, 10),
        _of("CelebA", 3, 48, 10),
        _of("Flowers102", 3, 48, 102),
    )
    Food101, OxfordIIITPet = _of("Food101", 3, 48, 101), _of("OxfordIIITPet", 3, 48, 37)

    class FakeData(Pictures):
        """Says itself how many and how large its pictures are."""

        def __init__(
            self,
            size: int = 1000,
            image_size: tuple[int, ...] = (3, 224, 224),
            num_classes: int = 10,
            transform: Any = None,
            target_transform: Any = None,
            **_: Any,
        ) -> None:
            """As many as it says."""
            self.channels, self.height, self.width = image_size
            self.kinds, self._count = num_classes, size
            super().__init__(transform=transform, target_transform=target_transform)

        def __len__(self) -> int:
            return self._count


def _pixels(picture: Any) -> Tensor:
    """Of a picture or a tensor, channels first."""
    return (
        picture.pixels.permute(2, 0, 1)
        if isinstance(picture, Picture)
        else torch.as_tensor(picture)
    )


def _like(picture: Any, pixels: Tensor) -> Any:
    return Picture(pixels.permute(1, 2, 0)) if isinstance(picture, Picture) else pixels


class Same:
    """A transform that changes no sizes: chance is left out."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *given: Any) -> Any:
        """What it is given."""
        return given[0] if len(given) == 1 else given


class Sized(Same):
    """A transform that hands out pictures of one size: the nearest pixels."""

    def __init__(self, size: Any, *_: Any, **__: Any) -> None:
        self._size = tuple(size) if isinstance(size, tuple | list) else (size, size)

    def __call__(self, *given: Any) -> Any:
        """A picture of its size."""
        pixels = _pixels(given[0])
        height, width = self._size if len(self._size) == 2 else self._size * 2
        rows = torch.arange(height) * pixels.shape[-2] // height
        columns = torch.arange(width) * pixels.shape[-1] // width
        return _like(given[0], pixels[..., rows, :][..., columns])


class transforms:
    """``torchvision.transforms``; older programs name it twice."""

    Resize = CenterCrop = RandomCrop = RandomResizedCrop = Sized

    class Compose(Same):
        """One after another."""

        def __init__(self, transforms: Any) -> None:
            self.transforms = list(transforms)

        def __call__(self, *given: Any) -> Any:
            """All of them."""
            found = given[0]
            for transform in self.transforms:
                found = transform(found)
            return found

    class ToTensor(Same):
        """Pixels between 0 and 1, channels first."""

        def __call__(self, *given: Any) -> Any:
            """A tensor of single precision."""
            pixels = given[0]
            if not isinstance(pixels, Picture | Tensor):
                array = torch.as_tensor(pixels)
                pixels = Picture(array[:, :, None] if array.ndim == 2 else array)
            found = _pixels(pixels)
            return found.float() / 255.0 if found.dtype == torch.uint8 else found.float()

    class ConvertImageDtype(ToTensor):
        """The same, for tensors."""

    ToImage = PILToTensor = type("PILToTensor", (Same,), {"__call__": lambda _, x: _pixels(x)})

    class ToDtype(Same):
        """Another element type."""

        def __init__(self, dtype: Any, scale: bool = False) -> None:
            self._dtype, self._scale = dtype, scale

        def __call__(self, *given: Any) -> Any:
            """Between 0 and 1 where that is asked for."""
            bytes_ = given[0].dtype == torch.uint8
            return given[0].to(self._dtype) / (255.0 if self._scale and bytes_ else 1.0)

    class Normalize(Same):
        """Less the mean, over the deviation."""

        def __init__(self, mean: Any, std: Any, inplace: bool = False) -> None:
            self._mean, self._std = (
                torch.as_tensor(v).float().reshape(-1, 1, 1) for v in (mean, std)
            )

        def __call__(self, *given: Any) -> Any:
            """By channel."""
            return (given[0] - self._mean) / self._std

    class Pad(Same):
        """Zeros around it."""

        def __init__(self, padding: Any, *_: Any, **__: Any) -> None:
            self._padding = padding if isinstance(padding, int) else padding[0]

        def __call__(self, *given: Any) -> Any:
            """As many on all sides."""
            pixels = nn.functional.pad(_pixels(given[0]), (self._padding,) * 4)
            return _like(given[0], pixels)

    class Lambda(Same):
        """The program's own."""

        def __init__(self, lambd: Callable[[Any], Any]) -> None:
            self._own = lambd

        def __call__(self, *given: Any) -> Any:
            """Whatever that is."""
            return self._own(given[0])

    class Grayscale(Same):
        """One channel, or three that are alike."""

        def __init__(self, num_output_channels: int = 1) -> None:
            self._channels = num_output_channels

        def __call__(self, *given: Any) -> Any:
            """The first channel."""
            pixels = _pixels(given[0])[:1].repeat(self._channels, 1, 1)
            return _like(given[0], pixels)

    @staticmethod
    def lookup(name: str) -> Any:
        """All others change no sizes."""
        if name == "InterpolationMode":
            return Inert()
        return Same if name[:1].isupper() else None


setattr(transforms, "transforms", transforms)  # noqa: B010 - mypy refuses to assign


transforms.v2 = transforms  # type: ignore[attr-defined]  # the second version has the same names


class Network(nn.Module):
    """Four small stages, and the head of the network that it stands in for."""

    def __init__(self, width: int, head: str, num_classes: int = 1000) -> None:
        """``width``: inputs of the head; ``head``: where it is found."""
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(2)
        for n, (i, o) in enumerate(((64, 8), (8, 16), (16, 16), (16, width)), 1):
            stage = nn.Sequential(nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())
            setattr(self, f"layer{n}", stage)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self._head = head.partition(".")[0]
        last = nn.Linear(width, num_classes)
        place = head.partition(".")[2]
        if place.isdigit():
            setattr(self, self._head, nn.Sequential(*[nn.Dropout(0.2)] * int(place), last))
        elif place:
            setattr(self, self._head, nn.Sequential())
            getattr(self, self._head).add_module(place, last)
        else:
            setattr(self, head, last)

    def forward_features(self, pictures: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, width)"""
        x = self.relu(self.bn1(self.conv1(pictures)))
        x = self.maxpool(x) if min(x.shape[2:]) > 1 else x
        for n in range(1, 5):
            x = getattr(self, f"layer{n}")(x)
        found: Tensor = self.avgpool(x).flatten(1)
        return found

    def forward(self, pictures: Tensor) -> Tensor:
        """(n, 3, h, w) -> (n, classes)"""
        found: Tensor = getattr(self, self._head)(self.forward_features(pictures))
        return found


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


def network(name: str) -> Callable[..., nn.Module] | None:
    """What makes the network of a name; ``None`` for one of which nothing is known."""
    found = next(((w, h) for prefix, w, h in HEADS if name.startswith(prefix)), None)
    if found is None or name.endswith("_Weights"):
        return None
    width, head = found

    def make(*_: Any, num_classes: int = 1000, **__: Any) -> nn.Module:
        lend(f"{name}: a small network with its head, not pretrained")
        return Network(width, head, num_classes)

    make.__name__ = name
    return make


class models:
    """``torchvision.models``."""

    @staticmethod
    def get_model(name: str, **kwargs: Any) -> nn.Module | None:
        """By name."""
        make = network(name)
        return make(**kwargs) if make is not None else None

    @staticmethod
    def lookup(name: str) -> Any:
        """A network, or weights of one, which nobody has."""
        return Inert() if name.endswith(("_Weights", "WeightsEnum")) else network(name)


for _name in (
    "resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg11", "vgg16", "vgg16_bn", "vgg19",
    "alexnet", "densenet121", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large",
    "efficientnet_b0", "convnext_tiny", "vit_b_16", "swin_t", "wide_resnet50_2", "resnext50_32x4d",
):  # fmt: skip
    setattr(models, _name, staticmethod(network(_name)))  # type: ignore[arg-type]  # each is known


class utils:
    """``torchvision.utils``: shows and saves nothing."""

    make_grid = save_image = Inert()
