#include "data/codec/jpeg_library.h"

#include <jerror.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

// libjpeg leaves the type of its whole-image arrays to the memory manager.
struct jvirt_barray_control {
  JBLOCKARRAY rows;
  JDIMENSION count;
};

namespace plimsoll {
namespace {

// No encoder makes so many scans; files that declare them only burn time.
constexpr int kMaxScans = 500;

void ignore(j_decompress_ptr /*state*/) {}
void keep_pool(j_common_ptr /*state*/, int /*pool*/) {}
void realize_nothing(j_common_ptr /*state*/) {}

// The warnings that change no pixel, in libjpeg's words without its numbers; null for others. Some
// phones write "Se = 0" into the scans of ordinary JPEGs, which every decoder passes over.
const char* harmless_words(int code) {
  switch (code) {
    case JWRN_EXTRANEOUS_DATA: return "extraneous bytes before a marker";
    case JWRN_JFIF_MAJOR: return "unknown JFIF revision number";
    case JWRN_ADOBE_XFORM: return "unknown Adobe color transform code";
    case JWRN_NOT_SEQUENTIAL: return "invalid SOS parameters for sequential JPEG";
    case JWRN_BOGUS_ICC: return "corrupt ICC profile";
    default: return nullptr;
  }
}

}  // namespace

JpegLibrary& JpegLibrary::of(j_common_ptr state) {
  return *static_cast<JpegLibrary*>(state->client_data);
}
JpegLibrary& JpegLibrary::of(j_decompress_ptr state) {
  return *static_cast<JpegLibrary*>(state->client_data);
}

JpegLibrary::JpegLibrary() {
  state_.err = jpeg_std_error(&errors_);
  state_.client_data = this;
  errors_.error_exit = give_up;
  errors_.emit_message = on_message;
  if (setjmp(back_) != 0) throw std::bad_alloc();
  jpeg_create_decompress(&state_);
  source_.init_source = ignore;
  source_.fill_input_buffer = hand_out;
  source_.skip_input_data = skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = ignore;
  progress_.progress_monitor = on_progress;
  state_.src = &source_;
  state_.progress = &progress_;
  original_memory_ = *state_.mem;
  state_.mem->alloc_small = take;
  state_.mem->alloc_large = take;
  state_.mem->alloc_sarray = take_rows;
  state_.mem->alloc_barray = take_blocks;
  state_.mem->request_virt_sarray = no_whole_rows;
  state_.mem->request_virt_barray = take_whole;
  state_.mem->realize_virt_arrays = realize_nothing;
  state_.mem->access_virt_barray = access_whole;
  state_.mem->free_pool = keep_pool;
}

JpegLibrary::~JpegLibrary() {
  *state_.mem = original_memory_;
  jpeg_destroy_decompress(&state_);
}

void JpegLibrary::begin(std::span<const std::byte> bytes, std::size_t piece, Room& room) {
  jpeg_abort_decompress(&state_);
  // Tables lie in the room of the image before: a file without any must not find them.
  std::fill(std::begin(state_.quant_tbl_ptrs), std::end(state_.quant_tbl_ptrs), nullptr);
  std::fill(std::begin(state_.dc_huff_tbl_ptrs), std::end(state_.dc_huff_tbl_ptrs), nullptr);
  std::fill(std::begin(state_.ac_huff_tbl_ptrs), std::end(state_.ac_huff_tbl_ptrs), nullptr);
  errors_.num_warnings = 0;
  source_.next_input_byte = nullptr;
  source_.bytes_in_buffer = 0;
  rest_ = reinterpret_cast<const JOCTET*>(bytes.data());
  rest_size_ = bytes.size();
  piece_ = piece;
  ended_early_ = false;
  refused_ = 0;
  message_[0] = '\0';
  oddity_ = {};
  room_ = &room;
}

void JpegLibrary::give_up(j_common_ptr state) {
  JpegLibrary& self = of(state);
  state->err->format_message(state, self.message_);
  std::longjmp(self.back_, 1);
}

void JpegLibrary::on_message(j_common_ptr state, int level) {
  if (level >= 0) return;
  const char* words = harmless_words(state->err->msg_code);
  if (words == nullptr) give_up(state);
  JpegLibrary& self = of(state);
  if (self.oddity_.empty()) self.oddity_ = words;
}

void JpegLibrary::on_progress(j_common_ptr state) {
  if (reinterpret_cast<j_decompress_ptr>(state)->input_scan_number <= kMaxScans) return;
  JpegLibrary& self = of(state);
  std::snprintf(self.message_, sizeof(self.message_), "it has more than %d scans", kMaxScans);
  std::longjmp(self.back_, 1);
}

boolean JpegLibrary::hand_out(j_decompress_ptr state) {
  JpegLibrary& self = of(state);
  if (self.rest_size_ == 0) {
    self.ended_early_ = true;
    std::longjmp(self.back_, 1);
  }
  const std::size_t size = std::min(self.piece_, self.rest_size_);
  state->src->next_input_byte = self.rest_;
  state->src->bytes_in_buffer = size;
  self.rest_ += size;
  self.rest_size_ -= size;
  return TRUE;
}

void JpegLibrary::skip(j_decompress_ptr state, long bytes) {
  auto left = static_cast<std::size_t>(std::max(bytes, 0L));
  while (left > state->src->bytes_in_buffer) {
    left -= state->src->bytes_in_buffer;
    hand_out(state);
  }
  state->src->next_input_byte += left;
  state->src->bytes_in_buffer -= left;
}

void* JpegLibrary::take(j_common_ptr state, int /*pool*/, std::size_t bytes) {
  JpegLibrary& self = of(state);
  void* memory = self.room_->take(bytes);
  if (memory == nullptr) {
    self.refused_ = bytes;
    std::snprintf(self.message_, sizeof(self.message_),
                  "it takes more memory than its header says");
    std::longjmp(self.back_, 1);
  }
  return memory;
}

JSAMPARRAY JpegLibrary::take_rows(j_common_ptr state, int pool, JDIMENSION width, JDIMENSION rows) {
  // Vector code of the library writes whole lines of the cache.
  constexpr std::size_t kLine = 64;
  const std::size_t row = (std::size_t{width} + kLine - 1) / kLine * kLine;
  auto* list = static_cast<JSAMPARRAY>(take(state, pool, rows * sizeof(JSAMPROW)));
  auto* samples = static_cast<JSAMPROW>(take(state, pool, rows * row));
  for (JDIMENSION y = 0; y < rows; ++y) list[y] = samples + y * row;
  return list;
}

JBLOCKARRAY JpegLibrary::take_blocks(j_common_ptr state, int pool, JDIMENSION width,
                                     JDIMENSION rows) {
  auto* list = static_cast<JBLOCKARRAY>(take(state, pool, rows * sizeof(JBLOCKROW)));
  auto* blocks =
      static_cast<JBLOCKROW>(take(state, pool, std::size_t{rows} * width * sizeof(JBLOCK)));
  for (JDIMENSION y = 0; y < rows; ++y) list[y] = blocks + std::size_t{y} * width;
  return list;
}

jvirt_sarray_ptr JpegLibrary::no_whole_rows(j_common_ptr state, int /*pool*/, boolean /*zero*/,
                                            JDIMENSION /*width*/, JDIMENSION /*rows*/,
                                            JDIMENSION /*access*/) {
  // Only for palettes, which nobody asks for.
  state->err->msg_code = JERR_NOT_COMPILED;
  give_up(state);
}

jvirt_barray_ptr JpegLibrary::take_whole(j_common_ptr state, int pool, boolean zero,
                                         JDIMENSION width, JDIMENSION rows, JDIMENSION /*access*/) {
  auto* whole =
      static_cast<jvirt_barray_ptr>(take(state, pool, sizeof(struct jvirt_barray_control)));
  whole->rows = take_blocks(state, pool, width, rows);
  whole->count = rows;
  if (zero != FALSE && rows > 0)
    std::memset(whole->rows[0], 0, std::size_t{rows} * width * sizeof(JBLOCK));
  return whole;
}

JBLOCKARRAY JpegLibrary::access_whole(j_common_ptr state, jvirt_barray_ptr whole, JDIMENSION first,
                                      JDIMENSION rows, boolean /*writable*/) {
  if (first > whole->count || rows > whole->count - first) {
    state->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
    give_up(state);
  }
  return whole->rows + first;
}

}  // namespace plimsoll
