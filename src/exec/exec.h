// Front door: kernels chosen for a graph, and the session that runs its tapes.
#pragma once

#include "exec/jobs.h"
#include "exec/session.h"
