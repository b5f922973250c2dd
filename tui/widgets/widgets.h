/*
 * widgets.h - the public header of this module: widgets that draw on a canvas and do not depend on a view.
 *
 * Headers that are not named here are the module's own.
 */
#ifndef WIDGETS_WIDGETS_H
#define WIDGETS_WIDGETS_H

#include "widgets/dialog.h"  /* a question */
#include "widgets/meter.h"   /* sparklines, bars */
#include "widgets/palette.h" /* every action by name */
#include "widgets/prompt.h"  /* a line of input */
#include "widgets/table.h"   /* rows and columns */

#endif
