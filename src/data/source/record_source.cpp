#include "data/source/record_source.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/held.h"
#include "data/source/annotations.h"
#include "data/source/folder.h"
#include "data/source/record_parser.h"
#include "data/source/tfrecord.h"
#include "data/source/unpack.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// Where one record's image lies.
struct Place {
  std::int64_t record_offset;
  std::uint32_t image_offset;  // from the record's
  std::uint32_t image_size;
  std::uint32_t number;
};

struct Shard {
  fs::path path;  // as the user named it
  fs::path data;  // what is read: itself, or its unpacked twin
  Bytes size;
  std::int64_t end = 0;  // samples up to and with this shard
};

class RecordSource final : public ListedSource {
 public:
  RecordSource() { index_.kind = "TFRecord"; }

  std::string where(std::int64_t i) const override {
    const Place& place = places_[static_cast<std::size_t>(i)];
    return path(i) + ", record " + std::to_string(place.number) + " at byte " +
           std::to_string(place.record_offset);
  }
  std::string path(std::int64_t i) const override { return shard_of(i).path.string(); }

  Encoded read(std::int64_t i, MappedBytes& buffer) const override {
    const Place& place = places_[static_cast<std::size_t>(i)];
    const Shard& shard = shard_of(i);
    try {
      const InputFile file = open_input(shard.data);
      if (file.size != shard.size)
        throw DataError({.where = "",
                         .got = "the file has " + std::to_string(file.size.count) + " bytes",
                         .expected = "expected " + std::to_string(shard.size.count) +
                                     ", as when the records were listed",
                         .hint = "it was changed during the run"});
      buffer.resize(place.image_size);
      file.read_at(place.record_offset + place.image_offset, buffer);
    } catch (const DataError& error) {
      Complaint complaint = error.complaint();
      complaint.where = where(i);
      throw DataError(std::move(complaint));
    }
    return {.bytes = buffer};
  }

 private:
  friend class RecordLister;

  const Shard& shard_of(std::int64_t i) const {
    return *std::ranges::upper_bound(shards_, i, {}, &Shard::end);
  }

  std::vector<Place> places_;
  std::vector<Shard> shards_;
};

class RecordLister {
 public:
  RecordLister(const std::vector<fs::path>& shards, const SourceOptions& options, LabelMap map)
      : options_(options),
        source_(std::make_shared<RecordSource>()),
        parser_(options.keys, std::move(map), options.class_names) {
    for (const fs::path& path : shards) {
      try {
        add_shard(path);
      } catch (const DataError& error) {
        // What is wrong with the cache, a full disk say, is not the shard's fault.
        if (!error.complaint().where.starts_with(path.string())) throw;
        add_defect(error.complaint());
      }
    }
    for (const Shard& shard : source_->shards_) total_ += shard.size.count;
  }

  SourcePtr run() {
    for (Shard& shard : source_->shards_) {
      list(shard);
      shard.end = std::ssize(source_->places_);
    }
    if (source_->places_.empty()) {
      if (!source_->defects_.empty()) throw DataError(source_->defects_.front());
      throw DataError({.where = source_->shards_.front().path.string(),
                       .got = "no record in " + std::to_string(source_->shards_.size()) + " files",
                       .expected = "expected at least one Example"});
    }
    source_->places_.shrink_to_fit();
    source_->class_names_ = parser_.settle(source_->annotations_);
    Index& index = source_->index_;
    index.notes = parser_.notes();
    index.files = std::ssize(source_->shards_);
    index.memory += held(source_->places_);
    index.opening += held(source_->places_) * 2;
    source_->finish_index();
    return source_;
  }

 private:
  void add_shard(const fs::path& path) {
    Shard shard{.path = path, .data = path};
    const RecordPacking packing = sniff_records(path);
    if (packing == RecordPacking::gzip || packing == RecordPacking::zlib) {
      if (options_.cache.empty())
        throw UsageError({.where = path.string(),
                          .got = "the file is compressed",
                          .expected = "expected a folder to unpack it into once",
                          .hint = "add --cache DIR: records are read in any order, which a "
                                  "compressed file does not allow"});
      shard.data = unpack_once(path, options_.cache);
    }
    shard.size = open_input(shard.data).size;
    source_->shards_.push_back(std::move(shard));
  }

  void add_defect(Complaint complaint) {
    if (source_->defects_.size() < kMostDefects) source_->defects_.push_back(std::move(complaint));
  }

  void list(const Shard& shard) {
    try {
      TfRecordReader reader(shard.data);
      while (const std::optional<TfRecord> record = reader.next()) {
        const std::string where = shard.path.string() + ", record " +
                                  std::to_string(record->number) + " at byte " +
                                  std::to_string(record->offset);
        try {
          add(*record, where);
        } catch (const DataError& error) {
          Complaint complaint = error.complaint();
          if (!complaint.where.starts_with(where))
            complaint.where = where + (complaint.where.empty() ? "" : ": " + complaint.where);
          if (!complaint.byte) complaint.byte = record->offset;
          add_defect(std::move(complaint));
        }
        if (options_.progress) options_.progress(done_ + reader.position(), total_);
      }
    } catch (const DataError& error) {
      Complaint complaint = error.complaint();
      // The user knows the shard by its own name, not by that of its unpacked twin.
      if (shard.data != shard.path && complaint.where.starts_with(shard.data.string()))
        complaint.where = shard.path.string() + complaint.where.substr(shard.data.string().size());
      add_defect(std::move(complaint));
    }
    done_ += shard.size.count;
  }

  void add(const TfRecord& record, const std::string& where) {
    if (!record.is_whole)
      throw DataError({.where = where,
                       .got = "the record's checksum is wrong",
                       .expected = "expected undamaged data",
                       .hint = "copy the file again, or make it anew"});
    const RecordSample sample = parser_.parse(record.payload, where);
    add_place(record, sample.image);
    if (sample.label)
      source_->annotations_.add_label(*sample.label);
    else
      source_->annotations_.add_boxes(sample.boxes, sample.size);
  }

  void add_place(const TfRecord& record, std::span<const std::byte> bytes) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t offset = TfRecord::kHeader + (bytes.data() - record.payload.data());
    expect(offset < kMost && std::ssize(bytes) < kMost, "a record beyond the reader's limit");
    if (record.number >= kMost)
      throw DataError({.where = "",
                       .got = "more than 2^32 records in one file",
                       .expected = "expected fewer",
                       .hint = "write the set as several shards"});
    source_->places_.push_back({.record_offset = record.offset,
                                .image_offset = static_cast<std::uint32_t>(offset),
                                .image_size = static_cast<std::uint32_t>(bytes.size()),
                                .number = static_cast<std::uint32_t>(record.number)});
    source_->index_.encoded += Bytes{std::ssize(bytes)};
    source_->index_.largest_encoded =
        std::max(source_->index_.largest_encoded, Bytes{std::ssize(bytes)});
  }

  const SourceOptions& options_;
  std::shared_ptr<RecordSource> source_;
  RecordParser parser_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

// A label map that lies beside the records, if there is just one thing it can be.
fs::path find_label_map(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const FolderEntry& entry : list_folder(folder.empty() ? "." : folder))
    if (entry.name.ends_with(".pbtxt") || entry.name == "labels.txt" ||
        entry.name.ends_with(".labels.txt"))
      found.push_back(folder / entry.name);
  return found.size() == 1 ? found[0] : fs::path();
}

}  // namespace

SourcePtr open_records(const std::vector<fs::path>& shards, const SourceOptions& options) {
  expect(!shards.empty(), "no shards");
  const fs::path map =
      options.label_map.empty() ? find_label_map(shards[0].parent_path()) : options.label_map;
  return RecordLister(shards, options, map.empty() ? LabelMap() : load_label_map(map)).run();
}

bool is_shard_name(std::string_view name) {
  for (const std::string_view packed : {".gz", ".gzip", ".zlib"})
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  for (const std::string_view ending : {".tfrecord", ".tfrecords", ".record", ".records", ".tfrec"})
    if (name.ends_with(ending)) return true;
  // name-00000-of-00010
  const std::size_t of = name.rfind("-of-");
  const auto digits = [](std::string_view text) {
    return text.size() >= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return of != std::string_view::npos && of > 6 && digits(name.substr(of + 4)) &&
         digits(name.substr(name.rfind('-', of - 1) + 1, of - name.rfind('-', of - 1) - 1));
}

}  // namespace plimsoll
