// Any bytes read as what another process found of its share of a scan: a DataError, or findings of
// that share alone.
#include "data/scan/scan_part.h"

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plimsoll;
  constexpr ScanRange kRange{4, 8};
  ScanReport whole;
  whole.contents.assign(8, 0);
  try {
    merge_packed({reinterpret_cast<const char*>(data), size}, kRange, "share 1", whole);
    for (const BadSample& bad : whole.bad)
      expect(bad.sample >= kRange.begin && bad.sample < kRange.end, "a sample of the share");
    for (std::size_t i = 0; i < 4; ++i)
      expect(whole.contents[i] == 0, "other shares' contents are left alone");
  } catch (const DataError&) {
  }
  return 0;
}
