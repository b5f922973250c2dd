/* host.c - reads /proc of the machine and of berth itself. */
#include "observe/observe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "observe/proc_scan.h"

#define DISK_EVERY_NS (10 * 1000000000LL)
#define FDS_EVERY_NS (10 * 1000000000LL)
/* Time between two readings below which the ticks (10 ms) are too coarse to say anything. */
#define CPU_MIN_NS (90 * 1000000LL)

static int open_proc(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

void host_init(struct host *h)
{
	memset(h, 0, sizeof *h);
	h->fd_stat = open_proc("/proc/stat");
	h->fd_meminfo = open_proc("/proc/meminfo");
}

void host_release(struct host *h)
{
	cleanup_close(&h->fd_stat);
	cleanup_close(&h->fd_meminfo);
}

bool host_scan_cpu(const char *p, size_t n, uint64_t *total, uint64_t *busy, uint64_t *steal)
{
	const char *end = p + n;
	/* user nice system idle iowait irq softirq steal; guest time is part of user's */
	uint64_t v[8] = {0};

	if (n < 4 || memcmp(p, "cpu ", 4) != 0)
		return false;
	p += 4;
	for (size_t i = 0; i < COUNT(v); i++) {
		p = scan_u64(p, end, &v[i]);
		if (!p)
			return false;
	}
	*total = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
	*busy = *total - v[3] - v[4] - v[7];
	*steal = v[7];
	return true;
}

static void push_value(struct series *s, double v)
{
	if (s->len == SERIES_LEN)
		memmove(s->v, s->v + 1, (SERIES_LEN - 1) * sizeof s->v[0]);
	else
		s->len++;
	s->v[s->len - 1] = (float)v;
}

static void read_cpu(struct host *h, int64_t now, struct host_stats *out)
{
	uint64_t total, busy, steal;
	char buf[512];
	ssize_t n = h->fd_stat < 0 ? -1 : pread(h->fd_stat, buf, sizeof buf, 0);

	if (n <= 0 || (h->any && now - h->at_ns < CPU_MIN_NS) ||
		!host_scan_cpu(buf, (size_t)n, &total, &busy, &steal))
		return;
	if (h->any && total > h->total && busy >= h->busy && steal >= h->steal) {
		double all = (double)(total - h->total);
		double stolen = (double)(steal - h->steal) / all;

		out->cpu_percent = 100.0 * (double)(busy - h->busy) / all;
		h->stolen += (stolen - h->stolen) / 8;
		push_value(&h->cpu, out->cpu_percent);
	}
	h->any = true;
	h->at_ns = now;
	h->total = total;
	h->busy = busy;
	h->steal = steal;
}

static void read_memory(struct host *h, struct host_stats *out)
{
	uint64_t total = 0, available = 0;
	char buf[4096];
	ssize_t n = h->fd_meminfo < 0 ? -1 : pread(h->fd_meminfo, buf, sizeof buf, 0);

	if (n <= 0)
		return;
	scan_key(buf, (size_t)n, "MemTotal:", 9, &total);
	scan_key(buf, (size_t)n, "MemAvailable:", 13, &available);
	out->memory_total_bytes = total * 1024;
	out->memory_available_bytes = available * 1024;
	push_value(&h->memory, (double)(total - available) * 1024);
}

void host_read(struct host *h, const char *root_dir, struct host_stats *out)
{
	int64_t now = clock_mono_ns();
	struct timespec up;
	struct statvfs vfs;
	double load[3];

	out->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	read_cpu(h, now, out);
	read_memory(h, out);
	if (getloadavg(load, 3) == 3) {
		out->load1 = load[0];
		out->load5 = load[1];
		out->load15 = load[2];
	}
	if (clock_gettime(CLOCK_BOOTTIME, &up) == 0)
		out->uptime_s = up.tv_sec;
	if (!root_dir) {
		out->disk_total_bytes = out->disk_used_bytes = out->disk_free_bytes = 0;
		h->disk_at_ns = 0;
	} else if (!h->disk_at_ns || now - h->disk_at_ns > DISK_EVERY_NS) {
		h->disk_at_ns = now;
		if (statvfs(root_dir, &vfs) == 0) {
			out->disk_total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
			out->disk_used_bytes =
				(uint64_t)(vfs.f_blocks - vfs.f_bfree) * vfs.f_frsize;
			out->disk_free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
		}
	}
	out->cpu = h->cpu;
	out->memory = h->memory;
}

/* Linux 6.2 and later tell the number as the size of the folder; before, it is walked, which with
 * thousands of descriptors is not for every second. */
static int count_fds(struct host *h, int64_t now)
{
	struct stat st;
	AUTO_CLOSEDIR DIR *d = NULL;
	int n = 0;

	if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
		return (int)st.st_size;
	if (h->fds_at_ns && now - h->fds_at_ns < FDS_EVERY_NS)
		return h->fds;
	h->fds_at_ns = now;
	d = opendir("/proc/self/fd");
	if (!d)
		return h->fds = -1;
	while (readdir(d))
		n++;
	return h->fds = n - 3; /* ".", ".." and the descriptor of this walk */
}

void host_read_self(struct host *h, struct self_stats *out)
{
	int64_t now = clock_mono_ns(), cpu;
	struct rusage ru;
	uint64_t pages;
	char buf[128];
	const char *p;
	ssize_t n;

	if (h->self_at_ns && now - h->self_at_ns < CPU_MIN_NS)
		return;
	getrusage(RUSAGE_SELF, &ru);
	cpu = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000LL +
		(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000LL;
	if (h->self_at_ns)
		out->cpu_percent =
			100.0 * (double)(cpu - h->self_cpu_ns) / (double)(now - h->self_at_ns);
	h->self_at_ns = now;
	h->self_cpu_ns = cpu;
	n = file_text("/proc/self/statm", buf, sizeof buf);
	p = n > 0 ? scan_u64(buf, buf + n, &pages) : NULL; /* size, then resident */
	if (p && scan_u64(p, buf + n, &pages))
		out->memory_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	out->fds = count_fds(h, now);
}
