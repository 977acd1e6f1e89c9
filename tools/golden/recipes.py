"""How each network is measured: batch, image [C, H, W], classes and learning rates.

Batch and image keep the last feature map large enough for batch normalization to be well
conditioned; learning rates move the loss by at least a tenth in ten steps without chaos.
"""

STEPS = 10
OPTIMIZERS = {
    "sgd": {"momentum": 0.9},
    "rmsprop": {"rho": 0.9, "epsilon": 1e-7},
    "adam": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
}


BETA = 2.0


def recipe(batch, image, classes, sgd, rmsprop, adam, beta=BETA):
    rates = {"sgd": sgd, "rmsprop": rmsprop, "adam": adam}
    return {"batch": batch, "image": image, "classes": classes, "beta": beta, "rates": rates}


RECIPES = {
    "inception_mini": recipe(16, [1, 28, 28], 10, sgd=0.01, rmsprop=1e-4, adam=2e-4),
    "resnet20": recipe(16, [3, 32, 32], 10, sgd=0.002, rmsprop=5e-5, adam=1e-4),
    "xception_mini": recipe(16, [3, 48, 48], 5, sgd=0.005, rmsprop=1e-4, adam=2e-4),
    "googlenet": recipe(8, [3, 96, 96], 1000, sgd=5e-6, rmsprop=1e-6, adam=2e-6),
    "mobilenet_v2": recipe(8, [3, 96, 96], 1000, sgd=1e-5, rmsprop=3e-6, adam=5e-6),
    "resnet50": recipe(8, [3, 96, 96], 1000, sgd=2e-7, rmsprop=4e-7, adam=5e-7),
    "xception": recipe(4, [3, 96, 96], 1000, sgd=1e-4, rmsprop=2e-6, adam=4e-6),
    "inception_v3": recipe(4, [3, 139, 139], 1000, sgd=1e-7, rmsprop=2e-7, adam=3e-7),
    "mobilenet": recipe(8, [3, 96, 96], 1000, sgd=1e-5, rmsprop=2e-6, adam=4e-6),
    "vgg16": recipe(8, [3, 32, 32], 10, sgd=2e-4, rmsprop=2e-6, adam=4e-6),
    "inception_resnet_v2": recipe(4, [3, 139, 139], 1000, sgd=1e-5, rmsprop=1e-6, adam=2e-6),
}
