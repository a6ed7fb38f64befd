"""Packages and data that are not here: a stand-in where that is plain, else one sentence."""

import sys
from types import ModuleType

import pytest
import torch

from harness.sandbox.absent import standins
from tests.sampling import sampled

TRAIN = """
import torch
from torch import nn
net = {model}
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(4):
    x, y = {batch}
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PICTURES = """
import torch
from torchvision import datasets, transforms
import torchvision.transforms as T
from torchvision.models import resnet18
import torchvision
rows = datasets.{name}("data", transform=transforms.Compose([T.Resize(40), transforms.RandomCrop({size}),
    torchvision.transforms.RandomHorizontalFlip(), transforms.ToTensor(), T.Normalize(0.5, 0.5)]))
loader = torch.utils.data.DataLoader(rows, batch_size=4, shuffle=True)
it = iter(loader)
"""


@pytest.mark.parametrize(
    ("name", "channels", "size"), [("MNIST", 1, 28), ("CIFAR10", 3, 32), ("ImageFolder", 3, 36)]
)
def test_pictures_have_the_channels_and_the_size_of_the_real_ones(see, name, channels, size):
    model = f"nn.Sequential(nn.Flatten(), nn.Linear({channels * size * size}, 10))"
    seen = see(PICTURES.format(name=name, size=size) + TRAIN.format(model=model, batch="next(it)"))

    assert seen.outcome == "returned: None"
    assert seen.windows == [1] * 4
    assert f"{name}: pictures by chance" in seen.lent


def test_a_part_of_pictures_may_lie_where_only_the_real_set_has_any(see):
    parts = "rows = torch.utils.data.Subset(rows, range(50000, 60000))\nassert len(list(all_rows)) < 50000\n"
    program = PICTURES.format(name="MNIST", size=28).replace(
        "loader =", f"all_rows = rows\n{parts}loader ="
    )
    model = "nn.Sequential(nn.Flatten(), nn.Linear(784, 10))"

    assert see(program + TRAIN.format(model=model, batch="next(it)")).windows == [1] * 4


def test_a_network_that_would_be_downloaded_has_the_head_of_the_real_one(see):
    program = PICTURES.format(name="CIFAR10", size=32) + TRAIN.format(
        model="resnet18(weights='DEFAULT')\nnet.fc = nn.Linear(net.fc.in_features, 10)\nassert net.fc.in_features == 512",
        batch="next(it)",
    )
    seen = see(program)

    assert seen.windows == [1] * 4
    assert "resnet18: a small network with its head, not pretrained" in seen.lent


def test_a_package_for_which_nothing_stands_in_is_named_when_it_is_used(see):
    program = "import flash_attn\nfrom nowhere.deep import thing\n" + TRAIN.format(
        model="nn.Linear(4, 2)", batch="thing(4), None"
    )
    assert see(program).outcome == "unbound: `nowhere.deep.thing` needs nowhere, which is not here"


def test_a_package_that_is_imported_and_not_used_is_no_hindrance(see):
    program = "import flash_attn\n" + TRAIN.format(
        model="nn.Linear(4, 2)", batch="torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    )
    assert see(program).windows == [1] * 4


def test_a_file_beside_the_program_is_named(see):
    program = "from .utils import batches\n" + TRAIN.format(
        model="nn.Linear(4, 2)", batch="next(batches())"
    )
    assert (
        see(program).outcome == "unbound: `utils.batches` needs utils.py, a file beside the program"
    )


def test_an_import_that_may_fail_fails(see):
    program = """
try:
    import apex
except ImportError:
    apex = None
assert apex is None
""" + TRAIN.format(
        model="nn.Linear(4, 2)", batch="torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    )
    assert see(program).outcome == "returned: None"


def test_trackers_do_nothing_and_hand_settings_back(see):
    program = """
import wandb, mlflow
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm
run = wandb.init(project="p", config={"lr": 0.25})
writer = SummaryWriter("runs")
writer.add_scalar("lr", wandb.config.lr, 0)
mlflow.log_metric("a", 1)
for _ in tqdm(range(2)): pass
assert wandb.config["lr"] == run.config.lr == 0.25
""" + TRAIN.format(
        model="nn.Linear(4, 2)", batch="torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    )
    assert see(program).outcome == "returned: None"


def test_a_file_of_tokens_is_made_up(see):
    program = """
import numpy as np, os
tokens = np.memmap(os.path.join("data", "train.bin"), dtype=np.uint16, mode="r")
""" + TRAIN.format(
        model="nn.Embedding(64, 64)",
        batch="torch.from_numpy(tokens[:8].astype(np.int64)), torch.from_numpy(tokens[1:9].astype(np.int64))",
    )
    seen = see(program)

    assert seen.windows == [1] * 4
    assert "train.bin: 20000 tokens by chance" in seen.lent


STARTERS = {
    "fire": ("import fire\ndef main():\n    fire.Fire(work)\n"),
    "tyro": (
        "import tyro, dataclasses\n@dataclasses.dataclass\nclass Args:\n    batch: int\n    lr: float = 0.1\n"
        "def main():\n    work(tyro.cli(Args).lr)\n"
    ),
}


@pytest.mark.parametrize("starter", sampled(STARTERS, 3))
def test_starters_call_with_defaults(see, starter):
    body = TRAIN.format(
        model="nn.Linear(4, 2)", batch="torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    ).replace("lr=0.01", "lr=lr")
    work = "def work(lr):" + body.replace("\n", "\n    ") + "\n"
    seen = see(STARTERS[starter] + work + "if __name__ == '__main__':\n    main()\n")

    assert seen.outcome.partition(":")[0] in ("returned", "exited")
    assert seen.windows == [1] * 4


@pytest.mark.full
def test_a_world_to_act_in_goes_on_for_ever(see):
    program = """
import gymnasium as gym, torch
env = gym.make("CartPole-v1")
net = torch.nn.Linear(env.observation_space.shape[0], env.action_space.n)
optimizer = torch.optim.Adam(net.parameters())
while True:
    state, _ = env.reset(seed=0)
    done, gathered = False, []
    while not done:
        chosen = torch.distributions.Categorical(logits=net(torch.as_tensor(state)))
        action = chosen.sample()
        state, reward, ended, cut, _ = env.step(action.item())
        gathered.append(-chosen.log_prob(action) * reward)
        done = ended or cut
    optimizer.zero_grad()
    torch.stack(gathered).sum().backward()
    optimizer.step()
"""
    seen = see(program)

    assert seen.outcome.startswith("exited: stopped by the harness")
    assert len(seen.windows) >= 3


def test_of_an_installed_package_only_what_downloads_is_replaced(monkeypatch):
    modules = {
        n: ModuleType(f"torchvision{n}") for n in ("", ".datasets", ".models", ".transforms")
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"torchvision{name}", module)

    class Real:
        """Would download."""

    def square(x):
        return x * x

    vars(modules[".datasets"]).update(CIFAR10=Real)
    vars(modules[".models"]).update(resnet18=Real, square=square)
    vars(modules[".transforms"]).update(ToTensor=Real)
    standins.replace_parts("torchvision")

    assert len(modules[".datasets"].CIFAR10()) == 2072
    assert modules[".models"].resnet18(num_classes=7).fc.out_features == 7
    assert (modules[".models"].square, modules[".transforms"].ToTensor) == (square, Real)


DOWNLOADED = {
    "urlopen": "urllib.request.urlopen('https://host/a/shakespeare.txt').read().decode()",
    "requests": "requests.get('https://host/a/shakespeare.txt', timeout=9).text",
    "urlretrieve": "open(urllib.request.urlretrieve('https://host/s.txt', 'shakespeare.txt')[0]).read()",
}


@pytest.mark.parametrize("how", sampled(DOWNLOADED, 3))
def test_a_text_that_would_be_downloaded_is_lent(see, how):
    program = f"""
import urllib.request
import requests
{TRAIN}
""".format(
        model=f"nn.Embedding(256, 4)\nletters = torch.tensor([ord(c) for c in {DOWNLOADED[how]}])",
        batch="letters[step:step + 8], letters[step:step + 8] % 4",
    )
    seen = see(program)

    assert seen.windows == [1] * 4
    assert "shakespeare.txt: a text by chance" in seen.lent


def test_what_would_be_downloaded_and_is_no_text_is_named(see):
    program = "import urllib.request\nurllib.request.urlopen('https://host/data.zip')\n" + TRAIN

    said = "unbound: `data.zip` would be downloaded, and there is no network here"
    assert see(program.format(model="None", batch="None, None")).outcome == said


TOKENS = """
import requests, tiktoken, torch
from torch import nn
encoding = tiktoken.get_encoding("gpt2")
try:
    text = requests.get("https://host/a/story.txt").text
except requests.exceptions.RequestException:
    text = ""
ids = torch.tensor(encoding.encode(text[:200]))
ended = encoding.encode("a<|endoftext|>b", allowed_special={"<|endoftext|>"})
assert ended == [97, encoding.eot_token, 98] and encoding.decode(ended) == "ab"
assert int(ids.max()) < encoding.n_vocab == 50257
net = nn.Sequential(nn.Embedding(256, 8), nn.Linear(8, 256))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for part in ids.split(40)[:4]:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(part[:-1]), part[1:]).backward()
    optimizer.step()
"""


def test_an_encoding_that_would_be_downloaded_has_a_token_for_each_letter(see):
    seen = see(TOKENS)

    assert seen.windows == [1] * 4, seen.outcome
    assert "tiktoken: a stand-in" in seen.lent


OLDER = """
import gym, torch
from torchvision import datasets
digits = datasets.MNIST("data", download=True)
assert len(digits.train_data) == len(digits.train_labels) == len(digits)
world = gym.make("CartPole-v0").unwrapped
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for episode in range(4):
    state = world.reset()
    over = False
    while not over:
        state, reward, over, info = world.step(0)
    optimizer.zero_grad()
    (net(torch.FloatTensor(state)) - reward).square().mean().backward()
    optimizer.step()
"""


def test_programs_of_before_gym_0_26_and_older_names_of_digits_are_served(see):
    seen = see(OLDER)

    assert seen.windows == [1] * 4, seen.outcome


WAITS_FOR_AN_END = """
import gymnasium, torch
world = gymnasium.make("{name}")
net = torch.nn.Linear({wide}, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for episode in range(4):
    state, _ = world.reset()
    over = False
    while not over:
        state, reward, over, cut, info = world.step(world.action_space.sample())
    optimizer.zero_grad()
    (net(torch.as_tensor(state)) - reward).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("name", "wide"), [("CartPole-v1", 4), ("Pendulum-v1", 3)])
def test_a_world_has_its_known_size_and_ends_for_who_waits_for_its_end_alone(see, name, wide):
    seen = see(WAITS_FOR_AN_END.format(name=name, wide=wide))

    assert seen.windows == [1] * 4, seen.outcome


WORLDS_OF_ITS_OWN = """
import gym, torch
import numpy as np
from gym import spaces

class Walk(gym.Env):
    def __init__(self):
        self.action_space = spaces.Discrete(2)
        self.observation_space = spaces.Box(low=-np.inf, high=np.inf, shape=(3,), dtype=np.float32)

    def reset(self):
        self.at = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.at += 1
        return self.observation_space.sample(), 8.0, self.at > 4, False, {}

class Doubled(gym.ObservationWrapper):
    def observation(self, state):
        return np.concatenate([state, state])

class Bounded(gym.RewardWrapper):
    def reward(self, reward):
        assert reward == 8.0 or self.env.env.spec
        return min(reward, 1.0)

class Told(gym.ActionWrapper):
    def action(self, action):
        return int(action > 0)

world = Told(Bounded(Doubled(%s)))
net = torch.nn.Linear(2 * world.observation_space.shape[0], world.action_space.n)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for episode in range(4):
    state, _ = world.reset()
    over = False
    while not over:
        state, reward, over, cut, info = world.step(-1)
        over = over or cut
    assert reward <= 1.0
    optimizer.zero_grad()
    (net(torch.as_tensor(state, dtype=torch.float32)) - reward).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("world", ["Walk()", "gym.make('CartPole-v1')"])
def test_worlds_of_a_programs_own_and_what_it_changes_of_others_are_served(see, world):
    seen = see(WORLDS_OF_ITS_OWN % world)

    assert seen.windows == [1] * 4, seen.outcome


OF_PICTURES = """
import os, sklearn, torch, torchvision
import torchvision.transforms.functional as F
from torchvision import datasets
assert tuple(map(int, sklearn.__version__.split("."))) >= (1, 0)
os.mkdir("logs/today")
rows = datasets.__dict__["CIFAR10"]("data", transform=F.to_tensor)
shown = torchvision.utils.make_grid(torch.stack([rows[0][0], rows[1][0]])).numpy()
assert shown.transpose(1, 2, 0).shape[-1] == 3
assert F.crop(rows[0][0], 2, 2, 8, 4).shape == (3, 8, 4)
assert F.hflip(rows[0][0]).shape == F.resize(rows[0][0], 32).shape
assert len(datasets.ImageFolder("ants-and-bees").classes) == 2
""" + TRAIN.format(model="nn.Linear(2, 2)", batch="torch.randn(4, 2), torch.tensor([0, 1, 0, 1])")


def test_what_programs_do_with_pictures_and_versions_beside_training_is_served(see):
    seen = see(OF_PICTURES)

    assert seen.windows == [1] * 4, seen.outcome


STANDS_AROUND = """
import inflect, torch
words = inflect.engine("en", [1, 2])
""" + TRAIN.format(model="nn.Linear(2, 2)", batch="torch.randn(4, 2), torch.tensor([0, 1, 0, 1])")


@pytest.mark.parametrize(
    ("used", "path"),
    [
        ("words.number(2)", "inflect.engine.number"),
        ("inflect.trained(net)", "inflect.trained"),
        ("inflect.start()", "inflect.start"),
        ("net(words)", "inflect.engine"),
        ("len(words)", "inflect.engine"),
        ("words.lr * 2", "inflect.engine.lr"),
        ("words.lr ** 2", "inflect.engine.lr"),
    ],
)
def test_what_is_made_of_words_alone_by_an_absent_package_is_needed_where_it_is_used(
    see, used, path
):
    assert see(STANDS_AROUND).windows == [1] * 4

    wanted = f"unbound: `{path}` needs inflect, which is not here"
    assert see(f"{STANDS_AROUND}{used}\n").outcome == wanted


def test_a_package_that_may_fail_to_be_imported_is_not_here_wherever_it_is_imported(see):
    program = TRAIN.format(model="nn.Linear(2, 2)", batch="torch.randn(4, 2), torch.arange(4) % 2")
    tried = "try:\n    import torch_xla\n    here = True\nexcept ImportError:\n    here = False\n"
    guarded = f"{tried}if here:\n    import torch_xla.core\n    torch_xla.core.go()\n"

    assert see(guarded + program).windows == [1] * 4


COMMANDS = """
import click, gzip, numpy as np, torch, yaml
from datasets import load_dataset

settings = yaml.load("width: 8")
with gzip.open("enwik8.gz") as file:
    letters = np.fromstring(file.read(100_000), dtype=np.uint8)
assert len(letters) == 100_000
rows = load_dataset("any", split="train")
assert [said["role"] for said in rows[0]["messages"]] == ["user", "assistant"]
assert isinstance(rows[0]["translation"]["en"], str)

@click.command()
@click.argument("kind", type=click.Choice(["small", "large"]))
@click.argument("folder", type=click.Path(exists=True))
@click.option("--passes", type=int, required=True)
def main(kind, folder, passes):
    assert kind == "small"
    net = torch.nn.Linear(settings["width"], 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for batch in torch.randn(4, 2, settings["width"]):
        loss = net(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

main()
"""


def test_required_arguments_of_click_and_packed_texts_are_served(see):
    seen = see(COMMANDS)

    assert seen.windows == [1] * 4, seen.outcome


ONCE = """
import json, torch
assert not hasattr(json.load.__wrapped__, "__wrapped__"), "lent twice"
weights = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(weights.parameters(), lr=0.1)
weights(torch.ones(3, 2)).sum().backward()
optimizer.step()
"""


def test_what_reads_files_is_replaced_once_in_each_run(see):
    """What warms up before a run is forked leaves them as they are: other jobs are lent no files."""
    assert see(ONCE).windows == [1], see(ONCE).outcome


ELSEWHERE = """
from torchvision.datasets.mnist import MNIST
from torchvision.models.resnet import resnet50
from torchvision import transforms
from torch.utils.tensorboard.writer import SummaryWriter
from scipy.sparse.linalg.eigen.arpack import eigsh
import scipy.misc.pilutil
SummaryWriter("runs").add_scalar("loss", 0.0)
body = nn.Sequential(*[part for _, part in resnet50().named_children()][:-1])
rows = torch.utils.data.DataLoader(MNIST("data", transform=transforms.ToTensor()), batch_size=4)
it = ((x.flatten(1), y) for x, y in rows)
"""


def test_what_stands_in_has_the_files_of_the_real_one_and_dropped_modules_may_be_named(see):
    """Whoever uses something of a module that no version of today has needs another version."""
    trained = TRAIN.format(model="nn.Linear(784, 10)", batch="next(it)")
    train = trained.replace("net =", f"{ELSEWHERE}net =")
    seen = see(train)

    assert seen.windows == [1] * 4, seen.outcome
    assert "needs another version of scipy" in see(f"{train}\neigsh(3)").outcome


def test_pictures_in_half_precision_are_normalized_in_half_precision():
    from harness.sandbox.absent.standins.torchvision import transforms

    pixels = torch.ones(3, 2, 2, dtype=torch.half)

    assert transforms.Normalize((0.5,) * 3, (0.25,) * 3)(pixels).dtype == torch.half


VGG = """
cut = vgg19(weights="DEFAULT").features[:23]
assert isinstance(cut[22], nn.ReLU) and isinstance(cut[21], nn.Conv2d), cut
net = vgg16_bn()
net.classifier[6] = nn.Linear(4096, 10)
assert net.classifier[0].in_features == 25088
"""


def test_layers_of_a_vgg_stand_where_those_of_the_real_one_do(see):
    program = PICTURES.format(name="CIFAR10", size=32) + TRAIN.format(
        model="nn.Identity()\nfrom torchvision.models import vgg16_bn, vgg19\n" + VGG.strip(),
        batch="next(it)",
    )

    assert see(program).windows == [1] * 4


def test_a_picture_that_was_cut_to_size_is_a_picture_still(see):
    pytest.importorskip("PIL")
    pipeline = "T.RandomResizedCrop(24), T.Grayscale(3), lambda p: p.filter(ImageFilter.BLUR)"
    program = "from PIL import ImageFilter\n" + PICTURES.format(name="CIFAR10", size=24).replace(
        "T.Resize(40)", pipeline
    )
    model = f"nn.Sequential(nn.Flatten(), nn.Linear({3 * 24 * 24}, 10))"

    assert see(program + TRAIN.format(model=model, batch="next(it)")).windows == [1] * 4


def test_a_version_that_a_program_insists_on_is_there(see):
    program = "import timm\nassert timm.__version__ == '0.3.2'\nassert timm.__version__ >= '1'\n"
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_text_that_is_not_here_has_every_letter(see):
    program = "said = open('input.txt').read()\nassert {*'O God! 1 + 2 = {3}?'} <= {*said}\n"
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_checkpoint_for_which_there_is_no_room_is_not_written(see):
    """There is less room in the jail than where the program is at home."""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    saving = "\ntorch.save(torch.zeros(20_000_000), 'last.pt')\nprint('went on')"
    seen = see(TRAIN.format(model=model, batch=batch) + saving)

    assert (seen.windows, seen.printed.strip()) == ([1] * 4, "went on")
    assert "last.pt: too large to be written" in seen.lent


def test_a_list_of_what_a_hub_has_is_empty(see):
    program = "import torch\nassert torch.hub.list('someone/models:main') == []\n"
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


OF_A_HUB = """
import datasets
rows = datasets.load_dataset("conll2003")
names = rows["train"].features["ner_tags"].feature.names
first = rows["train"][0]
assert len(first["tokens"]) == len(first["ner_tags"]) and isinstance(first["tokens"][0], str)
assert max(first["ner_tags"]) < len(names)
pairs = datasets.load_dataset("glue", "mrpc").map(lambda r: {"input_ids": [len(r["sentence1"])]})
pairs = pairs.remove_columns(["sentence1", "sentence2", "idx"])
assert set(pairs["train"].column_names) == {"label", "input_ids"}
shown = rows["test"].with_transform(lambda some: {"wide": [p.width for p in some["img"]]})
assert shown[3] == {"wide": 32}
"""


def test_tables_of_a_hub_have_tags_as_many_as_words_and_no_other_text_than_is_asked_for(see):
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(OF_A_HUB + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_what_prepares_pictures_for_a_model_gives_the_sizes_of_the_model_that_is_lent(see):
    pytest.importorskip("transformers")
    program = """
from transformers import AutoImageProcessor, ViTForImageClassification
from PIL import Image
prepare = AutoImageProcessor.from_pretrained("google/vit-base-patch16-224")
prepared = prepare([Image.new("RGB", (50, 40)), Image.new("L", (50, 40))], return_tensors="pt")
"""
    model = 'ViTForImageClassification.from_pretrained("google/vit-base-patch16-224", num_labels=2)'
    batch = 'prepared["pixel_values"], torch.tensor([0, 1])'
    loss = TRAIN.format(model=model, batch=batch).replace("net(x)", "net(x).logits")

    assert see(program + loss).windows == [1] * 4


def test_a_file_that_is_open_is_unpacked_as_it_is(see):
    program = """
import gzip, io
held = io.BytesIO(gzip.compress(b"1,2"))
assert gzip.open(held, "rt").read() == "1,2"
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_an_array_that_is_a_single_series_is_lent_where_nothing_else_fits(see):
    program = """
import numpy as np, torch
series = np.load("demand.npy").astype(np.float32)
net = torch.nn.GRU(1, 4, batch_first=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for start in range(4):
    loss = net(torch.from_numpy(series[None, start:start + 8]).unsqueeze(-1))[0].square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert see(program).windows == [1] * 4


@pytest.mark.parametrize(
    ("name", "place"),
    [("tf_efficientnet_b0_ns", "classifier"), ("convnext_tiny", "head.fc"), ("vit_base", "head")],
)
def test_the_last_layer_of_a_network_of_timm_is_where_its_family_has_it(see, name, place):
    program = f"""
import timm
from torch import nn
made = timm.create_model("{name}", pretrained=True, in_chans=1)
made.{place} = nn.Linear(made.{place}.in_features, 2)
assert timm.create_model("{name}", num_classes=0).get_submodule("{place}").__class__ is nn.Identity
"""
    model, batch = "made", "torch.randn(3, 1, 32, 32), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_model_whose_layers_an_absent_package_has_needs_that(see):
    program = """
from torch_geometric.nn import GCNConv
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = GCNConv(4, 2)
"""
    model, batch = "Net()", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"
    seen = see("import torch\n" + program + TRAIN.format(model=model, batch=batch))

    assert "torch_geometric.nn.GCNConv needs torch_geometric" in seen.outcome.replace("`", "")


@pytest.mark.parametrize("origin", ["io", "codecs"])
def test_a_file_that_is_not_here_is_opened_in_any_way(see, origin):
    program = f"from {origin} import open\nassert open('pairs.txt', encoding='utf-8').read()\n"
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_variable_that_a_program_takes_for_granted_is_a_folder_or_a_number(see):
    program = """
import os, torch
assert os.environ["DATA_ROOT"] == "data"
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=float(os.environ["LEARNING_RATE"]))
for batch in torch.randn(4, 3, 2):
    optimizer.zero_grad()
    net(batch).sum().backward()
    optimizer.step()
"""
    seen = see(program)

    assert seen.windows == [1] * 4
    assert "DATA_ROOT = 'data': a variable that nobody sets" in seen.lent


def test_a_program_that_tells_its_use_and_ends_is_started_so(see):
    program = """
import sys
if len(sys.argv) < 2:
    sys.exit("Usage: train.py tickets.jsonl [model.pt]")
assert sys.argv[1:] == ["tickets.jsonl"]
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_namespace_that_is_made_of_settings_has_them(see):
    program = """
import yaml
from types import SimpleNamespace
settings = SimpleNamespace(**yaml.safe_load(open("train.yaml")))
assert settings.batch_size > 0 and settings.seed == 0
assert not hasattr(settings, "__html__")
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_sounds_of_many_folders_are_read_by_scipy(see):
    program = """
from pathlib import Path
from scipy.io import wavfile
found = [p for part in ("a", "b", "c") for word in ("up", "down", "left") for p in Path(part, word).glob("*.wav")]
rate, sound = wavfile.read(found[-1])
assert rate == len(sound) == 16_000 and sound.dtype == "int16"
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_one_part_of_an_archive_has_the_shape_that_is_told_of_another(see):
    program = '''
"""digits.npz: x_train (N, 28, 28) uint8, y_train, x_test, y_test"""
import numpy as np
with np.load("digits.npz") as held:
    assert held["x_test"].shape[1:] == held["x_train"].shape[1:] == (28, 28)
'''
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_rows_are_split_scaled_and_known_where_scikit_learn_is_not_here(see):
    program = """
import numpy as np
from sklearn import datasets
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler
rows, target = datasets.load_digits(return_X_y=True)
some, others, mine, theirs = train_test_split(rows, list(target), test_size=0.25, random_state=1)
assert len(others) == round(len(rows) / 4) and len(some) == len(mine) == len(rows) - len(others)
scaled = StandardScaler().fit(some).transform(some)
assert np.allclose(scaled.mean(0), 0.0) and np.allclose(scaled.std(0), 1.0)
assert list(LabelEncoder().fit_transform(["b", "a", "b"])) == [1, 0, 1]
assert 0.0 < accuracy_score(mine, mine) <= 1.0
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


def test_a_pass_has_as_many_batches_as_its_loader(see):
    program = """
import torch
turns = iter(torch.utils.data.DataLoader(torch.arange(12), batch_size=4))
assert len(turns) == 3 and len(next(turns)) == 4
assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == 0
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4


@pytest.mark.parametrize("ends", ["exit()", "raise SystemExit", "sys.exit(0)"])
def test_a_file_without_which_a_program_ends_is_there(see, ends):
    program = f"""
import os, sys
if not os.path.exists("corpus.txt"):
    print("get it first")
    {ends}
assert open("corpus.txt").read()
"""
    model, batch = "nn.Linear(4, 2)", "torch.randn(3, 4), torch.zeros(3, dtype=torch.long)"

    assert see(program + TRAIN.format(model=model, batch=batch)).windows == [1] * 4
