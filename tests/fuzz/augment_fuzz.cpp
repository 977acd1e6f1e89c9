// Any text read as augmentation: a UsageError, or ranges whose text reads back and that can be
// drawn.
#include "data/picture/augment.h"

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const plimsoll::Augment augment = plimsoll::parse_augment(text);
    plimsoll::expect(plimsoll::parse_augment(plimsoll::to_text(augment)) == augment,
                     "an augmentation's text reads back");
    const plimsoll::Draw draw = plimsoll::draw_augment(augment, size, 1, 2);
    const plimsoll::Rect crop = plimsoll::crop_of(draw, {30, 40});
    plimsoll::expect(crop.width > 0 && crop.height > 0 && crop.x + crop.width <= 40 &&
                         crop.y + crop.height <= 30,
                     "a crop lies within its image");
  } catch (const plimsoll::UsageError&) {
  }
  return 0;
}
