/* proc_scan.c - scans the kernel's text files within bounds. */
#include "observe/proc_scan.h"

#include <string.h>

#include <berth/sum.h>

const char *scan_u64(const char *p, const char *end, uint64_t *out)
{
	uint64_t v = 0;
	bool any = false;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		unsigned d = (unsigned)(*p - '0');

		any = true;
		v = v > (UINT64_MAX - d) / 10 ? UINT64_MAX : v * 10 + d;
	}
	if (!any)
		return NULL;
	*out = v;
	return p;
}

bool scan_number(const char *p, size_t n, uint64_t max, uint64_t *out)
{
	if (n >= 3 && memcmp(p, "max", 3) == 0) {
		*out = max;
		return true;
	}
	return scan_u64(p, p + n, out) != NULL;
}

static const char *skip_text_line(const char *p, const char *end)
{
	const char *nl = memchr(p, '\n', (size_t)(end - p));

	return nl ? nl + 1 : end;
}

bool scan_key(const char *p, size_t n, const char *key, size_t key_len, uint64_t *out)
{
	const char *end = p + n;

	for (; p < end; p = skip_text_line(p, end))
		if ((size_t)(end - p) > key_len && memcmp(p, key, key_len) == 0)
			return scan_u64(p + key_len, end, out) != NULL;
	return false;
}

/* The rest of the word at p; moves *p behind it. */
static size_t scan_word(const char **p, const char *end, const char **start)
{
	while (*p < end && **p == ' ')
		(*p)++;
	*start = *p;
	while (*p < end && **p != ' ' && **p != '\n')
		(*p)++;
	return (size_t)(*p - *start);
}

void scan_blkio(const char *p, size_t n, uint64_t *read, uint64_t *write)
{
	const char *end = p + n, *device, *op;
	uint64_t v;

	*read = *write = 0;
	for (; p < end; p = skip_text_line(p, end)) {
		const char *q = p;
		size_t device_len = scan_word(&q, end, &device), op_len = scan_word(&q, end, &op);

		if (!device_len || !memchr(device, ':', device_len) || !scan_u64(q, end, &v))
			continue;
		if (op_len == 4 && memcmp(op, "Read", 4) == 0)
			sum_add(read, v);
		else if (op_len == 5 && memcmp(op, "Write", 5) == 0)
			sum_add(write, v);
	}
}

void scan_io_stat(const char *p, size_t n, uint64_t *read, uint64_t *write)
{
	const char *end = p + n, *w;
	uint64_t v;
	size_t len;

	*read = *write = 0;
	for (; p < end; p = skip_text_line(p, end)) {
		const char *q = p;

		while ((len = scan_word(&q, end, &w)) > 0) {
			if (len <= 7 || !scan_u64(w + 7, w + len, &v))
				continue;
			if (memcmp(w, "rbytes=", 7) == 0)
				sum_add(read, v);
			else if (memcmp(w, "wbytes=", 7) == 0)
				sum_add(write, v);
		}
	}
}

void scan_net_dev(const char *p, size_t n, uint64_t *rx, uint64_t *tx)
{
	const char *end = p + n;

	*rx = *tx = 0;
	for (; p < end; p = skip_text_line(p, end)) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p)), *name, *q = p;
		uint64_t in = 0, out = 0;
		size_t len;

		/* A cut last line would give a cut number. */
		if (!line_end)
			return;
		while (q < line_end && *q == ' ')
			q++;
		name = q;
		/* Names may hold colons (old aliases): the last one ends the name. */
		q = memrchr(q, ':', (size_t)(line_end - q));
		if (!q)
			continue;
		len = (size_t)(q - name);
		if (len == 2 && memcmp(name, "lo", 2) == 0)
			continue;
		/* Columns 1 and 9 of 16. */
		q = scan_u64(q + 1, line_end, &in);
		for (int i = 0; q && i < 8; i++)
			q = scan_u64(q, line_end, &out);
		if (!q)
			continue;
		sum_add(rx, in);
		sum_add(tx, out);
	}
}
