// libjpeg's decompressor, made once and used for one image after the other, with a memory manager
// of our own: whatever it needs for an image comes from a Room.
#pragma once

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <csetjmp>
#include <span>
#include <string_view>

#include "data/picture/room.h"

namespace plimsoll {

// Not thread-safe. All members but the constructor and destructor only use types that longjmp may
// pass over.
class JpegLibrary {
 public:
  JpegLibrary();
  JpegLibrary(const JpegLibrary&) = delete;
  JpegLibrary& operator=(const JpegLibrary&) = delete;
  ~JpegLibrary();

  // Makes it ready for the next image, whatever became of the one before; nothing of that is left.
  // `piece`: how many bytes the decoder is handed at a time.
  void begin(std::span<const std::byte> bytes, std::size_t piece, Room& room);

  jpeg_decompress_struct& state() { return state_; }
  // Where errors go: set by setjmp before each call of the library.
  std::jmp_buf& back() { return back_; }

  const char* message() const { return message_; }
  // The first thing about the image that is not as it should be and changes no pixel; empty if
  // there was none. Of a fixed list.
  std::string_view oddity() const { return oddity_; }
  bool ended_early() const { return ended_early_; }
  // What it asked for when the room had too little; 0 if that was not it.
  std::size_t refused() const { return refused_; }
  // Bytes of the image it has not been given, or has not used, yet.
  std::size_t unread() const { return rest_size_ + source_.bytes_in_buffer; }

 private:
  static JpegLibrary& of(j_common_ptr state);
  static JpegLibrary& of(j_decompress_ptr state);
  [[noreturn]] static void give_up(j_common_ptr state);
  static void on_message(j_common_ptr state, int level);
  static void on_progress(j_common_ptr state);
  static boolean hand_out(j_decompress_ptr state);
  static void skip(j_decompress_ptr state, long bytes);
  static void* take(j_common_ptr state, int pool, std::size_t bytes);
  static JSAMPARRAY take_rows(j_common_ptr state, int pool, JDIMENSION width, JDIMENSION rows);
  static JBLOCKARRAY take_blocks(j_common_ptr state, int pool, JDIMENSION width, JDIMENSION rows);
  static jvirt_sarray_ptr no_whole_rows(j_common_ptr, int, boolean, JDIMENSION, JDIMENSION,
                                        JDIMENSION);
  static jvirt_barray_ptr take_whole(j_common_ptr state, int pool, boolean zero, JDIMENSION width,
                                     JDIMENSION rows, JDIMENSION access);
  static JBLOCKARRAY access_whole(j_common_ptr state, jvirt_barray_ptr whole, JDIMENSION first,
                                  JDIMENSION rows, boolean writable);

  jpeg_decompress_struct state_{};
  jpeg_error_mgr errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_memory_mgr original_memory_{};
  std::jmp_buf back_{};
  char message_[JMSG_LENGTH_MAX] = {};
  std::string_view oddity_;
  const JOCTET* rest_ = nullptr;
  std::size_t rest_size_ = 0;
  std::size_t piece_ = 0;
  bool ended_early_ = false;
  std::size_t refused_ = 0;
  Room* room_ = nullptr;
};

}  // namespace plimsoll
