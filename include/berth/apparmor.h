/*
 * apparmor.h - reads which AppArmor profile confines a process, from the kernel.
 *
 * Thread: any; nothing is kept.  Sources: apparmor(7), proc(5) /proc/PID/attr, the kernel's
 * security/apparmor/apparmorfs.c.
 */
#ifndef BERTH_APPARMOR_H
#define BERTH_APPARMOR_H

#include <stdbool.h>
#include <sys/types.h>

#define APPARMOR_LABEL_MAX 64 /* bytes; longer ones are no name of a profile that berth asks for */
#define APPARMOR_OURS "berth-agent"       /* configs/berth-agent.apparmor */
#define APPARMOR_DOCKERS "docker-default" /* what docker puts around containers by itself */
#define APPARMOR_POLICY "/sys/kernel/security/apparmor/policy/profiles"

/* Does this machine's kernel enforce AppArmor profiles? */
bool apparmor_here(void);
/* Is a profile of that name in `policy`, a folder of the kernel's (APPARMOR_POLICY)?  Anybody may look. */
bool apparmor_loaded(const char *policy, const char *name);
/* "docker-default (enforce)", "unconfined": what holds process `pid`; -1 and "" when that cannot be read. */
int apparmor_label(pid_t pid, char label[APPARMOR_LABEL_MAX]);
/* Is that `profile`, enforced?  "" stands for any. */
bool apparmor_holds(const char *label, const char *profile);

#endif
