/* standard.c - opens the standard descriptors 0, 1 and 2 if they are closed. */
#include <fcntl.h>
#include <unistd.h>

#include <berth/standard.h>

void standard_open(void)
{
	/* Each the wrong way round, as libc does it for programs with other rights.  open takes the
	 * lowest number that is free: those below are there by then. */
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
}
