// Checks on errors: that the right one is thrown, and that it says where and what.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

// Expects `statement` to throw `type` with a message that contains `text`.
#define EXPECT_COMPLAINT(statement, type, text)             \
  try {                                                     \
    statement;                                              \
    ADD_FAILURE() << "expected " #type " from " #statement; \
  } catch (const type& caught) {                            \
    EXPECT_THAT(caught.what(), testing::HasSubstr(text));   \
    EXPECT_FALSE(caught.complaint().where.empty());         \
  }
