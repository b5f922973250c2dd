/* machine.c - describes the machine, from /proc, uname and git. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

static double own_seconds(void)
{
	double s = 0;

	for (int who = 0; who < 2; who++) {
		struct rusage r;

		getrusage(who ? RUSAGE_CHILDREN : RUSAGE_SELF, &r);
		s += (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
			(double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	}
	return s;
}

void load_begin(struct load_mark *m)
{
	unsigned long long v[8] = {0};
	FILE *f = fopen("/proc/stat", "re");

	memset(m, 0, sizeof *m);
	m->own_s = own_seconds();
	if (!f)
		return;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", v, v + 1, v + 2, v + 3, v + 4,
		    v + 5, v + 6, v + 7) == 8) {
		for (int i = 0; i < 8; i++)
			m->all += v[i];
		m->steal = v[7];
		m->busy = m->all - v[3] - v[4] - v[7];
	}
	fclose(f);
}

struct load load_since(struct load_mark *m)
{
	struct load_mark before = *m;
	struct load l = {0};
	double all;

	load_begin(m);
	all = (double)(m->all - before.all);
	if (!(all > 0))
		return l;
	l.own_percent = 100 * (m->own_s - before.own_s) * (double)sysconf(_SC_CLK_TCK) / all;
	l.steal_percent = 100 * (double)(m->steal - before.steal) / all;
	l.others_percent = 100 * (double)(m->busy - before.busy) / all - l.own_percent;
	if (l.others_percent < 0)
		l.others_percent = 0;
	return l;
}

double load_average(void)
{
	double v = 0;

	return getloadavg(&v, 1) == 1 ? v : 0;
}

static void cpu_name(char *buf, size_t cap)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	snprintf(buf, cap, "unknown CPU");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
			char *v = strchr(line, ':') + 1;

			snprintf(buf, cap, "%s", v + strspn(v, " \t"));
			buf[strcspn(buf, "\n")] = '\0';
			break;
		}
	if (f)
		fclose(f);
}

/* The first line that a program prints, without the space around it. */
static void read_output_line(const char *command, char *buf, size_t cap)
{
	FILE *f = popen(command, "re");
	char line[256] = "";

	if (f && !fgets(line, sizeof line, f))
		line[0] = '\0';
	if (f)
		pclose(f);
	line[strcspn(line, "\n")] = '\0';
	text_clean(buf, cap, line);
}

static const char *fs_name(long magic)
{
	static const struct {
		long magic;
		const char *name;
	} known[] = {{0xEF53, "ext4"}, {0x58465342, "xfs"}, {0x9123683E, "btrfs"},
		{0x01021994, "tmpfs"}, {0x794C7630, "overlay"}, {0x2FC12FC1, "zfs"},
		{0x6969, "nfs"}, {0x01021997, "9p"}, {0xF2F52010, "f2fs"}};

	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i].magic == magic)
			return known[i].name;
	return "other";
}

void machine_fill(struct history_run *r)
{
	const char *tmp = getenv("TMPDIR");
	struct utsname u;
	struct sysinfo si;
	struct statfs fs;
	char changed[8];

	uname(&u);
	cpu_name(r->cpu, sizeof r->cpu);
	snprintf(r->kernel, sizeof r->kernel, "%s", u.release);
	if (statfs(tmp && *tmp ? tmp : "/tmp", &fs) == 0)
		snprintf(r->fs, sizeof r->fs, "%s", fs_name((long)fs.f_type));
	r->cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (sysinfo(&si) == 0)
		r->memory_bytes = (int64_t)(si.totalram * (uint64_t)si.mem_unit);
	/* Runners of one kind are one machine here: what they are counts, not which one it is. */
	snprintf(r->machine, sizeof r->machine, "%.80s, %lld cores, %lldG, %s", r->cpu,
		(long long)r->cores, (long long)((r->memory_bytes + (1 << 29)) >> 30), r->fs);
	r->load_start = load_average();
	if (!*r->commit) {
		read_output_line("git rev-parse --short=12 HEAD 2>/dev/null", r->commit,
			sizeof r->commit - 1);
		read_output_line(
			"git status --porcelain --untracked-files=no 2>/dev/null | head -c 1",
			changed, sizeof changed);
		if (*r->commit && *changed)
			strcat(r->commit, "+");
	}
}

void machine_versions(char *buf, size_t cap)
{
	static const char *const commands[] = {"rg --version", "bfs --version", "fdfind --version",
		"find --version", "git --version", "docker --version"};
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < COUNT(commands); i++) {
		char command[96], line[96];

		snprintf(command, sizeof command, "%s 2>/dev/null", commands[i]);
		read_output_line(command, line, sizeof line);
		if (*line && used < cap)
			used += (size_t)snprintf(
				buf + used, cap - used, "%s%s", used ? "; " : "", line);
	}
}
