#!/usr/bin/env python3
"""Writes torchvision's RetinaNet with random weights as state_dicts, takes them through `plimsoll export` to ONNX
and to safetensors, and compares what onnxruntime and torchvision make of a picture.

    tools/golden/check_retinanet_import.py [--program build/plimsoll]

Needs torch, torchvision, safetensors, onnx and onnxruntime. Forms of the file: BatchNorms that were trained;
FrozenBatchNorm2d with 91 columns, which is published without an epsilon, by today's names and by those before
torchvision 0.14; FrozenBatchNorm2d with another number of classes. Prints the largest difference relative to the
largest number; more than 1e-4 fails."""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file, save_file

import networks_retinanet
from torch import nn
from torchvision.ops.misc import FrozenBatchNorm2d

SIDES = (64, 96)
NEVER = -100.0


def make(columns, frozen, epsilon):
    norm = ((lambda c, _: FrozenBatchNorm2d(c, epsilon)) if frozen
            else (lambda c, _: nn.BatchNorm2d(c, eps=epsilon)))
    torch.manual_seed(7)
    model = networks_retinanet.make("retinanet_r50", columns, norm)
    for module in model.modules():
        if isinstance(module, (FrozenBatchNorm2d, nn.BatchNorm2d)):
            module.running_mean += 0.1 * torch.randn_like(module.running_mean)
            # Some far below the epsilon.
            module.running_var *= torch.rand_like(module.running_var) + 0.5
            module.running_var[::7] = 3e-6
            module.weight.data[::7] *= 1e-3
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            module.weight.data *= 3
    return model.eval()


def outputs(model, images):
    with torch.no_grad():
        features = list(model.backbone(images).values())
        return model.head(features)


def old_names(state):
    renamed = {}
    for key, value in state.items():
        key = re.sub(r"(head\.\w+\.conv)\.(\d)\.0\.", lambda m: f"{m[1]}.{2 * int(m[2])}.", key)
        key = re.sub(r"(fpn\.(?:inner|layer)_blocks\.\d)\.0\.", r"\1.", key)
        renamed[key] = value
    return renamed


def flat(x, columns):
    n, channels, h, w = x.shape
    return x.reshape(n, channels // columns, columns, h, w).transpose(0, 3, 4, 1, 2).reshape(
        n, -1, columns)


def gap(got, expected):
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def check(program, folder, name, model, columns, old):
    images = torch.randn(2, 3, *SIDES, generator=torch.Generator().manual_seed(3))
    expected = {key: value.numpy() for key, value in outputs(model, images).items()}
    state = model.state_dict()
    worst = 0.0
    for ending in (".pth", ".safetensors"):
        path = folder / (name + ending)
        kept = old_names(state) if old else state
        torch.save(kept, path) if ending == ".pth" else save_file(kept, path)

        def export(to):
            subprocess.run([program, "export", str(path), "--to", str(to), "--image",
                            f"{SIDES[0]}x{SIDES[1]}"], check=True, capture_output=True)

        onnx = folder / (name + ".onnx")
        export(onnx)
        session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
        found = dict(zip([o.name for o in session.get_outputs()],
                         session.run(None, {"image": images.numpy()})))
        levels = range(len(found) // 2)
        scores = np.concatenate([flat(found[f"scores_{i}"], columns - 1) for i in levels], 1)
        deltas = np.concatenate([flat(found[f"deltas_{i}"], 4) for i in levels], 1)
        worst = max(worst, gap(scores, expected["cls_logits"][:, :, 1:]),
                    gap(deltas, expected["bbox_regression"]))

        back = folder / (name + ".back.safetensors")
        export(back)
        again = make(columns, False, 1e-5)
        again.load_state_dict(load_file(back))
        results = {key: value.numpy() for key, value in outputs(again, images).items()}
        assert (results["cls_logits"][:, :, 0] == NEVER).all()
        worst = max(worst, gap(results["cls_logits"][:, :, 1:], expected["cls_logits"][:, :, 1:]),
                    gap(results["bbox_regression"], expected["bbox_regression"]))
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/plimsoll")
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, columns, frozen, epsilon, old in (
                ("trained", 21, False, 1e-5, False), ("published", 91, True, 0.0, False),
                ("published_old", 91, True, 0.0, True), ("frozen", 21, True, 1e-5, False)):
            worst = check(program, pathlib.Path(folder), name, make(columns, frozen, epsilon), columns, old)
            failed = failed or not worst <= 1e-4
            print(f"{name}: {worst:.1e}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
