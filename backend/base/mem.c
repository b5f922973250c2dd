/* mem.c - allocates memory, or ends the program if there is none. */
#include <berth/mem.h>

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>

static void *need_memory(void *p)
{
	if (!p)
		check_die("berth: out of memory");
	return p;
}

void *xmalloc(size_t n)
{
	return need_memory(malloc(n ? n : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return need_memory(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n)
{
	return need_memory(realloc(p, n ? n : 1));
}

void *xreallocarray(void *p, size_t n, size_t size)
{
	return need_memory(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return s ? need_memory(strdup(s)) : NULL;
}

char *xstrndup(const char *s, size_t n)
{
	return s ? need_memory(strndup(s, n)) : NULL;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return n < 0 ? need_memory(NULL) : s;
}

void *mem_grow(void *p, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap ? *cap : 16;

	if (want <= *cap)
		return p;
	while (n < want)
		n += n / 2 + 1;
	p = xreallocarray(p, n, size);
	*cap = n;
	return p;
}

void cleanup_free(void *p)
{
	free(*(void **)p);
}

void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}
