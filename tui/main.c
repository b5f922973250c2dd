/*
 * main.c - the berth program, and an overview of all programs.
 *
 *   berth (this file)  reads the command line by the table in cli/commands.h, answers --version,
 *                      help and wrong usage itself, runs exec over the lane, for an agent may run
 *                      hundreds of commands a minute, and otherwise becomes the program in which
 *                      the command lives.  It is linked statically and starts in no time.
 *   berth-core         programs/berth_core.c: the console, ps, doctor, engine, config ...
 *   berth-files        programs/berth_files.c: files
 *   berth-image        programs/berth_image.c: image, cp, and what of workspace knows archives
 *   berth-mcp          programs/berth_mcp.c: mcp, the server that agents talk to
 *   berth-bench        bench/main.c: bench
 *   berth-terminal     backend/terminals: keeps the terminals of an agent
 *   berth-egress       backend/egress: relays the connections of an agent that has rules for them
 *   berth-ssh          programs/berth_ssh.c: runs ssh for an engine behind it
 *   berth-git          backend/repo: reads a git repository, shut in there
 *   berth-guest        backend/lane/guest/guest.c: not for people; PID 1 of every container that
 *                      berth makes, it runs what exec sends over the lane
 *
 *   main thread                                 backend thread (backend/console)
 *   app/app.c: poll(terminal, backend, timer)   one libuv loop: engine (libcurl), statistics
 *     views/ draw a snapshot on the canvas      (cgroups), logs, jobs; what can block is on
 *     terminal/screen.c writes changed cells    threads of its own
 *          |------ commands (message.h) ---------->|
 *          |<----- events (message.h) -------------|
 *          |<----- the newest snapshot (snapshot.h)|
 *
 * The two halves share include/berth and nothing else.  A key press becomes an action
 * (terminal/action.h), an action a dialog, a dialog a command, a command a request to the engine;
 * its outcome comes back as an event, and the row changes only when a later snapshot says so.
 *
 * backend/README.md and tui/README.md say what each folder is, tests/lint/modules.allowed which may
 * call which.
 *
 * The programs are found beside this one (build tree) or in ../libexec/berth (installed).  argv is
 * handed on unchanged; they read it by the same tables.
 */
#include <stdio.h>
#include <stdlib.h>

#include <berth/build.h>
#include <berth/standard.h>
#include <berth/trace.h>

#define CLI_TABLE
#define IN_BERTH(f) f
#define IN_EITHER(lane, engine) lane
#include "cli/commands.h"

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	const struct cli_command *k;
	struct cli c;
	int rc;

	standard_open();
	if (cli_parse(&cli_root, argc, argv, &c, &e) < 0)
		return cli_fail_command(&c, &e);
	if (c.help)
		return cli_help(&c);
	if (c.version) {
		printf("berth %s (commit %s)\n", berth_build.version,
			*berth_build.commit ? berth_build.commit : "unknown");
		return cli_finish();
	}
	k = c.command ? c.command : c.root;
	if (k->run && trace_open(getenv("BERTH_LOG"), &e) < 0)
		return cli_fail(&e);
	rc = k->run ? k->run(&c, NULL, &e) : cli_become(k->program, argv, &e);
	return rc < 0 ? cli_fail_command(&c, &e) : rc;
}
