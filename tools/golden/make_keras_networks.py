"""Makes tests/golden/keras_networks.json: small networks as Keras describes them, and the class
scores that Keras computes for them, in float64, from weights and an image by the rule.

Each case: `description`, the JSON; `image`, [C, H, W]; `logits`, of one image, before the softmax
or sigmoid at the end; `names`, of all weights in the order of model.layers, those of models inside
with the models' names and dots before theirs. `dialect` says whose JSON it is: Keras 3's own, or
the same rewritten by hand as Keras 2 or 1 wrote it.
"""

import copy
import json
import pathlib

import keras
import numpy as np
from keras import layers

import rule
from run_keras import FROM_LOGICAL, TO_LOGICAL, layout

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "keras_networks.json"
IMAGE = (16, 16, 3)


def inception_block():
    """A user's own block, with names of their own and a squeeze-and-excite gate."""
    image = keras.Input(IMAGE, name="pictures")
    x = layers.Conv2D(8, 3, padding="same", activation="relu", name="stem")(image)
    left = layers.Conv2D(8, 1, use_bias=False, name="left_1x1")(x)
    left = layers.BatchNormalization(epsilon=1e-4, scale=False, name="left_bn")(left)
    left = layers.LeakyReLU(negative_slope=0.1, name="left_leaky")(left)
    right = layers.SeparableConv2D(8, 3, padding="same", activation="swish", name="right")(x)
    pool = layers.AveragePooling2D(3, 1, padding="same", name="pool")(x)
    pool = layers.Conv2D(16, (1, 3), groups=2, padding="same", name="grouped")(pool)
    x = layers.Concatenate(name="mixed")([left, right, pool])
    gate = layers.GlobalAveragePooling2D(name="squeeze")(x)
    gate = layers.Reshape((1, 1, 32), name="gate_shape")(gate)
    gate = layers.Conv2D(32, 1, activation="sigmoid", name="gate")(gate)
    x = layers.Multiply(name="excite")([x, gate])
    x = layers.ZeroPadding2D(((0, 1), (2, 1)), name="frame")(x)
    x = layers.DepthwiseConv2D(3, 2, activation="relu6", name="depth")(x)
    x = layers.Cropping2D(((1, 0), (0, 1)), name="crop")(x)
    x = layers.MaxPooling2D(3, 2, padding="same", name="max")(x)
    x = layers.SpatialDropout2D(0.3, name="spatial")(x)
    x = layers.Flatten(name="flat")(x)
    x = layers.Dense(12, activation="tanh", use_bias=False, name="hidden")(x)
    x = layers.BatchNormalization(name="hidden_bn")(x)
    x = layers.Dropout(0.4, name="drop")(x)
    return keras.Model(image, layers.Dense(5, activation="softmax", name="logits")(x), name="mine")


def shared_layer():
    """One convolution called three times, once on its own output."""
    image = keras.Input(IMAGE, name="image")
    x = layers.Conv2D(8, 3, strides=2, padding="same", name="first")(image)
    conv = layers.Conv2D(8, 3, padding="same", activation="relu", name="shared")
    once = conv(x)
    twice = conv(once)
    small = layers.MaxPooling2D(2, name="small")(x)
    third = layers.UpSampling2D(2, name="large")(conv(small))
    x = layers.Add(name="sum")([once, twice, third])
    x = layers.GlobalMaxPooling2D(name="top")(x)
    x = layers.Dense(4, name="scores")(x)
    return keras.Model(image, layers.Activation("softmax", name="end")(x), name="sharing")


def nested_model():
    """A model inside, called twice, and a Sequential inside that."""
    inner = keras.Sequential(
        [layers.Conv2D(8, 1, name="a"), layers.ReLU(max_value=6, name="b")], name="tail"
    )
    start = keras.Input((None, None, 8), name="start")
    y = layers.Conv2D(8, 3, padding="same", name="body")(start)
    block = keras.Model(start, inner(y), name="block")
    image = keras.Input(IMAGE, name="image")
    x = layers.Rescaling(1 / 127.5, offset=-1, name="rescaling")(image)
    x = layers.Conv2D(8, 3, strides=2, name="stem")(x)
    x = block(block(x))
    x = layers.GlobalAveragePooling2D(keepdims=True, name="pool")(x)
    x = layers.Dropout(0.1, name="drop")(x)
    x = layers.Conv2D(6, 1, name="preds")(x)
    x = layers.Reshape((6,), name="flat")(x)
    return keras.Model(image, layers.Activation("softmax", name="end")(x), name="nesting")


def sequential():
    return keras.Sequential(
        [
            keras.Input(IMAGE, name="image"),
            layers.Conv2D(8, 3, activation="relu", name="one"),
            layers.MaxPooling2D(name="pool"),
            layers.Conv2D(16, 3, dilation_rate=2, name="two"),
            layers.ReLU(name="relu"),
            layers.Flatten(name="flat"),
            layers.Dense(1, activation="sigmoid", name="yes"),
        ],
        name="chain",
    )


def references(node):
    """The [layer, node, tensor] of all tensors among Keras 3's arguments."""
    if isinstance(node, dict):
        if node.get("class_name") == "__keras_tensor__":
            return [node["config"]["keras_history"]]
        return [r for value in node.values() for r in references(value)]
    return [r for value in node for r in references(value)] if isinstance(node, list) else []


def as_keras2(layer):
    """What Keras 2.4 writes for the same layer."""
    layer = {key: copy.deepcopy(layer[key]) for key in layer if key not in ("module", "registered_name")}
    config = layer["config"]
    layer.pop("build_config", None)
    if "batch_shape" in config:
        config["batch_input_shape"] = config.pop("batch_shape")
    if isinstance(config.get("dtype"), dict):
        config["dtype"] = {"class_name": "Policy", "config": {"name": "float32"}}
    if layer["class_name"] == "BatchNormalization":
        config["axis"] = [3] if config["axis"] == 3 else [-1]
    if layer["class_name"] == "LeakyReLU":
        config["alpha"] = config.pop("negative_slope")
    for key, value in config.items():
        if key.endswith("_initializer") and value:
            config[key] = {"class_name": value["class_name"], "config": {}}
    if "inbound_nodes" in layer:
        layer["inbound_nodes"] = [
            [[*reference, {}] for reference in references(node)] for node in layer["inbound_nodes"]
        ]
    if "layers" in config:
        config["layers"] = [as_keras2(inner) for inner in config["layers"]]
        for key in ("input_layers", "output_layers"):
            if key in config:
                config[key] = [config[key]] if isinstance(config[key][0], str) else config[key]
    return layer


def as_keras1(layer):
    """What Keras 1.2 writes for a layer of `sequential`."""
    config = layer["config"]
    old = {"name": config["name"], "trainable": True}
    if layer["class_name"] == "Conv2D":
        old |= {
            "nb_filter": config["filters"],
            "nb_row": config["kernel_size"][0],
            "nb_col": config["kernel_size"][1],
            "border_mode": config["padding"],
            "subsample": config["strides"],
            "dim_ordering": "tf",
            "bias": config["use_bias"],
            "activation": config["activation"],
        }
        if config["dilation_rate"] != [1, 1]:
            old["atrous_rate"] = config["dilation_rate"]
        return {"class_name": "Convolution2D", "config": old}
    if layer["class_name"] == "MaxPooling2D":
        old |= {"pool_size": [2, 2], "strides": [2, 2], "border_mode": "valid", "dim_ordering": "tf"}
    if layer["class_name"] == "ReLU":
        return {"class_name": "Activation", "config": old | {"activation": "relu"}}
    if layer["class_name"] == "Dense":
        old |= {"output_dim": config["units"], "bias": True, "activation": config["activation"]}
    return {"class_name": layer["class_name"], "config": old}


def keras1_sequential(description):
    chain = [as_keras1(layer) for layer in description["config"]["layers"][1:]]
    chain[0]["config"]["batch_input_shape"] = [None, *IMAGE]
    return {"class_name": "Sequential", "config": chain, "keras_version": "1.2.2"}


def variables(model, prefix=""):
    """{"layer/weight": (variable, layout)}, models inside opened up."""
    found = {}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found |= variables(layer, f"{prefix}{layer.name}.")
        else:
            for v in layer.weights:
                found[f"{prefix}{layer.name}/{v.name}"] = (v, layout(layer, v))
    return found


def case(name, model):
    named = variables(model)
    for weight, (variable, order) in named.items():
        shape = tuple(variable.shape)
        logical = tuple(shape[axis] for axis in TO_LOGICAL[order]) if order else shape
        value = rule.parameter(weight, logical, 0.0)
        variable.assign(np.transpose(value, FROM_LOGICAL[order]) if order else value)
    image = np.transpose(rule.images((1, IMAGE[2], IMAGE[0], IMAGE[1])), (0, 2, 3, 1)).astype("float64")
    ends = model.layers[-1]
    if getattr(ends, "activation", None) and ends.weights:
        ends.activation = keras.activations.linear
        logits = model
    elif isinstance(ends, layers.Activation):
        logits = keras.Model(model.inputs, ends.input)
    else:
        logits = model
    # What the layers at the input do is left to the preprocessing.
    if any(isinstance(layer, layers.Rescaling) for layer in model.layers):
        image = (image + 1) * 127.5
    values = np.asarray(logits(image, training=False))[0]
    return {
        "name": name,
        "image": [IMAGE[2], IMAGE[0], IMAGE[1]],
        "names": list(named),
        "logits": [float(f"{value:.12g}") for value in values],
    }


def main():
    keras.backend.set_floatx("float64")
    cases = []
    for make in (inception_block, shared_layer, nested_model, sequential):
        model = make()
        described = json.loads(model.to_json())
        described.pop("compile_config", None)
        measured = case(make.__name__, model)
        dialects = {"keras3": described, "keras2": as_keras2(described)}
        if make is sequential:
            dialects["keras1"] = keras1_sequential(described)
        for dialect, description in dialects.items():
            cases.append(measured | {"dialect": dialect, "description": description})
    lines = ",\n".join(json.dumps(entry) for entry in cases)
    GOLDEN.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
