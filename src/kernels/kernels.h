// Front door: the kernels that ops name. Pure functions on views; none knows a graph. What pictures
// are made with (bilinear.h, levels.h, resampling.h) is not a part of a network, and is not here.
#pragma once

#include "kernels/avg_pool.h"
#include "kernels/batch_norm.h"
#include "kernels/channel_sum.h"
#include "kernels/depthwise.h"
#include "kernels/elementwise.h"
#include "kernels/fma_peak.h"
#include "kernels/focal.h"
#include "kernels/gemm.h"
#include "kernels/global_pool.h"
#include "kernels/max_pool.h"
#include "kernels/onednn/convolution.h"
#include "kernels/upsample.h"
