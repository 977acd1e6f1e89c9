// Front door: the compiled step of a network, the memory it needs, and one batch through it.
#pragma once

#include "step/averages.h"
#include "step/budget.h"
#include "step/evaluation.h"
#include "step/layer_watch.h"
#include "step/ledger.h"
#include "step/optimizer.h"
#include "step/shards.h"
#include "step/step_graph.h"
#include "step/trainer.h"
#include "step/weights.h"
