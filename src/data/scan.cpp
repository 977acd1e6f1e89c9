#include "data/scan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/cpu.h"
#include "base/stopwatch.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPiece = 8;  // samples taken at a time
constexpr std::size_t kBiggest = 5;

void add_to(Finding& finding, std::int64_t sample) {
  ++finding.count;
  finding.samples.push_back(sample);
}

// Keeps the lowest: what is reported does not hang on who found it.
void settle(Finding& finding) {
  std::ranges::sort(finding.samples);
  finding.samples.erase(std::unique(finding.samples.begin(), finding.samples.end()),
                        finding.samples.end());
  if (finding.samples.size() > Finding::kExamples) finding.samples.resize(Finding::kExamples);
}

void merge(Finding& into, Finding& from) {
  into.count += from.count;
  into.samples.insert(into.samples.end(), from.samples.begin(), from.samples.end());
  settle(into);
}

std::string size_class(std::int64_t pixels) {
  const double megapixels = static_cast<double>(pixels) / 1e6;
  if (megapixels <= 0.05) return "1: up to 0.05 MP";
  if (megapixels <= 0.25) return "2: up to 0.25 MP";
  if (megapixels <= 1) return "3: up to 1 MP";
  if (megapixels <= 4) return "4: up to 4 MP";
  if (megapixels <= 16) return "5: up to 16 MP";
  return "6: above 16 MP";
}

// Whether a name's extension is one that promises another format.
bool is_misnamed(const std::string& path, ImageFormat format) {
  static const std::map<std::string, ImageFormat> kPromised = {
      {".jpg", ImageFormat::jpeg},  {".jpeg", ImageFormat::jpeg}, {".jpe", ImageFormat::jpeg},
      {".jfif", ImageFormat::jpeg}, {".png", ImageFormat::png},   {".webp", ImageFormat::webp},
      {".bmp", ImageFormat::bmp},   {".gif", ImageFormat::gif}};
  const auto found = kPromised.find(to_lower(std::filesystem::path(path).extension().string()));
  return found != kPromised.end() && found->second != format;
}

// Bytes that are shared out; whoever finds too few left waits.
class Allowance {
 public:
  explicit Allowance(Bytes all) : all_(all) {}

  void take(Bytes bytes) {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [&] { return taken_ == Bytes{0} || bytes <= all_ - taken_; });
    taken_ += bytes;
  }
  void give_back(Bytes bytes) {
    {
      const std::scoped_lock lock(mutex_);
      taken_ -= bytes;
    }
    given_back_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  Bytes all_;
  Bytes taken_{0};
};

// The part of the report that one worker makes.
class Scanner {
 public:
  Scanner(const Source& source, const ScanOptions& options, Allowance& allowance,
          std::vector<std::uint64_t>& contents)
      : source_(source), options_(options), allowance_(allowance), contents_(contents) {}

  void look_at(std::int64_t i) {
    ++report_.samples;
    try {
      const Encoded encoded = source_.read(i, buffer_);
      contents_[static_cast<std::size_t>(i)] =
          std::max<std::uint64_t>(1, XXH3_64bits(encoded.bytes.data(), encoded.bytes.size()));
      const Size size = encoded.raw ? look_at_raw(*encoded.raw) : look_at_file(encoded, i);
      look_at_boxes(i, size);
    } catch (const DataError& error) {
      report_.bad.push_back({.sample = i, .complaint = error.complaint()});
    }
    trim();
  }

  void merge_into(ScanReport& whole) {
    whole.samples += report_.samples;
    std::ranges::move(report_.bad, std::back_inserter(whole.bad));
    for (const auto& [format, count] : report_.formats) whole.formats[format] += count;
    for (const auto& [size, count] : report_.sizes) whole.sizes[size] += count;
    for (Finding ScanReport::*finding :
         {&ScanReport::wrong_extension, &ScanReport::turned, &ScanReport::grey, &ScanReport::alpha,
          &ScanReport::cmyk, &ScanReport::outside, &ScanReport::empty, &ScanReport::inverted,
          &ScanReport::other_size})
      merge(whole.*finding, report_.*finding);
    std::ranges::move(report_.biggest, std::back_inserter(whole.biggest));
    const auto widen = [](Size& a, Size b) {
      a = {std::max(a.height, b.height), std::max(a.width, b.width)};
    };
    widen(whole.largest.size, report_.largest.size);
    whole.largest.decode = std::max(whole.largest.decode, report_.largest.decode);
    if (seen_ > 0) {
      const Size least = report_.smallest;
      whole.smallest = whole.smallest.height == 0
                           ? least
                           : Size{std::min(whole.smallest.height, least.height),
                                  std::min(whole.smallest.width, least.width)};
    }
    whole.mean.height += total_height_;
    whole.mean.width += total_width_;
  }

  std::int64_t bad() const { return std::ssize(report_.bad); }

 private:
  Size look_at_raw(const Encoded::Pixels& raw) {
    ++report_.formats["pixels"];
    const Size size{.height = raw.height, .width = raw.width};
    note_size(-1, size);
    report_.largest.decode = std::max(
        report_.largest.decode, Bytes{std::int64_t{raw.height} * raw.width * options_.channels});
    return size;
  }

  Size look_at_file(const Encoded& encoded, std::int64_t i) {
    const std::string where = source_.where(i);
    const ImageInfo info = probe_image(encoded.bytes, where);
    // A doctor looks closely: codes that the fast path would take for zeros are damage.
    const DecodeRequest request{.channels = options_.channels, .thorough = true};
    if (options_.pixels) decode(encoded, where, info, request);
    ++report_.formats[std::string(to_string(info.format))];
    if (is_misnamed(source_.path(i), info.format)) add_to(report_.wrong_extension, i);
    if (info.orientation != 1) add_to(report_.turned, i);
    if (info.channels == 1) add_to(report_.grey, i);
    if (info.channels == 4) add_to(report_.cmyk, i);
    if (info.has_alpha) add_to(report_.alpha, i);
    report_.largest.decode = std::max(report_.largest.decode, decode_bytes(info, request));
    note_size(i, info.size());
    const Size stored{.height = info.stored_height, .width = info.stored_width};
    const Size said = source_.annotated_size(i);
    if (said.height > 0 && said.width > 0 && said != info.size() && said != stored)
      add_to(report_.other_size, i);
    return info.size();
  }

  void decode(const Encoded& encoded, const std::string& where, const ImageInfo& info,
              const DecodeRequest& request) {
    if (options_.memory == kUnlimited) {
      decoder_.decode(encoded.bytes, where, info, request, picture_);
      return;
    }
    const Bytes need = decode_bytes(info, request);
    allowance_.take(need);
    // Nothing may be kept of what is given back, whatever happens in between.
    const auto finish = [&](Allowance* allowance) {
      decoder_ = Decoder();
      picture_ = Picture();
      allowance->give_back(need);
    };
    const std::unique_ptr<Allowance, decltype(finish)> guard(&allowance_, finish);
    decoder_.decode(encoded.bytes, where, info, request, picture_);
  }

  void note_size(std::int64_t i, Size size) {
    ++report_.sizes[size_class(size.height * size.width)];
    report_.largest.size = {std::max(report_.largest.size.height, size.height),
                            std::max(report_.largest.size.width, size.width)};
    report_.smallest = seen_ == 0 ? size
                                  : Size{std::min(report_.smallest.height, size.height),
                                         std::min(report_.smallest.width, size.width)};
    ++seen_;
    total_height_ += size.height;
    total_width_ += size.width;
    if (i >= 0) report_.biggest.emplace_back(i, size);
  }

  void look_at_boxes(std::int64_t i, Size size) {
    // Half a pixel is rounding, not a mistake.
    const float x = 0.5F / static_cast<float>(std::max<std::int64_t>(1, size.width));
    const float y = 0.5F / static_cast<float>(std::max<std::int64_t>(1, size.height));
    for (const Box& box : source_.boxes(i)) {
      if (box.x1 < box.x0 || box.y1 < box.y0)
        add_to(report_.inverted, i);
      else if (!(box.x1 > box.x0 && box.y1 > box.y0))
        add_to(report_.empty, i);
      else if (box.x0 < -x || box.y0 < -y || box.x1 > 1 + x || box.y1 > 1 + y)
        add_to(report_.outside, i);
    }
  }

  // Lists of examples may not grow with the data.
  void trim() {
    if (report_.biggest.size() > 64) keep_biggest(report_.biggest);
    if (++since_trim_ < 1024) return;
    since_trim_ = 0;
    for (Finding ScanReport::*finding :
         {&ScanReport::wrong_extension, &ScanReport::turned, &ScanReport::grey, &ScanReport::alpha,
          &ScanReport::cmyk, &ScanReport::outside, &ScanReport::empty, &ScanReport::inverted,
          &ScanReport::other_size})
      settle(report_.*finding);
  }

 public:
  static void keep_biggest(std::vector<std::pair<std::int64_t, Size>>& list) {
    std::ranges::sort(list, [](const auto& a, const auto& b) {
      const std::int64_t pixels_a = a.second.height * a.second.width;
      const std::int64_t pixels_b = b.second.height * b.second.width;
      return pixels_a != pixels_b ? pixels_a > pixels_b : a.first < b.first;
    });
    if (list.size() > kBiggest) list.resize(kBiggest);
  }

 private:
  const Source& source_;
  const ScanOptions& options_;
  Allowance& allowance_;
  std::vector<std::uint64_t>& contents_;
  Decoder decoder_;
  std::vector<std::byte> buffer_;
  Picture picture_;
  ScanReport report_;
  std::int64_t seen_ = 0;
  std::int64_t total_height_ = 0;
  std::int64_t total_width_ = 0;
  int since_trim_ = 0;
};

void find_duplicates(const Source& source, ScanReport& report) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> sorted;
  sorted.reserve(report.contents.size());
  for (std::size_t i = 0; i < report.contents.size(); ++i)
    if (report.contents[i] != 0)
      sorted.emplace_back(report.contents[i], static_cast<std::int64_t>(i));
  std::ranges::sort(sorted);
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && sorted[end].first == sorted[first].first) ++end;
    if (end - first > 1) {
      std::vector<std::int64_t> group;
      bool differ = false;
      for (std::size_t k = first; k < end; ++k) {
        group.push_back(sorted[k].second);
        differ = differ || source.label(group.back()) != source.label(group.front());
      }
      if (differ)
        for (const std::int64_t i : group) add_to(report.duplicates_of_other_class, i);
      report.duplicates.push_back(std::move(group));
    }
    first = end;
  }
  settle(report.duplicates_of_other_class);
  std::ranges::sort(report.duplicates);
}

}  // namespace

ScanReport scan(const Source& source, const ScanOptions& options) {
  const Stopwatch watch;
  ScanReport report;
  report.contents.assign(static_cast<std::size_t>(source.size()), 0);
  report.workers = options.workers > 0 ? options.workers : usable_cores();
  report.workers = static_cast<int>(
      std::clamp<std::int64_t>((source.size() + kPiece - 1) / kPiece, 1, report.workers));

  Allowance allowance(options.memory);
  std::atomic<std::int64_t> next = 0;
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> bad = 0;
  std::mutex mutex;
  std::condition_variable finished;
  int running = report.workers;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Scanner scanner(source, options, allowance, report.contents);
      while (true) {
        const std::int64_t first = next.fetch_add(kPiece);
        if (first >= source.size()) break;
        const std::int64_t bad_before = scanner.bad();
        const std::int64_t end = std::min(source.size(), first + kPiece);
        for (std::int64_t i = first; i < end; ++i) scanner.look_at(i);
        done += end - first;
        bad += scanner.bad() - bad_before;
      }
      const std::scoped_lock lock(mutex);
      scanner.merge_into(report);
      --running;
    } catch (...) {
      next = source.size();
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
      --running;
    }
    finished.notify_one();
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < report.workers; ++i) threads.emplace_back(work);
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      if (!options.progress) continue;
      lock.unlock();
      const bool go_on = options.progress(
          {.done = done, .samples = source.size(), .bad = bad, .seconds = watch.seconds()});
      lock.lock();
      if (!go_on) {
        next = source.size();
        report.is_whole = false;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);

  std::ranges::sort(report.bad, {}, &BadSample::sample);
  const std::int64_t good = std::max<std::int64_t>(1, report.samples - std::ssize(report.bad));
  report.mean = {report.mean.height / good, report.mean.width / good};
  Scanner::keep_biggest(report.biggest);
  find_duplicates(source, report);
  report.seconds = watch.seconds();
  if (options.progress)
    options.progress({.done = done,
                      .samples = source.size(),
                      .bad = std::ssize(report.bad),
                      .seconds = report.seconds});
  return report;
}

}  // namespace plimsoll
