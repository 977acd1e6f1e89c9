"""One measurement of a network with Keras on TensorFlow, in float64 or float32.

`measure(network, recipe, precision)` gives a dict of the loss, the logits and the gradients
at the start, the inference logits, the moving statistics after one training forward, and
the losses of ten steps of each optimizer. Tensors are in the logical layout of rule.py.
"""

import keras
import numpy as np
import tensorflow as tf

import networks_keras
import rule
from recipes import OPTIMIZERS, STEPS

VERSION = f"keras {keras.__version__}, tensorflow {tf.__version__}"

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

# Keras keeps kernels as [kh][kw][in][out], depthwise ones as [kh][kw][C][1].
TO_LOGICAL = {"conv": (3, 2, 0, 1), "depthwise": (2, 3, 0, 1)}
FROM_LOGICAL = {"conv": (2, 3, 1, 0), "depthwise": (2, 3, 0, 1)}


def layout(layer, variable):
    """"conv" or "depthwise" for a kernel of four dimensions, None for the rest."""
    if len(variable.shape) != 4:
        return None
    depthwise = isinstance(layer, keras.layers.DepthwiseConv2D)
    return "depthwise" if depthwise or variable.name == "depthwise_kernel" else "conv"


def to_logical(value, order):
    return np.transpose(value, TO_LOGICAL[order]) if order else np.asarray(value)


def named_variables(model):
    """{"layer/weight": (variable, layout)} in the order of the layers."""
    return {
        f"{layer.name}/{variable.name}": (variable, layout(layer, variable))
        for layer in model.layers
        for variable in layer.weights
    }


def fill(variables, beta):
    """Gives every variable the value of the rule."""
    for name, (variable, order) in variables.items():
        shape = tuple(variable.shape)
        if order:
            logical = tuple(shape[axis] for axis in TO_LOGICAL[order])
            value = rule.parameter(name, logical, beta)
            value = np.transpose(value, FROM_LOGICAL[order])
        else:
            value = rule.parameter(name, shape, beta)
        variable.assign(value.astype(variable.dtype))


def optimizer_of(kind, rate, precision):
    # Keras casts Python numbers by way of float32; NumPy's float64 keeps all their digits.
    number = np.float64 if precision == "float64" else float
    options = {name: number(value) for name, value in OPTIMIZERS[kind].items()}
    classes = {
        "sgd": keras.optimizers.SGD,
        "rmsprop": keras.optimizers.RMSprop,
        "adam": keras.optimizers.Adam,
    }
    return classes[kind](learning_rate=rate, **options)


def measure(network, recipe, precision, kinds=tuple(OPTIMIZERS)):
    """Everything that the golden file of `network` needs, in the given precision."""
    keras.backend.set_floatx(precision)
    model = networks_keras.build(network, recipe["image"], recipe["classes"])
    variables = named_variables(model)
    fill(variables, recipe["beta"])

    images = rule.images((recipe["batch"], *recipe["image"])).astype(precision)
    images = tf.constant(np.transpose(images, (0, 2, 3, 1)))
    labels = tf.constant(rule.labels(recipe["batch"], recipe["classes"]))

    @tf.function
    def forward_backward():
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
            )
        return loss, logits, tape.gradient(loss, model.trainable_variables)

    eval_logits = model(images[:2], training=False).numpy()
    loss, logits, gradients = forward_backward()
    by_id = {id(v): g.numpy() for v, g in zip(model.trainable_variables, gradients)}
    result = {
        "loss": float(loss),
        "logits": logits.numpy().astype(np.float64),
        "eval_logits": eval_logits.astype(np.float64),
        "parameters": model.count_params(),
        "gradients": {
            name: to_logical(by_id[id(variable)], order).astype(np.float64)
            for name, (variable, order) in variables.items()
            if id(variable) in by_id
        },
        "moving": {
            name: variable.numpy().astype(np.float64)
            for name, (variable, _) in variables.items()
            if "/moving_" in name
        },
        "losses": {},
    }
    for kind in kinds:
        fill(variables, recipe["beta"])
        optimizer = optimizer_of(kind, recipe["rates"][kind], precision)
        optimizer.build(model.trainable_variables)
        losses = []
        for _ in range(STEPS):
            loss, _, gradients = forward_backward()
            optimizer.apply(gradients)
            losses.append(float(loss))
        result["losses"][kind] = losses
    return result
