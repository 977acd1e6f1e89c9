// Every sample of a source read and decoded once, and what was found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/batch/pipeline.h"
#include "data/codec/decode.h"
#include "data/source/source.h"

namespace plimsoll {

struct ScanProgress {
  std::int64_t done = 0;
  std::int64_t samples = 0;
  std::int64_t bad = 0;
  double seconds = 0;
};

// Processes that scan one source together: each reads a share of it, all get the whole report.
struct ScanShare {
  int share = 0;
  int shares = 1;
  // Gives what every process has told, in the order of their shares. What it throws goes through.
  std::function<std::vector<std::string>(const std::string& mine)> gather = {};
};

struct ScanOptions {
  int workers = 0;     // 0: the processors there are
  int channels = 3;    // for which ScanReport::largest is to hold
  bool pixels = true;  // decode; else only headers are read
  // What all workers together may hold of files and to decode; they wait for each other. A sample
  // that needs more than all of it is a bad one, and does_not_fit.
  Bytes memory = kUnlimited;
  // Called some times a second from the thread that called scan(). False stops the scan.
  std::function<bool(const ScanProgress&)> progress = {};
  ScanShare together = {};
};

struct BadSample {
  std::int64_t sample = 0;
  Complaint complaint;
  bool does_not_fit = false;  // nothing is wrong with it but ScanOptions::memory
};

// A finding that many samples may share: how many, and the first of them.
struct Finding {
  static constexpr std::size_t kExamples = 20;
  std::int64_t count = 0;
  std::vector<std::int64_t> samples;  // lowest first, at most kExamples, once it is settled

  void add(std::int64_t sample);
  void merge(const Finding& other);
  // Keeps the lowest: what is reported does not hang on who found it.
  void settle();
};

struct ScanReport {
  std::int64_t samples = 0;
  bool is_whole = true;        // progress did not stop it
  std::vector<BadSample> bad;  // by sample
  std::map<std::string, std::int64_t>
      formats;                                // "JPEG": 180; "uncompressed" where there is no file
  std::map<std::string, std::int64_t> sizes;  // "up to 0.25 MP": 12; keys sort by size
  Finding wrong_extension;                    // the content is another format than the name says
  Finding turned;                             // EXIF or XMP: the rows are not upright
  Finding grey, alpha, cmyk;
  std::int64_t coloured = 0;                           // pictures of more than one channel
  std::map<std::string, Finding> oddities;             // by Decoder::oddity(): read all the same
  Size smallest, mean;                                 // sides, each for itself
  LargestImage largest;                                // for a Pipeline
  std::vector<std::pair<std::int64_t, Size>> biggest;  // the five with the most pixels
  // Content of sample i as 64 bits; 0 of what is bad.
  std::vector<std::uint64_t> contents;
  std::vector<std::vector<std::int64_t>> duplicates;  // groups of the same content, by first
  Finding duplicates_of_other_class;                  // among them, those whose label differs
  // Boxes, counted one by one; the samples are those that have one.
  Finding outside, empty, inverted, other_size;
  double seconds = 0;
  int workers = 1;

  double images_per_second() const {
    return seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  }
};

// On all workers at once; fewer where they would hold more of the files than memory allows. Never
// throws for what it finds in a sample. With other processes progress is that of the own share, and
// what keeps one of them from its share is thrown by all, as DataError.
ScanReport scan(const Source& source, const ScanOptions& options = {});

// Samples of `validation` whose content is in `train` too: pairs (validation, train), by the first.
std::vector<std::pair<std::int64_t, std::int64_t>> find_leaks(const ScanReport& train,
                                                              const ScanReport& validation);

// All good samples' content as 64 bits: the same for a copy of the data, another where a picture
// was replaced.
std::uint64_t content_of(const ScanReport& report);

// The samples without those found bad, in order; the source itself if there are none. DataError if
// none is left.
SourcePtr without_bad(const SourcePtr& source, const ScanReport& report);

// A line per bad file, "where: got; expected", for bad_files.txt.
std::string bad_files_text(const std::vector<Complaint>& complaints);

}  // namespace plimsoll
