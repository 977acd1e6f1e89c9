#include "format/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <vector>

#include "base/crc32c.h"
#include "base/error.h"
#include "format/protobuf.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGather = 64 * 1024;
constexpr std::size_t kBuckets = 30;
constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr const char* kEventVersion = "brain.Event:2";

// Numbers of the fields in event.proto and summary.proto.
namespace event {
constexpr std::uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value {
constexpr std::uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kHistogram = 5;
}
namespace image_field {
constexpr std::uint32_t kHeight = 1, kWidth = 2, kColours = 3, kEncoded = 4;
constexpr std::int64_t kRgb = 3;
}  // namespace image_field
namespace histogram_field {
constexpr std::uint32_t kMin = 1, kMax = 2, kCount = 3, kSum = 4, kSumOfSquares = 5, kLimits = 6,
                        kBucket = 7;
}
constexpr std::uint32_t kSummaryValue = 1;
constexpr std::uint32_t kSessionStatus = 1;
constexpr std::int64_t kSessionStart = 1;

ProtoWriter event_at(double time, std::int64_t step) {
  ProtoWriter message;
  message.nonzero_float64(event::kWallTime, time).nonzero_integer(event::kStep, step);
  return message;
}

// Each form goes when the next is made: a picture is there twice at the most.
std::string summary_event(double time, std::int64_t step, ProtoWriter summary_value) {
  ProtoWriter summary;
  summary.message(kSummaryValue, summary_value);
  summary_value = {};
  ProtoWriter message = event_at(time, step);
  message.message(event::kSummary, summary);
  summary = {};
  return message.text();
}

template <typename T>
void append_raw(std::string& text, T number) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  text.append(raw, sizeof number);
}

std::uint32_t checksum(std::string_view bytes) {
  return mask_crc32c(crc32c(std::as_bytes(std::span(bytes))));
}

// The framing of a TFRecord: length and payload, each with its checksum.
void append_record(std::string& text, std::string_view payload) {
  const std::size_t begin = text.size();
  append_raw<std::uint64_t>(text, payload.size());
  append_raw(text, checksum(std::string_view(text).substr(begin)));
  text += payload;
  append_raw(text, checksum(payload));
}

// The seconds in the greatest name of an event file in the folder; -1 without one.
std::int64_t latest_seconds(const fs::path& folder) {
  std::int64_t latest = -1;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t seconds = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), seconds);
    latest = std::max(latest, seconds);
  }
  return latest;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

std::string reason(const fs::path& path, std::string_view doing, int error_number) {
  return path.string() + ": " + std::string(doing) + ": " +
         std::generic_category().message(error_number);
}

}  // namespace

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

EventFile::EventFile(const fs::path& folder, const EventFileOptions& options)
    : clock_(options.clock) {
  const double now = clock_();
  if (!open(folder, static_cast<std::int64_t>(now))) return;
  append_record(head_, event_at(now, 0).bytes(event::kFileVersion, kEventVersion).text());
  if (options.resumed_at) {
    ProtoWriter log;
    log.integer(kSessionStatus, kSessionStart);
    append_record(head_,
                  event_at(now, *options.resumed_at).message(event::kSessionLog, log).text());
  }
  gathered_ = head_;
  // At once, so that TensorBoard can list the run before its first event.
  flush();
}

EventFile::~EventFile() { flush(); }

bool EventFile::open(const fs::path& folder, std::int64_t seconds) {
  try {
    make_directories(folder);
  } catch (const DataError& error) {
    failure_ = error.what();
    return false;
  }
  seconds = std::max(seconds, latest_seconds(folder) + 1);
  std::string digits = std::to_string(seconds);
  digits.insert(0, std::max<std::size_t>(10, digits.size()) - digits.size(), '0');
  path_ = folder / (std::string(kPrefix) + digits + "." + host_name() + "." +
                    std::to_string(::getpid()) + ".0.v2");
  handle_ = FileHandle(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (handle_.is_open()) return true;
  failure_ = reason(path_, "cannot create", errno);
  path_.clear();
  return false;
}

bool EventFile::scalar(std::string_view tag, std::int64_t step, double number) {
  ProtoWriter entry;
  entry.bytes(value::kTag, tag).float32(value::kSimpleValue, static_cast<float>(number));
  return append(summary_event(clock_(), step, std::move(entry)));
}

bool EventFile::histogram(std::string_view tag, std::int64_t step, std::span<const float> values) {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -least;
  double count = 0, sum = 0, sum_of_squares = 0;
  for (const double number : values) {
    if (!std::isfinite(number)) continue;
    least = std::min(least, number);
    greatest = std::max(greatest, number);
    count += 1;
    sum += number;
    sum_of_squares += number * number;
  }
  if (count == 0) least = greatest = 0;
  const bool has_range = least < greatest;
  const std::size_t buckets = has_range ? kBuckets : count > 0 ? 1 : 0;
  const double width = (greatest - least) / static_cast<double>(kBuckets);
  std::vector<double> counts(buckets, 0.0);
  std::vector<double> limits(buckets, greatest);
  for (std::size_t b = 0; b + 1 < buckets; ++b)
    limits[b] = least + width * static_cast<double>(b + 1);
  for (const double number : values) {
    if (!std::isfinite(number)) continue;
    const auto bucket = has_range ? static_cast<std::size_t>((number - least) / width) : 0;
    counts[std::min(bucket, buckets - 1)] += 1;
  }
  ProtoWriter message;
  message.nonzero_float64(histogram_field::kMin, least)
      .nonzero_float64(histogram_field::kMax, greatest)
      .nonzero_float64(histogram_field::kCount, count)
      .nonzero_float64(histogram_field::kSum, sum)
      .nonzero_float64(histogram_field::kSumOfSquares, sum_of_squares);
  if (buckets > 0)
    message.packed(histogram_field::kLimits, limits).packed(histogram_field::kBucket, counts);
  ProtoWriter entry;
  entry.bytes(value::kTag, tag).message(value::kHistogram, message);
  return append(summary_event(clock_(), step, std::move(entry)));
}

bool EventFile::image(std::string_view tag, std::int64_t step, std::int64_t width,
                      std::int64_t height, std::string_view png) {
  ProtoWriter entry;
  entry.bytes(value::kTag, tag)
      .message(value::kImage, ProtoWriter()
                                  .nonzero_integer(image_field::kHeight, height)
                                  .nonzero_integer(image_field::kWidth, width)
                                  .integer(image_field::kColours, image_field::kRgb)
                                  .bytes(image_field::kEncoded, png));
  return append(summary_event(clock_(), step, std::move(entry)));
}

bool EventFile::append(std::string_view event) {
  if (!handle_.is_open()) {
    ++lost_;
    return false;
  }
  append_record(gathered_, event);
  ++gathered_events_;
  return gathered_.size() < kGather || flush();
}

bool EventFile::flush() {
  if (!handle_.is_open()) return failure_.empty();
  std::string_view rest = gathered_;
  while (!rest.empty()) {
    const ssize_t put = ::write(handle_.descriptor(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return lose(reason(path_, "cannot write", errno));
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  written_ += static_cast<std::int64_t>(gathered_.size());
  gathered_.clear();
  gathered_events_ = 0;
  return true;
}

bool EventFile::lose(std::string why) {
  failure_ = std::move(why);
  lost_ += gathered_events_;
  gathered_ = written_ == 0 ? head_ : "";
  gathered_events_ = 0;
  // A torn record would make all behind it unreadable.
  if (::ftruncate(handle_.descriptor(), written_) != 0 ||
      ::lseek(handle_.descriptor(), written_, SEEK_SET) < 0)
    handle_.close();
  return false;
}

}  // namespace plimsoll
