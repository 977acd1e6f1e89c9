// Front door: what a tensor is, where it lies, and what a kernel promises about it.
#pragma once

#include "tensor/arena.h"
#include "tensor/attrs.h"
#include "tensor/conv_layout.h"
#include "tensor/convert.h"
#include "tensor/kernel.h"
#include "tensor/spec.h"
#include "tensor/view.h"
