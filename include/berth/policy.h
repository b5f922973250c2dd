/*
 * policy.h - the only place that refuses operations.
 *
 * The console asks it to grey out what would be refused, the backend asks it again right before
 * acting; both call the same function on the same plain data.  A policy is made once from the
 * configuration (backend/config) and never changes; a new one replaces it.
 *
 * What cannot be judged is refused: when a rule looks at names, labels or images and the target's
 * are not known (NULL; "" is a known nothing), the answer is no.  `guess` turns that around for
 * greying out, where a wrong yes does no harm because the backend asks again with everything known.
 *
 * Patterns: `*` any run of characters, `?` one, all else literal, the whole text must match.
 * Labels: "key" (any value) or "key=value", both sides patterns.  Matching is bytewise.
 *
 * Thread: plain data; any thread may read.  Ownership: whoever filled it in.
 */
#ifndef BERTH_POLICY_H
#define BERTH_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "operation.h"
#include "err.h"
#include "snapshot.h"

struct policy_patterns {
	size_t n;
	const char *const *v;
};

/* What may not be harmed. */
struct policy_protected {
	struct policy_patterns names, labels, images;
};

/* A rule for the hosts whose endpoint or engine name matches. */
struct policy_host {
	const char *host; /* pattern: "ssh://prod*", an engine's name */
	bool read_only;
	struct policy_protected keep;
	bool no_secrets; /* nothing secret is handed over there: a host by name that is not trusted with any */
};

struct policy {
	bool read_only;
	const char
		*read_only_by; /* who asked: "--read-only", ":ro", "berth.yaml:12"; NULL unknown */
	struct policy_protected keep;
	size_t nhosts;
	const struct policy_host *hosts;
	/* Absolute, normalised directories of ours (state, configuration, runtime), as $HOME and $XDG_* say: nothing in them,
	 * they themselves and nothing above them can be mounted into a container. */
	struct policy_patterns private_dirs; /* plain paths, no patterns */
	int64_t home_days; /* a home that was used since then is not marked for clean-up; 0: it is */
	bool unrecorded;   /* what the log cannot take is done all the same, and counted */
	/* Ours as well, or NULL: of it only workspaces, one by one, and what they share can be mounted; not the stores of their
	 * checkpoints, nor all of them. */
	const char *data_dir;
};

struct policy_act {
	enum operation operation;
	const char *endpoint, *engine_name; /* NULL: the operation concerns no engine */
	const char *name, *id;              /* of the target; NULL: not known */
	const char *image;              /* of a container, or the image itself; NULL: not known */
	const struct key_value *labels; /* of the target; NULL: not known */
	size_t nlabels;
	const char *path; /* a mount source, absolute and resolved; else NULL */
	bool secrets;     /* it hands some over, or keys */
	bool guess;       /* for greying out: unknown passes */
};

/* Which directory of ours the absolute, normalised `path` is, is in, or has in it; NULL: none.  Ours are known by where they
 * are now and by every link that leads there, which is looked up on disk at each call.  `path` without links in it: one to
 * such a directory may be made at any time. */
const char *policy_own_dir(const struct policy *p, const char *path);

/* 0, or -1 and ERR_REFUSED with the sentence why not.  Asks nothing, and looks at the disk for an act with a path only. */
int policy_check(const struct policy *p, const struct policy_act *act, struct err *e);

/* All of it, copied into mem. */
struct arena;
void policy_copy(struct policy *to, const struct policy *from, struct arena *mem);

/* What the settings protect, and berth's own directories; everything in mem. */
struct settings;
void policy_from_settings(struct policy *ret, const struct settings *s, struct arena *mem);

/* Does `text` match the pattern?  Time is at most the product of the two lengths. */
bool policy_match(const char *pattern, const char *text);

#endif
