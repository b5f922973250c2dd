/* policy.c - decides on operations: read-only mode, protected targets, forbidden mounts. */
#include <berth/policy.h>

#include <string.h>

#include <berth/mem.h>
#include <berth/path.h>
#include <berth/runtime.h>
#include <berth/text.h>

#define SHOWN 64 /* bytes of an outside name that fit into a sentence */

bool policy_match(const char *pattern, const char *text)
{
	const char *star = NULL, *retry = NULL;

	/* Only the last star is ever retried: an earlier one taking more cannot help. */
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			retry = text;
		} else if (*pattern == '?' || (*pattern && *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static const char *find_match(const struct policy_patterns *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (policy_match(list->v[i], text))
			return list->v[i];
	return NULL;
}

static bool label_matches(const char *rule, const struct key_value *label)
{
	const char *eq = strchr(rule, '=');
	char key[256];

	if (!eq)
		return policy_match(rule, label->key);
	/* A rule too long to split protects more, not less. */
	if ((size_t)(eq - rule) >= sizeof key)
		return true;
	memcpy(key, rule, (size_t)(eq - rule));
	key[eq - rule] = '\0';
	return policy_match(key, label->key) && policy_match(eq + 1, label->value);
}

static const char *matching_label(
	const struct policy_patterns *list, const struct key_value *labels, size_t n)
{
	for (size_t r = 0; r < list->n; r++)
		for (size_t i = 0; i < n; i++)
			if (label_matches(list->v[r], &labels[i]))
				return list->v[r];
	return NULL;
}

/* podman says "docker.io/library/box:1", and "localhost/box:1" of what it built, where docker says "box:1": a rule
 * is about both. */
static const char *matching_image(const struct policy_patterns *list, const char *image)
{
	static const char *const before[] = {"docker.io/library/", "docker.io/", "localhost/"};
	const char *rule = find_match(list, image);

	for (size_t i = 0; !rule && i < COUNT(before); i++)
		if (!strncmp(image, before[i], strlen(before[i])))
			rule = find_match(list, image + strlen(before[i]));
	return rule;
}

static const char *name_target(const struct policy_act *act, char *buf)
{
	const char *name = act->name && *act->name ? act->name : act->id;

	return text_clean(buf, SHOWN, name ? name : "this one");
}

static int refuse_unknown(const struct policy_act *act, const char *what, struct err *e)
{
	char name[SHOWN];

	return err_set(e, ERR_REFUSED,
		"Cannot %s %s: its %s is not known yet and some are protected. Try again in a moment.",
		operation_table[act->operation].words, name_target(act, name), what);
}

static int refuse_protected(
	const struct policy_act *act, const char *what, const char *rule, struct err *e)
{
	char name[SHOWN], shown[SHOWN];

	return err_set(e, ERR_REFUSED, "Will not %s %s: %s protected by the rule \"%s\".",
		operation_table[act->operation].words, name_target(act, name), what,
		text_clean(shown, sizeof shown, rule));
}

static int check_kept(
	const struct policy_protected *keep, const struct policy_act *act, struct err *e)
{
	const char *rule;

	if (keep->names.n && !act->name && !act->id && !act->guess)
		return refuse_unknown(act, "name", e);
	if (act->name && (rule = find_match(&keep->names, act->name)))
		return refuse_protected(act, "its name is", rule, e);
	if (act->id && (rule = find_match(&keep->names, act->id)))
		return refuse_protected(act, "its id is", rule, e);
	if (keep->images.n && !act->image && !act->guess)
		return refuse_unknown(act, "image", e);
	if (act->image && (rule = matching_image(&keep->images, act->image)))
		return refuse_protected(act, "its image is", rule, e);
	if (keep->labels.n && !act->labels && !act->guess)
		return refuse_unknown(act, "set of labels", e);
	if (act->labels && (rule = matching_label(&keep->labels, act->labels, act->nlabels)))
		return refuse_protected(act, "one of its labels is", rule, e);
	return 0;
}

/* "//", "." or ".." would let a path say the same thing in other words. */
static bool plain_path(const char *path)
{
	if (path[0] != '/')
		return false;
	for (const char *s = path; *s; s++) {
		if (s[0] != '/')
			continue;
		if (s[1] == '/' || (s[1] == '.' && (s[2] == '/' || s[2] == '\0')) ||
			(s[1] == '.' && s[2] == '.' && (s[3] == '/' || s[3] == '\0')))
			return false;
	}
	return true;
}

/* Would who has `path` see more of the data directory than agents may? */
static bool shows_own_data(const char *path, const char *dir)
{
	return path_is_in(dir, path) ||
		(path_is_in(path, dir) && !data_dir_shows(path + strlen(dir)));
}

static bool meets_own_dir(const char *path, const char *dir)
{
	return path_is_in(path, dir) || path_is_in(dir, path);
}

const char *policy_own_dir(const struct policy *p, const char *path)
{
	for (size_t i = 0; i < p->private_dirs.n; i++)
		if (path_place_fits(p->private_dirs.v[i], path, meets_own_dir))
			return p->private_dirs.v[i];
	return p->data_dir && path_place_fits(p->data_dir, path, shows_own_data) ? p->data_dir
										 : NULL;
}

static int check_path(const struct policy *p, const struct policy_act *act, struct err *e)
{
	const char *own;
	char shown[256];

	text_clean(shown, sizeof shown, act->path);
	if (!plain_path(act->path))
		return err_set(e, ERR_REFUSED,
			"Will not mount \"%s\": a mount source must be an absolute path without . or .. in it.",
			shown);
	own = policy_own_dir(p, act->path);
	return own
		? err_set(e, ERR_REFUSED,
			  "Will not mount \"%s\": berth's own state (%s) must stay out of containers.",
			  shown, own)
		: 0;
}

static bool host_matches(const struct policy_host *h, const struct policy_act *act)
{
	return (act->endpoint && policy_match(h->host, act->endpoint)) ||
		(act->engine_name && policy_match(h->host, act->engine_name));
}

int policy_check(const struct policy *p, const struct policy_act *act, struct err *e)
{
	const char *name = act->name && *act->name ? act->name : NULL;
	const struct operation_info *operation;
	char shown[SHOWN];

	if (act->operation <= OP_NONE || act->operation >= OP_COUNT ||
		operation_table[act->operation].class == OP_INTERNAL)
		return err_set(
			e, ERR_REFUSED, "Refused an operation that the policy does not know.");
	operation = &operation_table[act->operation];
	if (p->read_only && operation->flags & OP_CHANGES)
		return err_set(e, ERR_REFUSED, "Will not %s%s%s: berth is in read-only mode%s%s%s.",
			operation->words, name ? " " : "",
			name ? text_clean(shown, sizeof shown, name) : "",
			p->read_only_by ? " (" : "", p->read_only_by ? p->read_only_by : "",
			p->read_only_by ? ")" : "");
	if (act->path && check_path(p, act, e) < 0)
		return -1;
	if (operation->flags & OP_HARMS && check_kept(&p->keep, act, e) < 0)
		return -1;
	for (size_t i = 0; i < p->nhosts; i++) {
		const struct policy_host *h = &p->hosts[i];

		if (!host_matches(h, act))
			continue;
		if (h->read_only && operation->flags & OP_CHANGES)
			return err_set(e, ERR_REFUSED,
				"Will not %s: the host rule \"%s\" is read-only.", operation->words,
				text_clean(shown, sizeof shown, h->host));
		if (h->no_secrets && act->secrets)
			return err_set(e, ERR_REFUSED,
				"Will not %s%s%s: secrets would go to \"%s\", which does not have secrets: true in berth.yaml.",
				operation->words, name ? " " : "",
				name ? text_clean(shown, sizeof shown, name) : "", h->host);
		if (operation->flags & OP_HARMS && check_kept(&h->keep, act, e) < 0)
			return -1;
	}
	return 0;
}
