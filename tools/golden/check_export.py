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


def log_of(shares):
    """Class scores but for a constant."""
    return np.log(shares) - np.log(shares).mean()


def scores(form, file, image, keras_model, make_torch):
    """What a reader makes of the file, and whether that is shares of classes."""
    if form in ("keras", "h5"):
        return keras.models.load_model(file).predict(image, verbose=0)[0], True
    if form == "weights.h5":
        if keras_model is None:
            return None, False
        again = keras.models.clone_model(keras_model)
        again.load_weights(file)
        return again.predict(image, verbose=0)[0], False
    if form == "safetensors":
        state = load_file(file)
        if make_torch is None:
            return None, False
        model = make_torch()
        left = model.load_state_dict(state, strict=False)
        odd = [key for key in left.missing_keys if "num_batches" not in key and not key.lower().startswith("aux")]
        assert not left.unexpected_keys and not odd, (left.unexpected_keys, odd)
        return run_torch(model, image), False
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return session.run(["logits"], {"image": image.transpose(0, 3, 1, 2).copy()})[0][0], False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    worst = 0
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
                got, is_shares = scores(form, str(file), image, keras_model, make_torch)
                file.unlink()
                if got is None:
                    continue
                wanted = expected - expected.mean() if is_shares else expected
                off = np.abs((log_of(got) if is_shares else got) - wanted).max() / np.abs(wanted).max()
                worst = max(worst, off)
                print(f"{name:<20} {form:<12} {off:.1e}", flush=True)
            keras.backend.clear_session()
    sys.exit(1 if worst > 1e-4 else 0)


if __name__ == "__main__":
    main()
