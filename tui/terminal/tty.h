/*
 * tty.h - the parts of owning a terminal that must work in a signal handler.
 *
 * Saved modes and prepared bytes give the terminal back from a crash or a failed CHECK on any
 * thread; other signals become something to poll for.  No curses here.
 *
 * Thread: main, but what runs in handlers.
 */
#ifndef TERMINAL_TTY_H
#define TERMINAL_TTY_H

void terminal_open(void);  /* saves the modes, catches signals */
void terminal_close(void); /* signals as before; the restore hook is off */

/* What is written before the saved modes are put back. */
void terminal_restore_add(const char *bytes);
void terminal_restore_arm(void); /* from now on CHECK, SIGSEGV and their kin restore */

void terminal_write(const char *text); /* all of it */
void terminal_raw(void);               /* bytes as they are, both ways */
void terminal_stop(void);              /* stop the process group; returns when it goes on */

int terminal_signal_fd(void); /* readable: call terminal_signal until it returns 0 */
/* The next of SIGWINCH, SIGCONT, SIGTSTP, SIGTERM, SIGHUP, SIGINT; any number of one kind is one.
 */
int terminal_signal(void);

#endif
