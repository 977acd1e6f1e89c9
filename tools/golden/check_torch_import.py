#!/usr/bin/env python3
"""Writes torchvision's networks with random weights as state_dicts, and compares what `plimsoll predict --logits`
makes of a picture with what PyTorch does.

    tools/golden/check_torch_import.py [--program build/plimsoll] [NETWORK...]

Needs torch, torchvision, safetensors and Pillow. Each is written as a zip, in the form before 1.6, and as
safetensors. Prints the largest difference relative to the largest logit; more than 1e-4 fails."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import types

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file

# Its compiled parts, which no classifier uses, want one version of torch.
sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
from torchvision import models  # noqa: E402

NETWORKS = {
    "resnet50": (lambda: models.resnet50(weights=None), 224, "torch"),
    "mobilenet_v2": (lambda: models.mobilenet_v2(weights=None), 224, "torch"),
    "inception_v3": (lambda: models.inception_v3(weights=None, init_weights=True, transform_input=False), 299, "tf"),
    "googlenet": (lambda: models.googlenet(weights=None, init_weights=True, transform_input=False), 224, "tf"),
}


def randomised(model, seed):
    """Statistics that are not 0 and 1, so that a mistake about them shows."""
    torch.manual_seed(seed)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            for tensor in (module.weight.data, module.bias.data, module.running_mean, module.running_var):
                tensor += 0.2 * torch.rand_like(tensor)
    return model.eval()


def picture(size):
    y, x, c = np.mgrid[0:size, 0:size, 0:3]
    return ((7 * y + 3 * x + 50 * c) % 256).astype("uint8")


def normalised(pixels, mode):
    x = pixels.astype("float32")
    if mode == "tf":
        return x / 127.5 - 1
    return (x / 255 - np.array([0.485, 0.456, 0.406], "float32")) / np.array([0.229, 0.224, 0.225], "float32")


def logits_by(program, file, image):
    words = [program, "predict", file, image, "--json", "--logits", "--top", "1000"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr)
        return np.full(1000, np.inf)
    found = np.zeros(1000)
    for guess in json.loads(done.stdout)[0]["classes"]:
        found[int(guess["name"])] = guess["logit"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    worst = 0
    for name in options.networks or NETWORKS:
        make, size, mode = NETWORKS[name]
        model = randomised(make(), 1)
        pixels = picture(size)
        with torch.no_grad():
            chw = torch.from_numpy(normalised(pixels, mode).transpose(2, 0, 1).copy())
            expected = model(chw[None])[0].numpy()
        with tempfile.TemporaryDirectory() as folder:
            image = pathlib.Path(folder) / "ramp.png"
            Image.fromarray(pixels).save(image)
            for form in ("zip.pth", "old.pth", "safetensors"):
                file = pathlib.Path(folder) / f"{name}.{form}"
                if form == "safetensors":
                    save_file(model.state_dict(), file)
                else:
                    torch.save(model.state_dict(), file, _use_new_zipfile_serialization=form == "zip.pth")
                off = np.abs(logits_by(options.program, file, image) - expected).max() / np.abs(expected).max()
                worst = np.maximum(worst, off)
                print(f"{name:<14} {form:<12} {off:.1e}", flush=True)
                file.unlink()
    sys.exit(0 if worst <= 1e-4 else 1)


if __name__ == "__main__":
    main()
