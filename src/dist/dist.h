// Ranks that train together: see ARCHITECTURE.md, "Parts and ranks".
#pragma once

#include "dist/agreement.h"
#include "dist/exchange.h"
#include "dist/forecast.h"
#include "dist/group.h"
#include "dist/rank_place.h"
#include "dist/shard.h"
#include "dist/tree.h"
#include "dist/word.h"
