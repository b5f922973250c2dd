/* image.h - `berth image`, in its own program (tui/programs/berth_image.c). */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include <berth/err.h>

#include "cli/cli.h"

/* The exit code, or -1 with *e. */
int cli_image(const struct cli *c, struct err *e);

#endif
