"""Packages that only read: pictures, sounds, arrays, settings, command lines. Small ones stand in."""

import textwrap

import pytest

HEAD = "import torch\nfrom torch import nn\n"
TRAIN = """
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step, (x, y) in enumerate(torch.utils.data.DataLoader(Rows(), batch_size=8)):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 3: break
"""

CUT = """
import cv2
import pandas as pd
import albumentations as A
from albumentations.pytorch import ToTensorV2
change = A.Compose([A.Resize(24, 20), A.HorizontalFlip(p=0.5), A.Normalize((0.5,) * 3, (0.5,) * 3), ToTensorV2()])
class Rows:
    def __init__(self): self.table = pd.read_csv("labels.csv")
    def __len__(self): return 64
    def __getitem__(self, n):
        shown = cv2.cvtColor(cv2.imread(f"pictures/{self.table.iloc[n, 0]}"), cv2.COLOR_BGR2RGB)
        gray = cv2.imread(f"masks/{n}.png", cv2.IMREAD_GRAYSCALE)
        assert gray.ndim == 2 and cv2.resize(gray, (9, 7)).shape == (7, 9)
        found = change(image=shown, mask=gray)
        assert found["mask"].shape == (24, 20) and self.table.iloc[n, 0].endswith(".png")
        label = self.table.iloc[n, 1]
        return found["image"], int(label)
net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 20, 2))
"""

HEARD = """
import torchaudio
heard = nn.Sequential(torchaudio.transforms.MelSpectrogram(16000, n_fft=512, hop_length=256, n_mels=32),
                      torchaudio.transforms.AmplitudeToDB())
class Rows:
    def __len__(self): return 64
    def __getitem__(self, n):
        sound, rate = torchaudio.load(f"sounds/{n}.wav")
        sound = torchaudio.transforms.Resample(rate, 8000)(sound)
        assert sound.shape == (1, 8000)
        return heard(sound), n % 2
net = nn.Sequential(nn.Flatten(), nn.Linear(32 * 32, 2))
"""

LISTENED = """
import librosa, soundfile as sf
class Rows:
    def __len__(self): return 64
    def __getitem__(self, n):
        sound, rate = librosa.load(f"sounds/{n}.wav", sr=22050)
        other, _ = sf.read(f"sounds/{n}.wav")
        assert rate == 22050 and sound.shape == (22050,) and other.dtype == "float64"
        mel = librosa.power_to_db(librosa.feature.melspectrogram(y=sound, sr=rate, n_mels=16))
        assert librosa.feature.mfcc(y=sound, sr=rate, n_mfcc=13).shape == (13, mel.shape[1])
        return torch.tensor(mel, dtype=torch.float32).mean(1), n % 2
net = nn.Linear(16, 2)
"""

HELD = """
import h5py
class Rows:
    def __init__(self):
        with h5py.File("rows.h5", "r") as f:
            self.x, self.y = f["features"][:], f["labels"][()]
        with h5py.File("mine.h5", "w") as f:
            f.create_dataset("x", data=[1, 2, 3])
        assert list(h5py.File("mine.h5")["x"]) == [1, 2, 3]
    def __len__(self): return len(self.y)
    def __getitem__(self, n): return torch.tensor(self.x[n]).float(), int(self.y[n])
net = nn.Linear(8, 2)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "data", [CUT, HEARD, LISTENED, HELD], ids=["cut", "heard", "listened", "held"]
)
def test_what_reads_pictures_sounds_and_arrays_hands_over_such_by_chance(see, data):
    seen = see(HEAD + data + TRAIN)

    assert (seen.outcome, seen.windows) == ("returned: None", [1] * 4)


SETTINGS = {
    "conf/config.yaml": "defaults: [_self_, {model: small}]\nlr: 1e-2\nname: of_${model.width}\n"
    "steps: 4\noptimizer: {_target_: torch.optim.SGD, lr: '${lr}'}\n",
    "conf/model/small.yaml": "width: 6\n",
    "conf/model/large.yaml": "width: 7\n",
}
STARTED = """
import hydra
import torch
from torch import nn
from omegaconf import DictConfig, OmegaConf

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig):
    assert cfg.name == "of_6" and cfg.lr == 0.01 and isinstance(cfg, DictConfig)
    assert OmegaConf.to_container(OmegaConf.merge(cfg, {"model": {"width": 3}}))["model"] == {"width": 3}
    net = nn.Linear(cfg.model.width, 1)
    optimizer = hydra.utils.instantiate(cfg.optimizer, params=net.parameters())
    for _ in range(cfg.steps):
        loss = net(torch.randn(4, cfg.model.width)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()

if __name__ == "__main__":
    main()
"""


def test_settings_of_files_that_are_there_are_what_a_program_is_started_with(see, tmp_path):
    for name, text in SETTINGS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert see(STARTED, folder=tmp_path).windows == [1] * 4


FLAGS = """
import torch
from torch import nn
from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_integer("width", 5, "how wide")
flags.DEFINE_bool("clips", True, "")
RATE = flags.DEFINE_float("lr", 0.1, "")
def main(argv):
    net = nn.Linear(FLAGS.width, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE.value)
    assert FLAGS.clips and not argv[1:]
    for _ in range(4):
        loss = net(torch.randn(4, FLAGS.width)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
if __name__ == "__main__":
    app.run(main)
"""


def test_flags_of_absl_have_their_defaults(see):
    assert see(FLAGS).windows == [1] * 4


def test_settings_of_yacs_are_attributes_and_are_merged(see):
    program = """
    from yacs.config import CfgNode as CN
    _C = CN()
    _C.SOLVER = CN(new_allowed=True)
    _C.SOLVER.LR = 0.1
    cfg = _C.clone()
    cfg.merge_from_list(["SOLVER.LR", "1e-3"])
    cfg.freeze()
    assert (_C.SOLVER.LR, cfg.SOLVER.LR) == (0.1, 0.001)
    """
    assert see(textwrap.dedent(program) + FLAGS).windows == [1] * 4


SEEN = """
import gym
import numpy as np
import torch
from torch import nn

class Skip(gym.Wrapper):
    def step(self, action):
        return self.env.step(action)

class Small(gym.ObservationWrapper):
    def observation(self, state): return state[::10, ::10].astype(np.float32) / 255

env = Small(Skip(gym.make("BreakoutNoFrameskip-v4")))
assert env.unwrapped.get_action_meanings()[1] == "FIRE" and env.action_space.n == 6
net = nn.Sequential(nn.Flatten(), nn.Linear(21 * 16 * 3, 6))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
state = env.reset()
for step in range(4):
    action = int(net(torch.tensor(state)[None]).argmax())
    state, reward, done, info = env.step(action)
    loss = net(torch.tensor(state)[None]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_world_that_is_seen_has_pixels_and_is_of_the_age_of_its_program_through_wrappers(see):
    seen = see(SEEN)

    assert (seen.outcome, seen.windows) == ("returned: None", [1] * 4)


FACES = """
import numpy as np
import pandas as pd
class Rows:
    def __init__(self):
        table = pd.read_csv("faces.csv")
        table = table[table["Usage"] == "Training"]
        self.x = [np.array(t.split(" "), dtype=np.float32).reshape(48, 48) for t in table["pixels"].head(64)]
        self.y = [*table["emotion"].head(64)]
    def __len__(self): return len(self.x)
    def __getitem__(self, n): return self.x[n], int(self.y[n])
net = nn.Sequential(nn.Flatten(), nn.Linear(48 * 48, 7))
"""
PLACED = """
import pandas as pd
from PIL import Image
import numpy as np
class Rows:
    def __init__(self): self.table = pd.read_csv("annotations.csv")
    def __len__(self): return 64
    def _label(self, n): return self.table.iloc[n, 6]
    def __getitem__(self, n):
        shown = Image.open("pictures/" + self.table.iloc[n, 11].replace("/", ""))
        name = self.table.iloc[n, 11]
        return torch.tensor(np.array(shown)).float().flatten()[:8], int(self._label(n))
net = nn.Linear(8, 2)
""".replace('self.table.iloc[n, 11].replace("/", "")', "Path(self.table.iloc[n, 11]).name").replace(
    "import pandas", "from pathlib import Path\nimport pandas", 1
)
WIDE = """
import pandas as pd
class Rows:
    def __init__(self):
        table = pd.read_csv("digits.csv")
        self.y = table["label"].values
        self.x = table.drop("label", axis=1).values.reshape(-1, 1, 14, 14)
    def __len__(self): return 64
    def __getitem__(self, n): return torch.tensor(self.x[n]).float(), int(self.y[n])
net = nn.Sequential(nn.Flatten(), nn.Linear(196, 2))
"""
ASKED = """
PREFIXES = ("i am ", "he is ", "they are ")
pairs = [line.split("\\t") for line in open("eng-fra.txt", encoding="utf-8").read().strip().split("\\n")]
pairs = [p for p in pairs if len(p[0].split(" ")) < 12 and p[0].startswith(PREFIXES)]
vectors = {}
for line in open("glove.6B.50d.txt"):
    word, *numbers = line.split(" ")
    vectors[word] = torch.tensor([float(n) for n in numbers])
class Rows:
    def __len__(self): return len(pairs)
    def __getitem__(self, n):
        words = [vectors[w] for w in pairs[n][0].split(" ") if w in vectors]
        return torch.stack(words).mean(0), n % 2
net = nn.Linear(50, 2)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    "data", [FACES, PLACED, WIDE, ASKED], ids=["faces", "placed", "wide", "asked"]
)
def test_tables_and_texts_have_what_a_program_takes_of_them(see, data):
    seen = see(HEAD + data + TRAIN)

    assert (seen.outcome, seen.windows) == ("returned: None", [1] * 4)


def test_stages_of_a_residual_network_have_the_channels_and_strides_of_the_real_one(see):
    program = """
import torch
from torch import nn
from torchvision.models import resnet50
body = nn.Sequential(*list(resnet50(pretrained=True).children())[:-2])
assert body(torch.zeros(2, 3, 64, 64)).shape == (2, 2048, 2, 2)
assert resnet50().layer2(torch.zeros(2, 256, 8, 8)).shape == (2, 512, 4, 4)
""" + FLAGS.replace("import torch\nfrom torch import nn\n", "")
    assert see(program).windows == [1] * 4


PAIRED = """
import torch
from torch import nn
from torchvision import datasets, transforms
from torchvision.transforms import functional as F

class Pairs(datasets.MNIST):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.both = [(n, n + 1) for n in range(64)]
    def __len__(self): return len(self.both)
    def __getitem__(self, n):
        shown, other = (self.data[k].numpy() for k in self.both[n])
        shown, other = transforms.Compose([transforms.ToTensor(), transforms.Resize(20)])(shown, other)
        assert 0 <= F.convert_image_dtype(self.data[n]).max() <= 1
        return torch.cat([shown, other]), int(self.targets[n])
net = nn.Sequential(nn.Flatten(), nn.Linear(2 * 20 * 20, 10))
Rows = lambda: Pairs("data", train=True, download=True)
"""


def test_a_set_of_a_programs_own_may_be_as_long_as_it_says(see):
    assert see(PAIRED + TRAIN).windows == [1] * 4


PARTS = """
import pandas as pd
class Rows:
    def __init__(self):
        table = pd.read_csv("parts.csv")
        self.rows = table[table["partition"] == 3]
        assert 0 < len(self.rows) < len(table)
    def __len__(self): return 64
    def __getitem__(self, n): return torch.randn(4), n % 2
net = nn.Linear(4, 2)
"""
RATED = """
import numpy as np
import pandas as pd
class Rows:
    def __init__(self):
        table = pd.read_csv("ratings.csv")
        users, items = table.user.unique(), table.item.unique()
        self.x = table.to_numpy()[:, :2].astype(int)
        self.many = max(len(users), len(items))
    def __len__(self): return 64
    def __getitem__(self, n): return torch.tensor(self.x[n]), n % 2
net = nn.Sequential(nn.Embedding(50, 4), nn.Flatten(), nn.Linear(8, 2))
"""


@pytest.mark.full
@pytest.mark.parametrize("data", [PARTS, RATED], ids=["parts", "rated"])
def test_a_table_has_the_numbers_that_are_looked_for_and_who_rates_what_comes_first(see, data):
    seen = see(HEAD + data + TRAIN)

    assert (seen.outcome, seen.windows) == ("returned: None", [1] * 4)


OLDER = """
import torch
from torch import nn
from transformers import AdamW, AutoTokenizer, BertForSequenceClassification
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
net = BertForSequenceClassification.from_pretrained("bert-base-uncased", num_labels=2)
optimizer = AdamW(net.parameters(), lr=1e-3, correct_bias=False)
assert optimizer.defaults["weight_decay"] == 0.0 and optimizer.defaults["eps"] == 1e-6
for step in range(4):
    batch = tokenizer.batch_encode_plus(["a b", "b c d"], pad_to_max_length=True, max_length=8, return_tensors="pt")
    assert batch["input_ids"].shape == (2, 8)
    loss = net(**batch, labels=torch.tensor([0, 1])).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_names_that_transformers_has_dropped_are_served(see):
    assert see(OLDER).windows == [1] * 4


OPTIONS = """
from tap import Tap
from pathlib import Path
class Args(Tap):
    width: int = 5
    rate: float = 0.1
    folder: Path = "data"
    def process_args(self): self.wide = self.width * 2
args = Args().parse_args()
assert args.wide == 10 and (args.folder / "x").name == "x" and args.as_dict()["rate"] == 0.1
"""


def test_a_command_line_that_is_a_class_has_its_defaults(see):
    assert see(OPTIONS + FLAGS).windows == [1] * 4
