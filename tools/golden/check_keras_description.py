"""Checks descriptions that tests/interop/keras_network_test.cpp wrote: that Keras makes models of
them, with as many layers, parameters and outputs as the description has, and writes them down again.

    PLIMSOLL_INTEROP_FILES=folder build/tests/plimsoll_tests --gtest_filter='KerasDescription*'
    python tools/golden/check_keras_description.py folder

Runs in a venv with Keras 3.
"""

import json
import pathlib
import sys

import keras

import networks_keras

CLASSES = 7


def check(path):
    text = path.read_text()
    described = json.loads(text)["config"]
    model = keras.models.model_from_json(text)
    name = path.name.split(".")[0]
    problems = []
    if len(model.layers) != len(described["layers"]):
        problems.append(f"{len(model.layers)} layers of {len(described['layers'])}")
    if model.output_shape != (None, CLASSES):
        problems.append(f"output {model.output_shape}")
    if name in networks_keras.OWN or name in networks_keras.APPLICATIONS:
        height, width, channels = model.input_shape[1:]
        reference = networks_keras.build(name, (channels, height, width), CLASSES)
        if model.count_params() != reference.count_params():
            problems.append(f"{model.count_params()} parameters of {reference.count_params()}")
        shapes = [tuple(w.shape) for w in model.weights]
        if shapes != [tuple(w.shape) for w in reference.weights]:
            problems.append("weights in another order")
    again = keras.models.model_from_json(model.to_json())
    if again.count_params() != model.count_params():
        problems.append("another model when written again")
    return problems, model.count_params()


def main(folder):
    failed = 0
    for path in sorted(pathlib.Path(folder).glob("*.config.json")):
        problems, parameters = check(path)
        failed += bool(problems)
        print(f"{path.name}: {parameters} parameters {'; '.join(problems) or 'as Keras has it'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1])
