/*
 * kept.h - saves what was chosen in the console for the next one: $XDG_STATE_HOME/berth/console.json.
 *
 * Sorting, columns, folds, groups and the theme, only where they differ from berth.yaml, and only for as long as
 * that says of these what it said then.  Of several consoles the last one that ends counts.  A file that is
 * damaged, too large or nobody's counts as none.
 *
 * Thread: main, before the console begins and after it ended.
 */
#ifndef CLI_KEPT_H
#define CLI_KEPT_H

#include <berth/config.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "app/app.h"

/* false: there is nothing; else *mem, in which it lies, is to be released with config_release. */
bool kept_read(const struct settings *s, struct config *mem, struct app_kept *ret);
void kept_write(const struct settings *s, const struct str *kept);

#endif
