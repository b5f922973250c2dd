/*
 * task.h - berth commands that the console runs as child processes, with their output.
 *
 * They are jobs like those of any berth process: progress and cancelling are the view Jobs'.  What they
 * print is kept up to TASK_TEXT_MAX bytes.  Thread: main.
 */
#ifndef APP_TASK_H
#define APP_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <berth/err.h>
#include <berth/str.h>

#define TASKS_MAX 8
#define TASK_WORDS_MAX 40
#define TASK_TEXT_MAX ((size_t)4 << 20)

struct view_ops;

struct task {
	char title[160]; /* "search main src" */
	pid_t pid;       /* 0: it ended */
	int fd;          /* of what it prints, both streams; -1: all of it came */
	int end;         /* a pidfd: it may close what it prints to, and end later */
	int code;        /* when it ended; 128 + the signal */
	bool cut;        /* it printed more than is kept */
	bool preview; /* of a change that is asked about when it ended, with the words of `line` */
	char *line;
	const struct view_ops *of; /* the view that has it run; NULL: the app */
	bool page;                 /* what it prints is shown as it comes */
	size_t at_line;            /* that is to be shown, from 1; 0: the end */
	struct str text;
	unsigned users;
};

/* The words of a line as a shell cuts them: blanks, quotes, backslashes, nothing else.  -1 and *e: a quote is
 * not closed, or they are too many.  `line` is cut up and holds them. */
int task_words(char *line, const char *words[TASK_WORDS_MAX], struct err *e);

/* argv[0] is the program, which lies beside this one; NULL ends it. */
struct task *task_start(const char *title, const char *const *argv, struct err *e);
int task_fd(const struct task *t); /* readable when task_read has something to tell */
bool task_read(struct task *t);    /* what there is now; true: something came, or it ended */
bool task_ended(const struct task *t);
void task_stop(struct task *t); /* as C-c would */
struct task *task_ref(struct task *t);
void task_unref(struct task *t); /* the last one stops it */

#endif
