// Ranks as processes that an MPI launcher has started together.
#pragma once

#include <filesystem>
#include <memory>

#include "dist/transport.h"

namespace plimsoll::dist {

// Loads the module and joins the others; on the thread that will use the transport. Its destructor
// leaves them, who must leave too, or, where a message has failed, only lets go. UsageError if the
// module or the MPI library it needs cannot be loaded; DataError if MPI does not start.
std::unique_ptr<Transport> make_mpi_transport(const std::filesystem::path& module);

}  // namespace plimsoll::dist
