// Whether a text is well-formed XML, by a parser that is not ours.
#pragma once

#include <expat.h>
#include <gtest/gtest.h>

#include <string>

namespace plimsoll::tests {

inline testing::AssertionResult is_well_formed(const std::string& text) {
  XML_Parser parser = XML_ParserCreate("UTF-8");
  const XML_Status status = XML_Parse(parser, text.data(), static_cast<int>(text.size()), XML_TRUE);
  const XML_Error error = XML_GetErrorCode(parser);
  const auto line = XML_GetCurrentLineNumber(parser);
  XML_ParserFree(parser);
  if (status == XML_STATUS_OK) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "line " << line << ": " << XML_ErrorString(error);
}

}  // namespace plimsoll::tests
