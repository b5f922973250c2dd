/* paths.c - where the source tree and the programs of this build are. */
#include "lib/paths.h"

const char test_source[] = TEST_SOURCE;
const char test_data[] = TEST_SOURCE "/tests/data";
const char test_program[] = TEST_BUILD "/berth";
const char test_guest[] = TEST_BUILD "/berth-guest";
