// From what a user asks for to a run, an evaluation or a refusal. Nothing here prints, ends the
// process, or changes its settings.
#pragma once

#include "job/args.h"
#include "job/begin_weights.h"
#include "job/exported_model.h"
#include "job/file_report.h"
#include "job/identity.h"
#include "job/levers.h"
#include "job/ready.h"
#include "job/run_folder.h"
#include "job/run_settings.h"
#include "job/scanned_data.h"
#include "job/trained_model.h"
#include "job/training.h"
