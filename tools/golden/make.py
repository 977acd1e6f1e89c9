"""Remakes the golden files of tests/golden.

Run inside a venv with tensorflow-cpu and torch:

    python tools/golden/make.py [network...]

Without names, every network of recipes.py is made. The main values are those of Keras in
float64; `f32_gap` is the distance of Keras's own float32 run, and `pytorch` that of PyTorch
in float64 for the networks written in both.
"""

import json
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import networks_torch
import rule
import run_keras
import run_torch
from recipes import OPTIMIZERS, RECIPES

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
SAMPLES = 4
GOLDEN_RATIO = 0.6180339887498949
VANISHING = 1e-9  # of the norm of the whole gradient: zero but for rounding


def short(value):
    """Twelve significant digits, enough for a float32 test and half the size."""
    return float(f"{value:.12g}")


def numbers(values):
    return [short(value) for value in np.ravel(values)]


def summary(tensor):
    """The norm of a tensor and a few values spread over it, with their flat indices."""
    flat = np.ravel(tensor)
    places = sorted({int((k * GOLDEN_RATIO) % 1.0 * flat.size) for k in range(1, SAMPLES + 1)})
    return {
        "norm": short(np.linalg.norm(flat)),
        "samples": [[place, short(flat[place])] for place in places],
    }


def relative(values, truth):
    """The largest difference relative to the largest true value."""
    truth = np.asarray(truth)
    return short(np.max(np.abs(np.asarray(values) - truth)) / np.max(np.abs(truth)))


def loss_gap(losses, truth):
    """The largest relative difference of two sequences of losses, step by step."""
    truth = np.asarray(truth)
    return short(np.max(np.abs(np.asarray(losses) - truth) / np.abs(truth)))


def gradient_gaps(gradients, truth):
    """Distances of the gradients from the true ones, over the tensors that matter:
    `largest` and `median` of |g - t| / |t|, `norms` the largest of ||g| - |t|| / |t|.
    `vanishing` is the largest |g - t| / |whole gradient| of the tensors whose gradient is zero
    but for rounding, such as a bias before batch normalization."""
    norms = {name: np.linalg.norm(value) for name, value in truth.items()}
    whole = np.sqrt(sum(norm**2 for norm in norms.values()))
    gaps, norm_gaps, vanishing = [], [], [0.0]
    for name, norm in norms.items():
        difference = np.linalg.norm(gradients[name] - truth[name])
        if norm < VANISHING * whole:
            vanishing.append(difference / whole)
            continue
        scale = max(norm, 1e-6 * whole)
        gaps.append(difference / scale)
        norm_gaps.append(abs(np.linalg.norm(gradients[name]) - norm) / scale)
    return {
        "largest": short(max(gaps)),
        "median": short(np.median(gaps)),
        "norms": short(max(norm_gaps)),
        "vanishing": short(max(vanishing)),
    }


def float32_gap(single, double):
    gradients = gradient_gaps(single["gradients"], double["gradients"])
    return {
        "loss": loss_gap([single["loss"]], [double["loss"]]),
        "logits": relative(single["logits"], double["logits"]),
        "eval_logits": relative(single["eval_logits"], double["eval_logits"]),
        "gradients": gradients["largest"],
        "gradients_median": gradients["median"],
        "gradient_norms": gradients["norms"],
        "gradients_vanishing": gradients["vanishing"],
        **{
            kind: loss_gap(single["losses"][kind], losses)
            for kind, losses in double["losses"].items()
        },
    }


def pytorch_check(network, recipe, double):
    check = run_torch.measure(network, recipe)
    if check["gradients"].keys() != double["gradients"].keys():
        raise RuntimeError(f"{network}: PyTorch and Keras differ in their parameters")
    gradients = gradient_gaps(check["gradients"], double["gradients"])
    return {
        "version": run_torch.VERSION,
        "loss": short(check["loss"]),
        "logits_max_rel_difference": relative(check["logits"], double["logits"]),
        "gradient_max_rel_difference": gradients["largest"],
        "moving_max_rel_difference": max(
            relative(check["moving"][name], value) for name, value in double["moving"].items()
        ),
        "sgd_losses": numbers(check["losses"]["sgd"]),
    }


def golden(network, recipe):
    """The content of the golden file of `network`."""
    double = run_keras.measure(network, recipe, "float64")
    single = run_keras.measure(network, recipe, "float32")
    content = {
        "network": network,
        "framework": run_keras.VERSION,
        "batch": recipe["batch"],
        "image": recipe["image"],
        "classes": recipe["classes"],
        "beta": recipe["beta"],
        "rule": rule.TEXT,
        "parameters": double["parameters"],
        "loss": short(double["loss"]),
        "logits": numbers(double["logits"]),
        "eval_logits": numbers(double["eval_logits"]),
        "gradients": {name: summary(value) for name, value in double["gradients"].items()},
        "moving": {name: summary(value) for name, value in double["moving"].items()},
        "steps": {
            kind: {
                "lr": recipe["rates"][kind],
                **options,
                "losses": numbers(double["losses"][kind]),
            }
            for kind, options in OPTIMIZERS.items()
        },
        "f32_gap": float32_gap(single, double),
    }
    if network in networks_torch.NETWORKS:
        content["pytorch"] = pytorch_check(network, recipe, double)
    return content


def write(path, content):
    """Writes one line per field, and one per tensor or optimizer in the nested ones."""
    lines = []
    for key, value in content.items():
        text = json.dumps(value)
        if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
            inner = ",\n".join(
                f"    {json.dumps(name)}: {json.dumps(item)}" for name, item in value.items()
            )
            text = "{\n" + inner + "\n  }"
        lines.append(f"  {json.dumps(key)}: {text}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(names):
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        sys.exit(f"unknown network {', '.join(unknown)}; known: {', '.join(RECIPES)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or RECIPES:
        start = time.monotonic()
        content = golden(name, RECIPES[name])
        write(FOLDER / f"{name}.json", content)
        print(f"{name}: {time.monotonic() - start:.0f} s, loss {content['loss']}")
        print(f"  f32 gap {content['f32_gap']}")
        print(f"  pytorch {content.get('pytorch', 'not written')}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
