// Writes photographs of every kind for bench/photographs: FOLDER COUNT CLASSES MEGAPIXELS
// [ORIGINALS].
#include <cstdio>
#include <cstdlib>

#include "tests/support/photographs.h"

int main(int count, char** words) {
  if (count < 5) {
    std::fputs("expected FOLDER COUNT CLASSES MEGAPIXELS [ORIGINALS]\n", stderr);
    return 2;
  }
  plimsoll::write_photographs(words[1], std::atoi(words[2]), std::atoi(words[3]),
                              std::atof(words[4]), count > 5 ? words[5] : "");
}
