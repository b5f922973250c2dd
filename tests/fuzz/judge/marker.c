/* marker.c - for tests/fuzz/shells.py: a program that does nothing but write down that it ran. */
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(void)
{
	/* what was executed: argv[0] may say something else */
	const char *path = (const char *)getauxval(AT_EXECFN);
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path ? path : "?";
	int fd = open("/log/ran", O_WRONLY | O_APPEND | O_CLOEXEC);

	/* A write this short is not torn by others. */
	return fd < 0 || write(fd, name, strlen(name)) < 0 || write(fd, " ", 1) < 0;
}
