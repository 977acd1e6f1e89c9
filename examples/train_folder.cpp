// Trains on a folder of pictures inside a budget, as `plimsoll train DATA --memory M --out OUT`
// does; run again after a crash, it goes on. Usage:
//   train_folder DATA MEMORY OUT [OPTION VALUE]...    train_folder photos 500MiB out epochs 20
#include <plimsoll/error.h>
#include <plimsoll/run.h>

#include <csignal>
#include <cstdio>

using namespace plimsoll::v1;

namespace {
Run* running = nullptr;
void print(const EpochDone& epoch) {
  std::printf("epoch %ld of %ld: loss %.4f", static_cast<long>(epoch.training.epoch),
              static_cast<long>(epoch.training.epochs), epoch.training.loss);
  if (epoch.validation) std::printf(", validation loss %.4f", epoch.validation->loss);
  std::printf("\n");
}
}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fputs("usage: train_folder DATA MEMORY OUT [OPTION VALUE]...\n", stderr);
    return 2;
  }
  Settings settings{.data = {.path = words[1]}, .memory = words[2], .out = words[3]};
  for (int i = 4; i + 1 < count; i += 2) settings.options[words[i]] = words[i + 1];
  try {
    std::printf("%d threads\n", use_threads(0));
    Run run(settings, {.on_stall = [](const std::string& text, bool) { std::puts(text.c_str()); },
                       .sleeps_when_crowded = true});
    running = &run;
    std::signal(SIGINT, [](int) { running->stop(); });
    std::printf("%s from step %ld, %.0f MiB predicted\n", run.directory().c_str(),
                static_cast<long>(run.resumed_step()),
                static_cast<double>(run.predicted_bytes()) / (1 << 20));
    while (const std::optional<Event> event = run.next()) {
      if (const auto* epoch = std::get_if<EpochDone>(&*event)) print(*epoch);
      if (const auto* message = std::get_if<Message>(&*event)) std::puts(message->text.c_str());
      if (const auto* end = std::get_if<Finished>(&*event))
        std::printf("%ld steps, stopped by %s\n", static_cast<long>(end->steps),
                    end->stopped_by.c_str());
    }
  } catch (const plimsoll::Error& error) {
    std::fprintf(stderr, "train_folder: %s\n", error.what());
    return 1;
  }
}
