#!/usr/bin/env python3
"""Takes networks of Keras and torchvision with random weights through `plimsoll export` into every form it writes,
and compares what Keras, PyTorch and onnxruntime make of those with what the network gave at first.

    tools/golden/check_export.py [--program build/plimsoll] [NETWORK...]

Needs TensorFlow (Keras 3), torch, torchvision, safetensors and onnxruntime. Prints the largest difference relative to
the largest logit; more than 1e-4 fails."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

import check_keras_import  # noqa: E402
import check_torch_import  # noqa: E402

FORMS = ("keras", "h5", "weights.h5", "safetensors", "onnx", "folded.onnx")


def of_keras(name, file):
    make, size = check_keras_import.NETWORKS[name]
    model = check_keras_import.randomised(make(weights=None, classifier_activation=None), 1)
    model.save(file)
    return size, lambda image: model.predict(image, verbose=0)[0], model, None


def of_torch(name, file):
    make, size, _ = check_torch_import.NETWORKS[name.removesuffix("_torch")]
    model = check_torch_import.randomised(make(), 1)
    torch.save(model.state_dict(), file)
    return size, lambda image: run_torch(model, image), None, make


def run_torch(model, image):
    with torch.no_grad():
        return model.eval()(torch.from_numpy(image.transpose(0, 3, 1, 2).copy()))[0].numpy()


def scores(form, file, image, keras_model, make_torch):
    """Class scores by a reader of the file; None: it takes a network that the file does not have."""
    if form in ("keras", "h5"):
        model = keras.models.load_model(file)
        # Shares of classes would round small scores away.
        last = model.layers[-1]
        assert last.activation is keras.activations.softmax, last.name
        if isinstance(last, keras.layers.Activation):
            return keras.Model(model.input, last.input).predict(image, verbose=0)[0]
        last.activation = keras.activations.linear
        return model.predict(image, verbose=0)[0]
    if form == "weights.h5":
        if keras_model is None:
            return None
        again = keras.models.clone_model(keras_model)
        again.load_weights(file)
        return again.predict(image, verbose=0)[0]
    if form == "safetensors":
        state = load_file(file)
        if make_torch is None:
            return None
        model = make_torch()
        left = model.load_state_dict(state, strict=False)
        odd = [key for key in left.missing_keys if "num_batches" not in key and not key.lower().startswith("aux")]
        assert not left.unexpected_keys and not odd, (left.unexpected_keys, odd)
        return run_torch(model, image)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"image": image.transpose(0, 3, 1, 2).copy()})[0][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    failed = False
    every = [*check_keras_import.NETWORKS, *(name + "_torch" for name in check_torch_import.NETWORKS)]
    for name in options.networks or every:
        is_torch = name.endswith("_torch")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / ("source.pth" if is_torch else "source.h5")
            size, run, keras_model, make_torch = (of_torch if is_torch else of_keras)(name, source)
            image = (check_keras_import.picture(size) / 127.5 - 1).astype("float32")[None]
            expected = run(image)
            for form in FORMS:
                file = pathlib.Path(folder) / ("x." + form)
                words = [options.program, "export", source, "--model", name, "--to", file]
                subprocess.run(words + (["--fold-batch-norm"] if form == "folded.onnx" else []),
                               check=True, stdout=subprocess.DEVNULL)
                got = scores(form, str(file), image, keras_model, make_torch)
                file.unlink()
                if got is None:
                    continue
                off = np.abs(got - expected).max() / np.abs(expected).max()
                failed = failed or not off <= 1e-4  # what is no number fails
                print(f"{name:<20} {form:<12} {off:.1e}", flush=True)
            keras.backend.clear_session()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
