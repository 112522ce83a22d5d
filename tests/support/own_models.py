"""Model files for tests: good ones, and each way to be bad."""

from __future__ import annotations

from pathlib import Path

from gpuexplorer.workloads.loader import own_workload
from gpuexplorer.workloads.workload import Workload

GOOD = '''"""A little net."""
import torch

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, 4 * width)
        self.second = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x)))

def build(batch=8, width=32):
    return Net(width), torch.randn(batch, width)

def loss(output):
    return output.square().mean()
'''

CONVOLVES = """
import torch

def build():
    return torch.nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
"""

SETS_FLAGS = """
import torch

THREADS = torch.get_num_threads()
torch.set_num_threads(THREADS + 1)
torch.set_float32_matmul_precision("medium")
torch.set_default_dtype(torch.float64)
torch.use_deterministic_algorithms(True)
torch.set_autocast_enabled("cpu", True)
torch.set_grad_enabled(False)
torch.set_default_device("cpu")
torch.backends.cudnn.benchmark = True
torch.backends.mkldnn.enabled = False
torch.backends.cuda.enable_flash_sdp(False)
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True

class Net(torch.nn.Linear):
    def forward(self, x):
        assert torch.get_num_threads() == THREADS, "other threads than the run's"
        assert torch.get_float32_matmul_precision() == "highest", "fp32 is not fp32"
        assert torch.backends.cudnn.benchmark, "its own choice is gone"
        return super().forward(x)

def build():
    return Net(8, 8), torch.randn(2, 8)
"""
"""Sets for the whole process what a run states, and what is the file's own choice."""

FINDS_FLAGS = """
import torch

found = {
    "threads": torch.get_num_threads(),
    "fp32": torch.get_float32_matmul_precision(),
    "type": str(torch.get_default_dtype()),
    "deterministic": torch.are_deterministic_algorithms_enabled(),
    "autocast": torch.is_autocast_enabled("cpu"),
    "gradients": torch.is_grad_enabled(),
    "modes": torch._C._len_torch_function_stack(),
    "benchmark": torch.backends.cudnn.benchmark,
    "mkldnn": torch.backends.mkldnn.enabled,
    "flash": torch.backends.cuda.flash_sdp_enabled(),
    "reduced": torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
}
print(found)
assert found == {
    "threads": 1, "fp32": "highest", "type": "torch.float32", "deterministic": False,
    "autocast": False, "gradients": True, "modes": 0, "benchmark": False, "mkldnn": True,
    "flash": True, "reduced": False,
}

def build():
    return torch.nn.Linear(8, 8), torch.randn(2, 8)
"""
"""Runs only where everything is as PyTorch has it, on one thread."""

FAULTS: dict[str, tuple[str, str, int]] = {
    "raises in build": (
        "def build():\n    raise ValueError('no such thing')\n",
        "model.py:2: ValueError: no such thing",
        1,
    ),
    "raises in forward": (
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x @ torch.zeros(3, 3)\n"
        "def build():\n"
        "    return Net(), torch.randn(2, 5)\n",
        "model.py:4: RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        1,
    ),
    "exits": (
        "import sys\ndef build():\n    sys.exit(3)\n",
        "model.py:3: exit(3) was called while calling build()",
        1,
    ),
    "exits in forward": (
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        exit()\n"
        "def build():\n"
        "    return Net(), torch.randn(2, 5)\n",
        "model.py:4: exit() was called while",
        1,
    ),
    "missing package": (
        "import torch\nimport surely_not_installed.part\ndef build():\n    pass\n",
        "model.py:2: it needs the package 'surely_not_installed', which the engine's Python",
        3,
    ),
    "file beside": (
        "import helper\ndef build():\n    pass\n",
        "model.py:1: it imports 'helper', which lies next to it and does not come along",
        3,
    ),
    "only a module": (
        "import torch\ndef build():\n    return torch.nn.Linear(2, 2)\n",
        "model.py:2: build() returned a module without example inputs",
        2,
    ),
    "something else": (
        "def build():\n    return 'a module', 'inputs'\n",
        "model.py:1: build() returned a str first, which is not a torch.nn.Module",
        2,
    ),
    "nothing": (
        "def build():\n    pass\n",
        "model.py:1: build() returned None",
        2,
    ),
    "no tensors": (
        "import torch\ndef build():\n    return torch.nn.Linear(2, 2), 3\n",
        "model.py:2: build() returned no tensor among its example inputs",
        2,
    ),
    "takes all memory": (
        "import torch\ndef build():\n    return torch.nn.Identity(), torch.empty(1 << 46)\n",
        "model.py:3: memory ran out while calling build()",
        1,
    ),
    "prints megabytes": (
        "import os, sys\n"
        "def build():\n"
        "    for i in range(40000):\n"
        "        print('line', i, 'x' * 100)\n"
        "    sys.stdout.write('y' * 4_000_000)\n"
        "    for _ in range(400):\n"
        "        os.write(1, b'z' * 8000 + b'\\n')\n"
        "    print('\\nthe last line')\n"
        "    raise RuntimeError('after all that')\n",
        "model.py:9: RuntimeError: after all that",
        1,
    ),
}
"""Each with a piece of what is said, and the exit code."""
ENDS_THE_PROCESS = "import os\ndef build():\n    print('good bye', flush=True)\n    os._exit(5)\n"
HANGS = "def build():\n    while True:\n        pass\n"
RANDOM = (
    "import torch\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x + torch.rand_like(x)\n"
    "def build():\n"
    "    return Net(), torch.randn(4, 4)\n"
)
ONLY_FLOAT32 = (
    "import torch\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x @ torch.ones(4, 4)\n"
    "def build():\n"
    "    return Net(), torch.randn(4, 4)\n"
)
NO_ELEMENTS = (
    "import torch\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x[:0]\n"
    "def build():\n"
    "    return Net(), torch.randn(4, 4)\n"
)


VARIED = (
    "import torch\n"
    "class Net(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)\n"
    "        self.norm = torch.nn.BatchNorm2d(8)\n"
    "        self.embed = torch.nn.Embedding(10, 8)\n"
    "    def forward(self, images, classes):\n"
    "        x = torch.relu(self.norm(self.conv(images))).mean(dim=(2, 3))\n"
    "        x = x + self.embed(classes)\n"
    "        return {'scores': x, 'best': x.argmax(dim=1), 'parts': (x[:, :4], x[:, 4:])}\n"
    "def build():\n"
    "    inputs = {'images': torch.randn(4, 3, 8, 8), 'classes': torch.arange(4)}\n"
    "    return Net(), inputs, lambda out: out['scores'].square().sum()\n"
)
DEPENDS_ON_PRECISION = (
    "import torch\n"
    "class Net(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x if x.dtype == torch.float64 else 2 * x\n"
    "def build():\n"
    "    return Net(), torch.randn(4, 4)\n"
)


def write(folder: Path, text: str, name: str = "model.py") -> Path:
    """Write a model's file and return where it is."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def workload_of(folder: Path, text: str, name: str = "model.py") -> Workload:
    """Write a model's file and read it as a workload."""
    return own_workload(write(folder, text, name))


OVERWRITES = """
import torch

class Net(torch.nn.Module):
    def forward(self, x, *, seen):
        if seen.abs().max() > 0:
            raise AssertionError("the inputs are those that the launch before left")
        seen.add_(1)
        return x.mul_(1.5) + seen

def build():
    return Net(), {"x": torch.ones(4, 4), "seen": torch.zeros(4, 4)}
"""
"""A model that changes both of its inputs, and cannot be launched twice on them."""

TRAINS_ON_ITS_INPUTS = """
import torch

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x):
        if x.max() > 0:
            raise AssertionError("the inputs are those that the launch before left")
        return self.inner(x.add_(1))

def build(width=8):
    return Net(width), torch.zeros(2, width)

def loss(output):
    return output.square().mean()
"""
