// Front door: from a network to a training run and what it leaves behind.
#pragma once

#include "train/checkpoint.h"
#include "train/evaluation.h"
#include "train/optimizer.h"
#include "train/rate_sweep.h"
#include "train/recorder.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/step_graph.h"
#include "train/trainer.h"
#include "train/weights.h"
