#!/usr/bin/env python3
"""Writes TF-Slim's networks with random weights as TensorFlow checkpoints of both versions, and compares what
`plimsoll predict --logits` makes of a picture with what TensorFlow does.

    tools/golden/check_slim_import.py [--program build/plimsoll] [NETWORK...]

Needs TensorFlow and Pillow. Beside the weights there are what a trainer leaves: global_step and slots of Momentum.
Prints the largest difference relative to the largest logit; more than 1e-4 fails."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402
from PIL import Image  # noqa: E402

from networks_slim import NETWORKS  # noqa: E402


def picture(size):
    y, x, c = np.mgrid[0:size, 0:size, 0:3]
    return ((7 * y + 3 * x + 50 * c) % 256).astype("uint8")


def normalised(pixels, mode):
    x = pixels.astype("float32")
    return x - np.array([123.68, 116.78, 103.94], "float32") if mode == "slim" else x / 127.5 - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/plimsoll")
    parser.add_argument("networks", nargs="*")
    options = parser.parse_args()
    tf.disable_eager_execution()
    worst = 0
    for name in options.networks or NETWORKS:
        size, classes, mode, define = NETWORKS[name]
        pixels = picture(size)
        with tf.Graph().as_default(), tf.Session() as session, tempfile.TemporaryDirectory() as folder:
            image = tf.constant(normalised(pixels, mode)[None])
            logits = define(image, classes)
            first = tf.trainable_variables()[0]
            slots = [tf.get_variable(first.op.name + "/Momentum", first.shape)]
            step = tf.get_variable("global_step", [], tf.int64, initializer=tf.zeros_initializer)
            session.run(tf.global_variables_initializer())
            expected = session.run(logits)[0]
            path = pathlib.Path(folder)
            Image.fromarray(pixels).save(path / "ramp.png")
            for version in (1, 2):
                saver = tf.train.Saver(write_version=version)
                prefix = path / f"{name}.v{version}.ckpt"
                saver.save(session, str(prefix), write_meta_graph=False, write_state=False)
                words = [options.program, "predict", prefix, path / "ramp.png", "--json", "--logits", "--top", "1001"]
                done = subprocess.run(words, capture_output=True, text=True)
                found = np.full(classes, np.inf)
                if done.returncode != 0:
                    print(done.stderr)
                else:
                    for guess in json.loads(done.stdout)[0]["classes"]:
                        found[int(guess["name"])] = guess["logit"]
                off = np.abs(found - expected).max() / np.abs(expected).max()
                worst = np.maximum(worst, off)
                print(f"{name:<20} V{version}  {off:.1e}", flush=True)
            del slots, step
    sys.exit(0 if worst <= 1e-4 else 1)


if __name__ == "__main__":
    main()
