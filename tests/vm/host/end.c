/*
 * end.c - `vm-end PID ID`: ends all of a container, as the host does where its init answers nothing and its processes
 * fork faster than they can be killed.  PID is its init's number on the host, ID the engine's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lane/lane.h"

int main(int argc, char **argv)
{
	int left;

	if (argc != 3)
		return 2;
	left = lane_end_container((pid_t)atoi(argv[1]), argv[2], 10000);
	printf("%d left\n", left);
	return left != 0;
}
