#!/usr/bin/env python3
"""Makes tests/golden/schedules.json: learning rates of Keras's schedules and PyTorch's OneCycleLR,
step by step, under the names that --schedule has for them. Needs tensorflow and torch; the values
in the tree came from 2.21 and 2.13.
"""
import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import torch  # noqa: E402
from tensorflow import keras  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEAK, STEPS = 0.1, 50
S = keras.optimizers.schedules

KERAS = {
    "exponential:every=10,rate=0.9": S.ExponentialDecay(PEAK, 10, 0.9),
    "exponential:every=10,rate=0.9,staircase=1": S.ExponentialDecay(PEAK, 10, 0.9, staircase=True),
    "step:every=20,factor=0.5": S.ExponentialDecay(PEAK, 20, 0.5, staircase=True),
    "poly:power=2,end=0.001": S.PolynomialDecay(PEAK, STEPS, 0.001, power=2.0),
    "poly": S.PolynomialDecay(PEAK, STEPS, 0.0),
    "cosine": S.CosineDecay(PEAK, STEPS),
    "cosine:end=0.1": S.CosineDecay(PEAK, STEPS, alpha=0.1),
    "cosine:first=7": S.CosineDecayRestarts(PEAK, 7),
    "cosine:first=7,times=1.5,scale=0.8,end=0.05": S.CosineDecayRestarts(
        PEAK, 7, t_mul=1.5, m_mul=0.8, alpha=0.05),
    "piecewise:11=0.05,31=0.01": S.PiecewiseConstantDecay([10, 30], [PEAK, 0.05, 0.01]),
}


def one_cycle(**settings):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=STEPS, **settings)
    rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step() if len(rates) < STEPS else None
    return rates


golden = {"peak": PEAK, "steps": STEPS, "rates": {}}
for name, schedule in KERAS.items():
    golden["rates"][name] = [float(schedule(step)) for step in range(STEPS)]
golden["rates"]["one-cycle"] = one_cycle()
golden["rates"]["one-cycle:rise=0.2,start=10,final=100"] = one_cycle(
    pct_start=0.2, div_factor=10, final_div_factor=100)
(ROOT / "tests/golden/schedules.json").write_text(json.dumps(golden, indent=1) + "\n")
