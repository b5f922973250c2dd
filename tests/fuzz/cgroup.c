/* cgroup.c - fuzz target: every scanner of the kernel's files on the same bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "observe/observe.h"
#include "observe/proc_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *p = (const char *)data;
	char *text = xmalloc(n + 1), *name, state;
	uint64_t a = 0, b = 0, c = 0;

	memcpy(text, p, n);
	text[n] = '\0';

	scan_number(p, n, 0, &a);
	scan_key(p, n, "inactive_file ", 14, &a);
	scan_blkio(p, n, &a, &b);
	scan_io_stat(p, n, &a, &b);
	scan_net_dev(p, n, &a, &b);
	host_scan_cpu(p, n, &a, &b, &c);
	process_scan_stat(text, &state, &name, &a, &b, &c);
	free(text);
	return 0;
}
