/* apparmor.c - reads the AppArmor state from the kernel. */
#include <berth/apparmor.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <berth/file.h>
#include <berth/mem.h>

bool apparmor_here(void)
{
	char on[2];

	return file_text("/sys/module/apparmor/parameters/enabled", on, sizeof on) > 0 &&
		*on == 'Y';
}

/* A loaded profile is a folder of its name, a dot and a number. */
static bool names_profile(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '.' && entry[n + 1] &&
		!entry[n + 1 + strspn(entry + n + 1, "0123456789")];
}

bool apparmor_loaded(const char *policy, const char *name)
{
	AUTO_CLOSEDIR DIR *d = opendir(policy);
	struct dirent *entry;
	bool found = false;

	while (d && !found && (entry = readdir(d)))
		found = names_profile(entry->d_name, name);
	return found;
}

int apparmor_label(pid_t pid, char label[APPARMOR_LABEL_MAX])
{
	/* The second is whichever security module's came first, and all that kernels before 5.8 have. */
	static const char *const modules[] = {"apparmor/", ""};

	for (size_t i = 0; i < COUNT(modules); i++) {
		char path[64];

		snprintf(path, sizeof path, "/proc/%d/attr/%scurrent", (int)pid, modules[i]);
		if (file_text(path, label, APPARMOR_LABEL_MAX) > 0) {
			label[strcspn(label, "\n")] = '\0';
			return 0;
		}
	}
	label[0] = '\0';
	return -1;
}

bool apparmor_holds(const char *label, const char *profile)
{
	static const char enforced[] = " (enforce)";
	size_t n = strlen(label), tail = sizeof enforced - 1;

	if (n <= tail || strcmp(label + n - tail, enforced))
		return false;
	return !*profile || (strlen(profile) == n - tail && !strncmp(label, profile, n - tail));
}
