// The groups and datasets of an HDF5 file; for hdf5.cpp only.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/hdf5.h"
#include "format/hdf5_message.h"
#include "format/hdf5_region.h"

namespace plimsoll {

// Walks a file from its root. Fills tensors and offsets, see Hdf5File.
class Hdf5Tree {
 public:
  Hdf5Tree(Hdf5Region& region, std::vector<StoredTensor>& tensors,
           std::vector<std::int64_t>& offsets);

  Hdf5Object root();

 private:
  struct Link {
    std::string name;
    std::uint64_t address = 0;
  };

  Hdf5Object object(const Link& link, const std::string& path, int depth);
  std::vector<Link> links(const Hdf5Message& table);
  void add_links(std::uint64_t node, int level, std::string_view names, std::vector<Link>& found);
  void add_leaf(std::uint64_t leaf, std::string_view names, std::vector<Link>& found);
  void add_dataset(Hdf5Object& object, const std::vector<Hdf5Message>& messages,
                   const std::string& path);
  std::int64_t data_offset(const Hdf5Message& layout, std::uint64_t bytes);

  Hdf5Region& region_;
  Hdf5Decoder decoder_;
  std::vector<StoredTensor>& tensors_;
  std::vector<std::int64_t>& offsets_;
  std::set<std::uint64_t> seen_;  // addresses of objects
  std::uint64_t data_left_;       // bytes that further datasets may have
};

}  // namespace plimsoll
