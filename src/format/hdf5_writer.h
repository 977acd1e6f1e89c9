// HDF5 files for other programs: groups, attributes and contiguous datasets, as h5py writes them by
// default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/hdf5.h"
#include "format/tensor_file.h"

namespace plimsoll {

// A text, or a list of them; of less than 4096 texts. Without any it is an empty list, as Keras
// writes for "no names". A single text is a scalar unless `is_list`.
struct Hdf5NewAttribute {
  std::string name;
  std::vector<std::string> texts;
  bool is_list = false;
};

struct Hdf5NewGroup {
  std::string name;  // without slashes
  std::vector<Hdf5NewAttribute> attributes;
  std::vector<Hdf5NewGroup> groups;
  std::vector<StoredTensor> datasets;  // f32, f16, i64; names without slashes

  // The group of a path below this one, made if it is not there.
  Hdf5NewGroup& group(std::string_view path);
};

// A file before its datasets' bytes are known: all structure stands first, so that it can be
// streamed, into another file too.
struct Hdf5Plan {
  std::string head;                   // what the file begins with
  std::vector<StoredTensor> tensors;  // by path; they follow in this order
  std::int64_t bytes = 0;             // of the whole file
};

// Zero bytes that follow a dataset.
std::int64_t hdf5_padding(const StoredTensor& tensor);

// Names must be unique within a group.
Hdf5Plan plan_hdf5(const Hdf5NewGroup& root);

}  // namespace plimsoll
