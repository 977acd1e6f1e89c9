// Where samples come from: an index of what there is, held in memory, and bytes read on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/mapped_bytes.h"
#include "data/picture/picture.h"

namespace plimsoll {

// A labelled rectangle, in pixels of the annotation's frame (Source::annotated_size): (0, 0) is the
// upper left corner of the picture, (width, height) its lower right one, and x1 - x0 a width. The
// frame is the stored picture's, unless its size is the one which the picture has after its EXIF
// orientation. As published, so it may be inverted, empty, outside or no number.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::int32_t label = 0;
  bool difficult = false;
  bool crowd = false;
  float area = 0;  // pixels: of the outline where the annotation tells it, else the rectangle's

  bool operator==(const Box&) const = default;
};

// Has an area, inside the picture after clipping, and reaches out of it by no more than the
// picture's own width or height. Others must not reach a loss. `frame`: the size of what its pixels
// are pixels of.
bool is_usable(const Box& box, Size frame);
// Whether training shows it: usable, and no crowd.
bool is_trained_on(const Box& box, Size frame);

// What is known of every sample of a source.
enum class TargetKind : std::uint8_t {
  label,    // one class
  labels,   // any number of classes
  numbers,  // as many numbers as the source has names
  boxes,
};

// "label", "labels", "numbers", "boxes".
std::string_view to_string(TargetKind kind);
// The kind of that name; label where there is none.
TargetKind find_target_kind(std::string_view name);

// What the whole of a source amounts to.
struct Index {
  std::string kind;  // for people: "a folder per class"
  std::int64_t samples = 0;
  std::int64_t files = 0;
  std::vector<std::int64_t> per_class;  // samples by class; of sources with boxes, boxes by class
  std::int64_t boxes = 0;               // all of them: trained on, unusable and crowds
  std::int64_t max_boxes = 0;           // of one sample, that training shows (is_trained_on)
  std::int64_t max_truths = 0;          // of one sample, all of them
  std::int64_t unusable_boxes = 0;      // left out of training, as are
  std::int64_t crowds = 0;              // those that are usable
  std::int64_t background = 0;          // samples without a box to train on, in sources with boxes
  Bytes encoded;                        // all samples together; of a part, in proportion
  Bytes largest_encoded;                // no read() fills more than this
  Bytes memory;                         // what the source holds; of a part, beside the whole
  Bytes opening;                        // the most it held beside that while it was made
  std::vector<std::string> notes;       // what was passed over or chosen, for people
  // Of a set that is published in parts: which this is ("train"; empty: all of them), and which
  // there are.
  std::string part;
  std::vector<std::string> parts;
};

// The bytes of one sample: an image file as it was encoded, or pixels.
struct Encoded {
  struct Pixels {
    std::int32_t height = 0, width = 0, channels = 0;
  };
  std::span<const std::byte> bytes;  // in the caller's buffer, or in the source
  std::optional<Pixels> raw;         // set: bytes are unsigned pixels [height][width][channels]
};

// An immutable list of samples. All members may be called from several threads at the same time.
// Indexes are in [0, size()).
class Source {
 public:
  virtual ~Source() = default;
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  virtual std::int64_t size() const = 0;
  virtual const std::vector<std::string>& class_names() const = 0;
  // Whether samples carry boxes, and no label of their own.
  virtual bool has_boxes() const = 0;
  virtual TargetKind target_kind() const {
    return has_boxes() ? TargetKind::boxes : TargetKind::label;
  }
  // The classes, or the numbers, of sample i; empty where the source has other targets.
  virtual std::span<const std::int32_t> labels(std::int64_t) const { return {}; }
  virtual std::span<const float> numbers(std::int64_t) const { return {}; }
  // The class of sample i; -1 where it has none.
  virtual std::int32_t label(std::int64_t i) const = 0;
  virtual std::span<const Box> boxes(std::int64_t i) const = 0;
  // The frame that boxes are in: the picture's size as the annotation gives it, else as the picture
  // is stored. Zeros where there is neither box nor size.
  virtual Size annotated_size(std::int64_t i) const = 0;
  // The sample's number in the data as listed: it stays when others are left out or split off, so
  // randomness that hangs on it stays too.
  virtual std::int64_t number(std::int64_t i) const { return i; }
  // "path", or "path, record 17 at byte 12345" with records counted from 0.
  virtual std::string where(std::int64_t i) const = 0;
  // The file that holds it.
  virtual std::string path(std::int64_t i) const = 0;
  // The sample's bytes; `buffer` is room to put them in, and keeps its capacity from call to call.
  // DataError, with where(i), if they can no longer be read or are more than
  // index().largest_encoded.
  virtual Encoded read(std::int64_t i, MappedBytes& buffer) const = 0;
  virtual const Index& index() const = 0;
  // The source that this one is a part of and holds; null where it stands alone.
  virtual const Source* whole() const { return nullptr; }
  // What was found damaged while listing and is not among the samples: all of it, up to
  // kMostDefects. Never to be passed over in silence.
  virtual const std::vector<Complaint>& defects() const = 0;
};

// Fills samples, per_class and all that counts boxes from what the source says of each sample.
void count_samples(const Source& source, Index& index);

// What sources hold together: one that several are parts of is there once.
struct IndexBytes {
  Bytes held;
  Bytes opening;  // the most beside it, while they are opened, split and scanned one by one
};
IndexBytes index_bytes(const std::vector<const Source*>& sources);

inline constexpr std::size_t kMostDefects = 10'000;

using SourcePtr = std::shared_ptr<const Source>;

// Those samples of `source` that `members` names, in that order.
SourcePtr make_subset(SourcePtr source, std::vector<std::uint32_t> members);

struct SplitSources {
  SourcePtr train;
  SourcePtr validation;
};

// Sets aside int(fraction * n) of the n samples of every class (Keras's count), chosen by seed and
// class alone, the rest stays; both keep the order of the source. Samples with boxes are one class.
// UsageError unless 0 < fraction < 1 and both parts get something.
SplitSources split(const SourcePtr& source, double fraction, std::uint64_t seed);

}  // namespace plimsoll
