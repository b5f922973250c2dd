/* make.c - creates policies from settings, and copies them. */
#include <limits.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/settings.h>
#include <berth/runtime.h>

static struct policy_patterns copy_patterns(struct arena *mem, size_t n, const char *const *v)
{
	const char **to = arena_array(mem, n + 1, sizeof *to);

	for (size_t i = 0; i < n; i++)
		to[i] = arena_strdup(mem, v[i]);
	return (struct policy_patterns){n, to};
}

static struct policy_protected copy_kept(struct arena *mem, const struct policy_protected *from)
{
	return (struct policy_protected){copy_patterns(mem, from->names.n, from->names.v),
		copy_patterns(mem, from->labels.n, from->labels.v),
		copy_patterns(mem, from->images.n, from->images.v)};
}

void policy_copy(struct policy *to, const struct policy *from, struct arena *mem)
{
	struct policy_host *hosts = arena_array(mem, from->nhosts + 1, sizeof *hosts);

	for (size_t i = 0; i < from->nhosts; i++)
		hosts[i] = (struct policy_host){arena_strdup(mem, from->hosts[i].host),
			from->hosts[i].read_only, copy_kept(mem, &from->hosts[i].keep),
			from->hosts[i].no_secrets};
	*to = (struct policy){from->read_only, arena_strdup(mem, from->read_only_by),
		copy_kept(mem, &from->keep), from->nhosts, hosts,
		copy_patterns(mem, from->private_dirs.n, from->private_dirs.v), from->home_days,
		from->unrecorded, arena_strdup(mem, from->data_dir)};
}

static struct policy_protected make_protected(const struct text_list *names,
	const struct text_list *labels, const struct text_list *images)
{
	return (struct policy_protected){
		{names->n, names->item}, {labels->n, labels->item}, {images->n, images->item}};
}

static const struct policy_host *make_host_rules(const struct settings *s, struct arena *mem)
{
	struct policy_host *to = arena_array(mem, s->nhosts + 1, sizeof *to);

	for (size_t i = 0; i < s->nhosts; i++) {
		const struct host_rule *h = &s->hosts[i];

		to[i] = (struct policy_host){h->endpoint ? h->endpoint : h->host, h->read_only,
			make_protected(
				&h->protected_names, &h->protected_labels, &h->protected_images),
			h->name && !h->secrets};
	}
	return to;
}

void policy_from_settings(struct policy *ret, const struct settings *s, struct arena *mem)
{
	static int (*const dirs[])(char *buf, size_t cap, struct err *e) = {
		state_dir, config_dir, runtime_dir};
	const char **own = arena_array(mem, COUNT(dirs), sizeof *own);
	struct policy p = {.read_only = s->read_only,
		.home_days = s->clean_home_days,
		.unrecorded = s->audit_unavailable == AUDIT_WARN,
		.keep = make_protected(
			&s->protected_names, &s->protected_labels, &s->protected_images)};
	char path[PATH_MAX];

	p.nhosts = s->nhosts;
	p.hosts = make_host_rules(s, mem);
	policy_copy(ret, &p, mem);
	for (size_t i = 0; i < COUNT(dirs); i++)
		if (dirs[i](path, sizeof path, NULL) == 0)
			own[ret->private_dirs.n++] = arena_strdup(mem, path);
	ret->private_dirs.v = own;
	if (data_dir_path(path, sizeof path, NULL) == 0)
		ret->data_dir = arena_strdup(mem, path);
}
