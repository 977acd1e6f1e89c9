"""How each network is measured: batch, image [C, H, W], classes, learning rates and `beta`,
the mean of the betas of batch normalization.

Batch, image and beta keep the gradients well conditioned (see "Precision" in README.md);
learning rates move the loss by at least a tenth in ten steps, smoothly.
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
    "inception_mini": recipe(16, [1, 28, 28], 10, sgd=0.01, rmsprop=1e-4, adam=2e-4, beta=0.0),
    "resnet20": recipe(16, [3, 32, 32], 10, sgd=8e-5, rmsprop=7e-5, adam=1e-4, beta=1.0),
    "xception_mini": recipe(16, [3, 48, 48], 5, sgd=4e-4, rmsprop=7e-5, adam=1e-4, beta=1.5),
    "googlenet": recipe(4, [3, 64, 64], 1000, sgd=6e-6, rmsprop=1e-6, adam=2e-6, beta=1.5),
    "mobilenet_v2": recipe(8, [3, 96, 96], 1000, sgd=8e-5, rmsprop=1e-5, adam=2e-5),
    "efficientnet_lite0": recipe(8, [3, 96, 96], 1000, sgd=8e-5, rmsprop=1e-5, adam=2e-5),
    "efficientnet_lite1": recipe(8, [3, 96, 96], 1000, sgd=8e-5, rmsprop=1e-5, adam=2e-5),
    "efficientnet_lite2": recipe(8, [3, 96, 96], 1000, sgd=8e-5, rmsprop=1e-5, adam=2e-5),
    "resnet50": recipe(8, [3, 96, 96], 1000, sgd=2e-6, rmsprop=6e-6, adam=1e-5, beta=2.5),
    "xception": recipe(4, [3, 96, 96], 1000, sgd=3e-5, rmsprop=1e-5, adam=2e-5),
    "inception_v3": recipe(4, [3, 139, 139], 1000, sgd=3e-5, rmsprop=2e-6, adam=3e-6),
    "mobilenet": recipe(8, [3, 96, 96], 1000, sgd=6e-5, rmsprop=1e-5, adam=3e-5),
    "vgg16": recipe(8, [3, 32, 32], 10, sgd=2e-4, rmsprop=2e-6, adam=4e-6),
    "inception_resnet_v2": recipe(
        4, [3, 139, 139], 1000, sgd=1e-5, rmsprop=1e-6, adam=2e-6, beta=0.0
    ),
}
