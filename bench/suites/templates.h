/* templates.h - cases that suite files make as many of as they name numbers (bench_param). */
#ifndef BENCH_TEMPLATES_H
#define BENCH_TEMPLATES_H

#include "bench.h"

extern const struct bench_case files_read_warm, files_read_cold, files_write_many;

#endif
