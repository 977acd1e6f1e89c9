#!/usr/bin/env python3
"""A user's network with an Inception block: written and trained three steps by Keras, taken over by `plimsoll train`
for five steps in a budget, with what the optimizer remembered, and back into Keras.

    tools/golden/check_round_trip.py [--program build/plimsoll] [sgd|adam|rmsprop...]

Needs TensorFlow (Keras 3), onnxruntime, safetensors and Pillow. Five losses within 1e-3 of those of Keras training on;
what Keras, onnxruntime and PyTorch's safetensors make of the exported files within 1e-4 of what we make of them."""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

from make_keras_training import CLASSES, IMAGE, OPTIMIZERS, network  # noqa: E402

COUNT = 10


def pictures(folder):
    """Files in a folder for each class; as Keras gets them, with their labels."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (COUNT, *IMAGE[1:], 3)).astype("uint8")
    labels = np.arange(COUNT) % CLASSES
    for i, (one, label) in enumerate(zip(pixels, labels)):
        place = folder / f"class{label}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(one).save(place / f"{i}.png")
    return pixels.astype("float32") / 127.5 - 1, labels


def gap(got, wanted):
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())


def check(name, program, folder):
    images, labels = pictures(folder / "photos")
    make, rate, more = OPTIMIZERS[name]
    keras.utils.set_random_seed(1)
    model = network()
    model.compile(make(rate, **more), "sparse_categorical_crossentropy")
    for _ in range(3):
        model.train_on_batch(images, labels)
    model.save(folder / "mine.keras")
    expected = []
    for _ in range(5):
        model.reset_metrics()
        expected.append(float(model.train_on_batch(images, labels)))

    def plimsoll(*words):
        return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout

    momentum = ["--momentum", more["momentum"]] if more else []
    plimsoll("train", folder / "photos", "--model", folder / "mine.keras", "--weights", folder / "mine.keras",
             "--optimizer", name, "--lr", rate, *momentum, "--batch", COUNT, "--epochs", 5, "--memory", "150MiB",
             "--out", folder / "run", "--quiet")
    with open(folder / "run" / "results.csv", encoding="utf-8") as file:
        losses = [float(row["loss"]) for row in csv.DictReader(file)]
    off = {"losses": float(np.max(np.abs(np.array(losses) - expected) / expected))}

    rows = json.loads(plimsoll("predict", folder / "run", folder / "photos", "--json", "--logits", "--top", CLASSES))
    ours = {pathlib.Path(row["file"]).stem: {guess["name"]: guess["logit"] for guess in row["classes"]} for row in rows}
    logits = np.array([[ours[str(i)][f"class{c}"] for c in range(CLASSES)] for i in range(COUNT)])
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    for form in ("keras", "h5", "weights.h5", "onnx", "safetensors"):
        plimsoll("export", folder / "run", "--to", folder / f"back.{form}")
    # best.safetensors is what `predict` and `export` take; without validation it is the last.
    off["keras"] = gap(keras.models.load_model(folder / "back.keras").predict(images, verbose=0), shares)
    off["h5"] = gap(keras.models.load_model(folder / "back.h5").predict(images, verbose=0), shares)
    again = network()
    again.load_weights(folder / "back.weights.h5")
    off["weights.h5"] = gap(again.predict(images, verbose=0), shares)
    session = onnxruntime.InferenceSession(str(folder / "back.onnx"), providers=["CPUExecutionProvider"])
    off["onnx"] = gap(session.run(["logits"], {"image": images.transpose(0, 3, 1, 2).copy()})[0], logits)
    stored = load_file(folder / "back.safetensors")
    kernel = again.get_layer("three").get_weights()[0]
    off["safetensors"] = gap(stored["three.weight"], kernel.transpose(3, 2, 0, 1))
    off["as Keras trained on"] = gap(shares, model.predict(images, verbose=0))
    return off


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("optimizers", nargs="*")
    options = parser.parse_args()
    failed = False
    for name in options.optimizers or OPTIMIZERS:
        with tempfile.TemporaryDirectory() as folder:
            for what, off in check(name, str(pathlib.Path(options.program).resolve()), pathlib.Path(folder)).items():
                failed = failed or not off <= (1e-3 if what in ("losses", "as Keras trained on") else 1e-4)
                print(f"{name:<8} {what:<20} {off:.1e}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
