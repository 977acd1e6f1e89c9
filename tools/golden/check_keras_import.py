#!/usr/bin/env python3
"""Writes Keras's own networks with random weights as .h5, .weights.h5 and .keras, and compares what
`plimsoll predict --logits` makes of a picture with what Keras does: as weights of the zoo's network, and where the
file has a description, as the network that it describes.

    tools/golden/check_keras_import.py [--program build/plimsoll] [NETWORK...]

Needs TensorFlow (Keras 3) and Pillow. Prints the largest difference relative to the largest logit; more than 1e-4
fails."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

NETWORKS = {
    "inception_v3": (keras.applications.InceptionV3, 299),
    "xception": (keras.applications.Xception, 299),
    "resnet50": (keras.applications.ResNet50, 224),
    "mobilenet": (keras.applications.MobileNet, 224),
    "mobilenet_v2": (keras.applications.MobileNetV2, 224),
    "inception_resnet_v2": (keras.applications.InceptionResNetV2, 299),
}


def randomised(model, seed):
    """Statistics that are not 0 and 1, so that a mistake about them shows."""
    rng = np.random.default_rng(seed)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.set_weights([(w + rng.uniform(0, 0.2, w.shape)).astype("float32") for w in layer.get_weights()])
    return model


def picture(size):
    y, x, c = np.mgrid[0:size, 0:size, 0:3]
    return ((7 * y + 3 * x + 50 * c) % 256).astype("uint8")


def normalised(pixels, mode):
    x = pixels.astype("float32")
    if mode == "caffe":
        return x[..., ::-1] - np.array([103.939, 116.779, 123.68], "float32")
    return x / 127.5 - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    worst = 0
    for name in options.networks or NETWORKS:
        make, size = NETWORKS[name]
        model = randomised(make(weights=None, classifier_activation=None), 1)
        pixels = picture(size)
        mode = "caffe" if name == "resnet50" else "tf"
        expected = model.predict(normalised(pixels, mode)[None], verbose=0)[0]
        with tempfile.TemporaryDirectory() as folder:
            image = pathlib.Path(folder) / "ramp.png"
            Image.fromarray(pixels).save(image)
            for form in (".h5", ".weights.h5", ".keras"):
                file = pathlib.Path(folder) / (name + form)
                (model.save_weights if form == ".weights.h5" else model.save)(file)
                offs = []
                for model_words in [["--model", name]] + ([] if form == ".weights.h5" else [[]]):
                    words = [options.program, "predict", file, image, *model_words, "--json", "--logits", "--top", "1000"]
                    done = subprocess.run(words, capture_output=True, text=True)
                    if done.returncode != 0:
                        print(name, form, done.stderr)
                        offs.append(1)
                        continue
                    found = np.zeros(1000)
                    for guess in json.loads(done.stdout)[0]["classes"]:
                        found[int(guess["name"])] = guess["logit"]
                    offs.append(np.abs(found - expected).max() / np.abs(expected).max())
                worst = np.max([worst, *offs])
                print(f"{name:<20} {form:<12} " + " ".join(f"{off:.1e}" for off in offs), flush=True)
                file.unlink()
    sys.exit(0 if worst <= 1e-4 else 1)


if __name__ == "__main__":
    main()
