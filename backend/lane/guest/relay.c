/*
 * relay.c - `berth-guest relay`: carries clients of the proxy to the host over this program's input and output.
 *
 * For containers into which no descriptor passes.  The engine runs it, the host holds the other end; with that it ends, and
 * with it nobody listens.  It decides nothing: a command that ends it, or takes its place at the port, keeps itself from
 * the network and gains nothing, for the host judges every target.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "guest.h"
#include "lane/mux.h"

int guest_relay(void)
{
	static struct mux m; /* untouched pages cost nothing */
	int why;

	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "berth-relay");
	signal(SIGPIPE, SIG_IGN);
	if (mux_greeted(STDIN_FILENO))
		return 2;
	guest_listen();
	why = guest_nlisteners ? 0 : errno;
	if (mux_answer(STDOUT_FILENO, why) || why || mux_greeted(STDIN_FILENO) ||
		mux_open(&m, STDIN_FILENO, STDOUT_FILENO, guest_listener, guest_nlisteners))
		return 1;
	while (!mux_turn(&m, -1))
		;
	return 0;
}
