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
	size_t n = strlen(name);
	char line[64];
	int fd = open("/log/ran", O_WRONLY | O_APPEND | O_CLOEXEC);

	/* One write, and short: nothing of others comes between. */
	if (fd < 0 || n + 1 > sizeof line)
		return 1;
	memcpy(line, name, n);
	line[n] = ' ';
	return write(fd, line, n + 1) < 0;
}
