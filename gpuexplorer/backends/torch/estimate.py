"""How long a step will take, from a part of it."""

from __future__ import annotations

import math
from time import perf_counter

from gpuexplorer.backends.models import SHORT_FLOP
from gpuexplorer.backends.torch.model import TorchModel

TRIED_N = 512
"""A product of this size tells about how fast long arithmetic is, where a batch cannot be cut."""
ENOUGH_S = 1.0
"""A trial that took this long is not made again."""


def estimate_s(model: TorchModel) -> float:
    """Return about how long a step takes: by a few samples of its batch, or a product's rate."""
    flops, cut = model.plan.flops, model.family.cut
    batch = len(model.data[cut[0]]) if cut else 1
    samples = max(1, math.ceil(batch * SHORT_FLOP / 2 / flops))
    if not cut or flops * samples / batch > 4 * SHORT_FLOP:
        return flops / _rate_Hz(model)
    return _samples_s(model, samples) * batch / samples


def _samples_s(model: TorchModel, samples: int) -> float:
    """Return the seconds of some samples, with their backward pass where the model trains."""
    data = [
        model.data[name][:samples] if name in model.family.cut else model.data[name]
        for name in model.family.data
    ]
    took_s = math.inf
    for _ in range(2):  # the first one looks for kernels
        model.wait()
        began = perf_counter()
        result = model.module(*data)
        if model.training is not None:
            result.backward()
        model.wait()
        took_s = min(took_s, perf_counter() - began)
        if took_s > ENOUGH_S:
            break
    model.module.zero_grad(set_to_none=True)
    return took_s


def _rate_Hz(model: TorchModel) -> float:
    """Return the operations a second of a product in the type that arithmetic has."""
    torch = model.torch
    dtype = getattr(torch, model.format.autocast or model.format.stored)
    factor = torch.ones(TRIED_N, TRIED_N, dtype=dtype, device=model.place)
    took_s = math.inf
    for _ in range(3):
        model.wait()
        began = perf_counter()
        torch.mm(factor, factor)
        model.wait()
        took_s = min(took_s, perf_counter() - began)
    return float(2 * TRIED_N**3 / took_s)
