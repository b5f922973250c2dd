/* build.c - the build that test programs are of: the same in every version, so that no commit links them anew. */
#include <berth/build.h>

const struct build berth_build = {
	.version = "0.0.0", .commit = "", .io_uring = true, .bench_console = true};
