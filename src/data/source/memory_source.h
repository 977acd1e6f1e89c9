// Images that are held in memory, as a source: IDX files and Fashion-MNIST.
#pragma once

#include <string>

#include "data/source/images.h"
#include "data/source/source.h"

namespace plimsoll {

// `where` names the set in messages. read() copies nothing.
SourcePtr make_memory_source(Images images, std::string where, std::string kind);

}  // namespace plimsoll
