/*
 * paths.h - where the source tree and the programs of this build are.
 *
 * Values of one object instead of macros: the object of a test is the same in every clone, so ccache finds it. */
#ifndef TESTS_LIB_PATHS_H
#define TESTS_LIB_PATHS_H

extern const char test_source[];  /* the top of the source tree */
extern const char test_data[];    /* tests/data in it */
extern const char test_program[]; /* berth */
extern const char test_guest[];   /* berth-guest */

#endif
