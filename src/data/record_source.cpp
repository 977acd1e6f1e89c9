#include "data/record_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "data/annotations.h"
#include "data/example.h"
#include "data/folder.h"
#include "data/protobuf.h"
#include "data/record_labels.h"
#include "data/tfrecord.h"
#include "data/unpack.h"

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

  Encoded read(std::int64_t i, std::vector<std::byte>& buffer) const override {
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

// What the records call things: as asked, else as the first record has it.
struct Keys {
  std::string image;
  std::string label;
  std::string name;    // the class's name beside its number; may be empty
  std::string object;  // of boxes; empty: samples have one label each
};

const Feature* first_present(const Example& example, std::initializer_list<std::string_view> keys,
                             std::string& chosen) {
  for (const std::string_view key : keys)
    if (const Feature* feature = example.find(key)) {
      chosen = key;
      return feature;
    }
  return nullptr;
}

Keys choose_keys(const Example& example, const RecordKeys& asked) {
  Keys keys{.image = asked.image, .label = asked.label, .object = asked.boxes};
  if (keys.image.empty()) first_present(example, {"image/encoded", "image"}, keys.image);
  if (keys.label.empty() && keys.object.empty() &&
      first_present(example, {"image/class/label", "label", "image/class/text"}, keys.label) ==
          nullptr &&
      (example.find("image/object/bbox/xmin") != nullptr ||
       example.find("image/object/class/label") != nullptr))
    keys.object = "image/object";
  if (keys.object.ends_with('/')) keys.object.pop_back();
  if (keys.label == "image/class/label") keys.name = "image/class/text";
  return keys;
}

class RecordLister {
 public:
  RecordLister(const std::vector<fs::path>& shards, const SourceOptions& options)
      : options_(options), source_(std::make_shared<RecordSource>()) {
    for (const fs::path& path : shards) add_shard(path);
    for (const Shard& shard : source_->shards_) total_ += shard.size.count;
  }

  SourcePtr run(LabelMap map) {
    map_ = std::move(map);
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
    source_->class_names_ = labels_->settle(source_->annotations_);
    Index& index = source_->index_;
    index.files = std::ssize(source_->shards_);
    index.memory += Bytes{static_cast<std::int64_t>(source_->places_.capacity() * sizeof(Place))};
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
          if (!add(*record, where)) break;
        } catch (const DataError& error) {
          Complaint complaint = error.complaint();
          if (!complaint.where.starts_with(where))
            complaint.where = where + (complaint.where.empty() ? "" : ": " + complaint.where);
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

  // Whether the shard is worth going on with.
  bool add(const TfRecord& record, const std::string& where) {
    if (!record.is_whole)
      throw DataError({.where = where,
                       .got = "the record's checksum is wrong",
                       .expected = "expected undamaged data",
                       .hint = "copy the file again, or make it anew"});
    example_.parse(record.payload);
    if (example_.is_sequence()) {
      add_defect({.where = where,
                  .got = "a SequenceExample, a record of a series of frames",
                  .expected = "expected an Example with one image",
                  .hint = "write each frame as an Example of its own with image/encoded and "
                          "image/class/label, or with image/object/bbox for boxes"});
      return false;
    }
    if (!labels_) {
      keys_ = choose_keys(example_, options_.keys);
      labels_.emplace(std::move(map_), options_.class_names,
                      options_.keys.first_label.value_or(keys_.object.empty() ? 0 : 1));
    }
    const Feature* image = example_.find(keys_.image);
    const auto bytes = image == nullptr ? std::nullopt : image->first_bytes();
    if (!bytes)
      throw DataError({.where = where,
                       .got = (keys_.image.empty() ? "no image/encoded and no image"
                                                   : "no bytes under '" + keys_.image + "'") +
                              std::string("; the keys are ") + example_.describe(),
                       .expected = "expected the encoded image",
                       .hint = "say which key holds it with --record-image KEY"});
    if (keys_.object.empty())
      source_->annotations_.add_label(label_of(where));
    else
      add_boxes(where);
    add_place(record, *bytes);
    return true;
  }

  void add_place(const TfRecord& record, std::span<const std::byte> bytes) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const std::int64_t offset = TfRecord::kHeader + (bytes.data() - record.payload.data());
    expect(offset < kMost && std::ssize(bytes) < kMost && record.number < kMost,
           "a record beyond the reader's limit");
    source_->places_.push_back({.record_offset = record.offset,
                                .image_offset = static_cast<std::uint32_t>(offset),
                                .image_size = static_cast<std::uint32_t>(bytes.size()),
                                .number = static_cast<std::uint32_t>(record.number)});
    source_->index_.encoded += Bytes{std::ssize(bytes)};
    source_->index_.largest_encoded =
        std::max(source_->index_.largest_encoded, Bytes{std::ssize(bytes)});
  }

  std::int32_t label_of(const std::string& where) {
    const Feature* feature = example_.find(keys_.label);
    const auto number = feature == nullptr ? std::nullopt : feature->first_int();
    const auto text = feature == nullptr ? std::nullopt : feature->first_bytes();
    if (!number && !text)
      throw DataError({.where = where,
                       .got = (keys_.label.empty() ? "no image/class/label and no label"
                                                   : "no value under '" + keys_.label + "'") +
                              std::string("; the keys are ") + example_.describe(),
                       .expected = "expected the class, as int64 or as its name",
                       .hint = "say which key holds it with --record-label KEY"});
    std::optional<std::int32_t> label;
    if (number) {
      const Feature* name = keys_.name.empty() ? nullptr : example_.find(keys_.name);
      const auto name_bytes = name == nullptr ? std::nullopt : name->first_bytes();
      label = labels_->find(*number, name_bytes ? as_text(*name_bytes) : std::string_view());
    } else {
      label = labels_->find(as_text(*text));
    }
    if (!label)
      throw DataError({.where = where,
                       .got = "class " + (number ? std::to_string(*number)
                                                 : "'" + std::string(as_text(*text)) + "'"),
                       .expected = labels_->expected()});
    return *label;
  }

  std::vector<float> floats(std::string_view key) const {
    const Feature* feature = example_.find(keys_.object + std::string(key));
    return feature == nullptr ? std::vector<float>() : feature->float_values();
  }
  std::vector<std::int64_t> ints(const std::string& key) const {
    const Feature* feature = example_.find(key);
    return feature == nullptr ? std::vector<std::int64_t>() : feature->int_values();
  }

  void add_boxes(const std::string& where) {
    const std::vector<float> x0 = floats("/bbox/xmin");
    const std::vector<float> y0 = floats("/bbox/ymin");
    const std::vector<float> x1 = floats("/bbox/xmax");
    const std::vector<float> y1 = floats("/bbox/ymax");
    const std::vector<std::int64_t> numbers = ints(keys_.object + "/class/label");
    const Feature* text = example_.find(keys_.object + "/class/text");
    const auto names =
        text == nullptr ? std::vector<std::span<const std::byte>>() : text->bytes_values();
    const std::size_t count = x0.size();
    const std::size_t classes = numbers.empty() ? names.size() : numbers.size();
    if (y0.size() != count || x1.size() != count || y1.size() != count || classes != count)
      throw DataError({.where = where,
                       .got = "lists of " + std::to_string(count) + ", " +
                              std::to_string(y0.size()) + ", " + std::to_string(x1.size()) + ", " +
                              std::to_string(y1.size()) + " corners and " +
                              std::to_string(classes) + " classes",
                       .expected = "expected as many of each under " + keys_.object});
    const std::vector<std::int64_t> difficult = ints(keys_.object + "/difficult");
    const std::vector<std::int64_t> crowd = ints(keys_.object + "/is_crowd");
    boxes_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view name = i < names.size() ? as_text(names[i]) : std::string_view();
      const auto label = numbers.empty() ? labels_->find(name) : labels_->find(numbers[i], name);
      if (!label)
        throw DataError({.where = where,
                         .got = "a box of class " + (numbers.empty() ? "'" + std::string(name) + "'"
                                                                     : std::to_string(numbers[i])),
                         .expected = labels_->expected()});
      boxes_.push_back({.x0 = x0[i],
                        .y0 = y0[i],
                        .x1 = x1[i],
                        .y1 = y1[i],
                        .label = *label,
                        .difficult = i < difficult.size() && difficult[i] != 0,
                        .crowd = i < crowd.size() && crowd[i] != 0});
    }
    const auto number_of = [&](std::string_view key) {
      const Feature* feature = example_.find(key);
      return feature == nullptr ? 0 : feature->first_int().value_or(0);
    };
    source_->annotations_.add_boxes(
        boxes_, {.height = number_of("image/height"), .width = number_of("image/width")});
  }

  const SourceOptions& options_;
  std::shared_ptr<RecordSource> source_;
  LabelMap map_;
  std::optional<RecordLabels> labels_;
  Keys keys_;
  Example example_;
  std::vector<Box> boxes_;
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
  RecordLister lister(shards, options);
  return lister.run(map.empty() ? LabelMap() : load_label_map(map));
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
