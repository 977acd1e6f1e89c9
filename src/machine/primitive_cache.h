// oneDNN's cache of primitives, which is the whole process's.
#pragma once

namespace plimsoll {

// Empties it and switches it off, for good and for all users of oneDNN in the process: what was
// compiled for a run then goes with the run, and its memory with it.
void use_no_primitive_cache();

}  // namespace plimsoll
