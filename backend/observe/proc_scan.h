/*
 * proc_scan.h - numbers out of the kernel's text files, without allocation and without a NUL.
 *
 * Every scanner works on [p, end) and never looks beyond.  What does not parse is skipped: these
 * files come from the kernel, but a line that is not understood must not spoil the others.
 * Thread: any.
 */
#ifndef OBSERVE_PROC_SCAN_H
#define OBSERVE_PROC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Digits at p (after blanks), saturating at UINT64_MAX; NULL when there are none, else the byte
 * after them. */
const char *scan_u64(const char *p, const char *end, uint64_t *out);
/* A file of one number; "max" gives `max`. */
bool scan_number(const char *p, size_t n, uint64_t max, uint64_t *out);
/* The number after "KEY " at the start of a line; `key` carries its blank. */
bool scan_key(const char *p, size_t n, const char *key, size_t key_len, uint64_t *out);
/* cgroup v1 blkio: sums of "MAJ:MIN Read N" and "MAJ:MIN Write N". */
void scan_blkio(const char *p, size_t n, uint64_t *read, uint64_t *write);
/* cgroup v2 io.stat: sums of rbytes= and wbytes=. */
void scan_io_stat(const char *p, size_t n, uint64_t *read, uint64_t *write);
/* /proc/PID/net/dev: received and sent bytes of all interfaces but lo. */
void scan_net_dev(const char *p, size_t n, uint64_t *rx, uint64_t *tx);

#endif
