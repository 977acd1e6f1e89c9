#include "api/settings.h"

#include "job/args.h"

namespace plimsoll::api {

job::RunSettings checked(job::RunSettings settings) {
  settings.check();
  settings.check_run_options();
  return settings;
}

job::RunSettings run_settings(const v1::Settings& settings) {
  job::RunSettings s;
  s.model.model = settings.network.name;
  s.model.image = settings.network.image;
  s.model.channels = settings.network.channels;
  s.model.classes = settings.network.classes;
  s.model.dropout = settings.network.dropout;
  s.model.auxiliary = settings.network.auxiliary;
  s.model.set_batch(settings.batch);
  s.data = settings.data.path;
  s.validation = settings.data.validation;
  s.val_split = settings.data.validation_share;
  s.reading.part = settings.data.part;
  s.augment = settings.data.augment;
  s.resize = settings.data.resize;
  s.normalise = settings.data.normalise;
  s.bad_files = settings.data.skips_bad_files ? "skip" : "stop";
  s.memory.memory = settings.memory;
  s.run.epochs = settings.epochs;
  s.lr = settings.learning_rate;
  s.out = settings.out;
  for (const auto& [name, text] : settings.options) job::set_option(s, name, text);
  return checked(s);
}

}  // namespace plimsoll::api
