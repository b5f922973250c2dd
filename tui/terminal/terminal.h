/*
 * terminal.h - the public header of this module: canvas, themes, actions and keys.
 *
 * Every view draws and answers keys, so it is entered as a whole.  Headers that are not named here are the module's own.
 */
#ifndef TERMINAL_TERMINAL_H
#define TERMINAL_TERMINAL_H

#include "terminal/action.h" /* all actions, in one list */
#include "terminal/canvas.h" /* cells */
#include "terminal/keymap.h" /* keys to actions */
#include "terminal/screen.h" /* the terminal itself */
#include "terminal/theme.h"  /* roles and their colours */

#endif
