/*
 * standard.h - makes sure that the standard descriptors 0, 1 and 2 are open.
 */
#ifndef BERTH_STANDARD_H
#define BERTH_STANDARD_H

/*
 * First thing in every main, before any other thread and before anything is opened.  What was closed is opened so that
 * using it still fails (EBADF): what cannot be printed is told, and no file or socket of the program's gets the number
 * and with it what was meant for the terminal.  Ends the process with 1 where even /dev/null cannot be opened.
 */
void standard_open(void);

#endif
