// Front door: from a network to a training run and what it leaves behind.
#pragma once

#include "train/optimizer.h"
#include "train/records.h"
#include "train/run.h"
#include "train/schedule.h"
#include "train/step_graph.h"
#include "train/trainer.h"
#include "train/weights.h"
