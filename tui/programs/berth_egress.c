/*
 * berth_egress.c - berth-egress: the egress process of one agent, started by `berth up`.
 *
 * berth-egress NAME RULES LISTENERS, or berth-egress ports NAME for what `berth port open` opens, with the descriptors of egress/egress.h open.  It gives up all else before it reads a byte of the
 * agent's, and ends with the agent's container.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/egress.h>
#include <berth/port.h>

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	if (argc == 3 && !strcmp(argv[1], "ports")) {
		if (!port_main(&e))
			return 0;
		fprintf(stderr, "berth-egress: %s\n", e.msg);
		return 1;
	}
	if (argc != 4) {
		fputs("berth-egress: berth up starts it, for each agent whose network: has allow:\n",
			stderr);
		return 2;
	}
	if (!egress_main(argv[2], atoi(argv[3]), &e))
		return 0;
	fprintf(stderr, "berth-egress: %s\n", e.msg);
	return 1;
}
