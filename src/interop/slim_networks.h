// Networks of TF-Slim that are ours under other names; for the files of interop/ only.
#pragma once

#include "interop/imported_file.h"

namespace plimsoll::interop {

// Gives the layers of a network that Slim and the zoo have the zoo's names, as far as there is one;
// sets network and preprocessing. Leaves other files alone.
void rename_slim_network(ImportedFile& file);

}  // namespace plimsoll::interop
