/* inside.c - copies between a container and this machine: which path becomes which, and the record of it. */
#include "inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/path.h>
#include <berth/text.h>

#include "inside/copying.h"

#define TAR_BLOCK 512
#define TAR_END 1024                /* zeros at the end of every tar */
#define USERS_MAX ((size_t)1 << 20) /* of /etc/passwd */
#define WAIT_MS 100                 /* before it is looked whether to stop */

/* A path as it was given, and its parts. */
struct given {
	const char *path; /* without "/." or slashes at its end; "/" stays */
	bool content;     /* ended with "/.": what is in it */
	bool slash;       /* ended with a slash or "/.": must be a directory */
};

/* --- paths --- */

static struct given read_path(struct copying *x, const char *path, bool inside)
{
	struct given g = {0};
	size_t n = strlen(path);

	for (; n > 1; n--) {
		if (path[n - 1] == '.' && path[n - 2] == '/')
			g.content = true;
		else if (path[n - 1] != '/')
			break;
		g.slash = true;
	}
	if (n == 1 && *path == '.')
		g.content = g.slash = true;
	g.path = inside ? inside_clean(x, path, n) : arena_strndup(&x->mem, path, n);
	return g;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *parent_of(struct copying *x, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(&x->mem, path, (size_t)(slash - path));
}

static const char *join(struct copying *x, const char *dir, const char *name)
{
	return name ? arena_printf(&x->mem, "%s%s%s", dir, strcmp(dir, "/") ? "/" : "", name) : dir;
}

static int refuse_not_dir(const char *path, const char *where, struct err *e)
{
	char clean[INSIDE_NAME_MAX];

	return err_set(e, ERR_USAGE, "%s%s is not a directory.",
		text_clean(clean, sizeof clean, path), where);
}

static int refuse_special(const char *path, const char *where, struct err *e)
{
	char clean[INSIDE_NAME_MAX];

	return err_set(e, ERR_USAGE, "%s%s is a pipe, socket or device.",
		text_clean(clean, sizeof clean, path), where);
}

/* --- paths in the container --- */

/* As the engine describes it; the caller's.  NULL: it may have gone. */
static cJSON *describe_container(struct copying *x, struct err *e)
{
	const char *id = x->c->container->id;

	return sync_json(x->at.engine, "look at %s", id, "GET",
		arena_printf(&x->mem, "/containers/%s/json", id), NULL, ENGINE_LOCKED_MS, e);
}

/* Engines describe a path in a container that has gone as one that is not there. */
static int check_container(struct copying *x, struct err *e)
{
	AUTO_JSON cJSON *is = describe_container(x, e);

	return is ? 0 : -1;
}

static int refuse_missing(struct copying *x, const char *path, struct err *e)
{
	char clean[INSIDE_NAME_MAX];

	if (check_container(x, e))
		return -1;
	return err_set(e, ERR_NOT_FOUND, "there is no %s in %s.",
		text_clean(clean, sizeof clean, path), x->shown);
}

static int expect_dir(
	struct copying *x, const char *path, const struct engine_path *is, struct err *e)
{
	if (!is->exists)
		return refuse_missing(x, path, e);
	return S_ISDIR(is->mode) ? 0 : refuse_not_dir(path, " in the container", e);
}

/* --- this machine --- */

/* Neither may berth's keys and records go into a container, nor what is in one overwrite them. */
static int refuse_own(const struct copying *x, const char *path, struct err *e)
{
	const char *own = policy_own_dir(&x->at.policy, path);
	char clean[INSIDE_NAME_MAX];

	if (!own)
		return 0;
	return err_set(e, ERR_REFUSED, "%s contains, or is in, a directory of berth itself (%s).",
		text_clean(clean, sizeof clean, path), own);
}

/* A directory, by what realpath() returned: a link that was put there since is not followed. */
static int open_resolved(const char *path)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	path += strspn(path, "/");
	return root < 0
		? -1
		: beneath_open(root, *path ? path : ".", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

static int fail_here(const char *doing, const char *path, struct err *e)
{
	int failed = errno;
	char clean[INSIDE_NAME_MAX];

	return err_sys(e, failed, "cannot %s %s", doing, text_clean(clean, sizeof clean, path));
}

/* --- out of a container --- */

/* What is there: without a type it is nothing, or a link that leads nowhere. */
static int look_at_dest(const char *path, struct stat *st, bool *link, struct err *e)
{
	*link = false;
	if (!lstat(path, st)) {
		*link = S_ISLNK(st->st_mode);
		if (!*link || !stat(path, st))
			return 0;
	}
	*st = (struct stat){0};
	return errno == ENOENT || (*link && (errno == ELOOP || errno == ENOTDIR))
		? 0
		: fail_here("write to", path, e);
}

/* Where it goes: u->dir, u->shown and u->name.  `dir`: it is one.  A link there may be one that an earlier copy brought:
 * unless it leads to a directory, it is replaced, not what it leads to. */
static int place_outside(struct copying *x, const struct given *src, bool dir,
	const struct given *dest, struct unpack *u, struct err *e)
{
	AUTO_FREE char *real = NULL;
	const char *path = dest->path;
	struct stat st;
	bool link;

	if (look_at_dest(path, &st, &link, e))
		return -1;
	if (S_ISDIR(st.st_mode)) {
		u->name = src->content || !*last_part(src->path) ? NULL : last_part(src->path);
		real = realpath(path, NULL);
	} else {
		if ((link || st.st_mode) ? dir || dest->slash : dest->slash && !dir)
			return refuse_not_dir(path, "", e);
		u->name = last_part(path);
		real = realpath(parent_of(x, path), NULL);
		/* /dev/stdout is a link, and may lead to a file. */
		if ((st.st_mode && !S_ISREG(st.st_mode)) || (link && real && !strcmp(real, "/dev")))
			return refuse_special(path, "", e);
	}
	if (!real)
		return fail_here("write to", path, e);
	u->shown = arena_strdup(&x->mem, real);
	path = join(x, u->shown, u->name);
	if (refuse_own(x, path, e))
		return -1;
	text_clean(x->ret->to, sizeof x->ret->to, path);
	u->dir = open_resolved(u->shown);
	return u->dir < 0 ? fail_here("write to", u->shown, e) : 0;
}

/* A tar on its way out. */
struct receiving {
	struct copying *x;
	int fd;
	uint64_t bytes, unchecked;
	uint64_t zeros; /* at its end */
};

/* Not file_write, which cannot be stopped while a pipe is full.  A pipe that poll() reports ready takes PIPE_BUF bytes. */
static int pass_on(struct receiving *r, const char *bytes, size_t n, struct err *e)
{
	struct pollfd ready = {.fd = r->fd, .events = POLLOUT};

	while (n) {
		ssize_t done;

		if (inside_check_stop(inside_is_stopped, r->x, e))
			return -1;
		if (poll(&ready, 1, WAIT_MS) <= 0)
			continue;
		done = write(r->fd, bytes, n < PIPE_BUF ? n : PIPE_BUF);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return err_sys(e, errno, "cannot write to standard output");
		if (done > 0) {
			bytes += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

static int spool(
	struct copying *x, int fd, uint64_t *unchecked, const char *bytes, size_t n, struct err *e)
{
	if (inside_check_stop(inside_is_stopped, x, e))
		return -1;
	if (inside_check_space(fd, unchecked, n, INSIDE_SPOOL, e))
		return -1;
	return file_write(fd, bytes, n)
		? err_sys(e, errno, "cannot store the tar (" INSIDE_SPOOL ")")
		: 0;
}

static int take_bytes(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct receiving *r = ctx;
	size_t last = n;

	while (last && !bytes[last - 1])
		last--;
	r->zeros = last ? n - last : r->zeros + n;
	r->bytes += n;
	return r->fd == STDOUT_FILENO ? pass_on(r, bytes, n, e)
				      : spool(r->x, r->fd, &r->unchecked, bytes, n, e);
}

/* An engine that fails in the middle ends its response like one that does not, so the end of the tar is looked for: two
 * blocks of zeros.  A file may contain these as well: unpacking detects a tar that ends in the middle of one, but nothing
 * detects one that ends right after a file whose last blocks are zeros. */
static int fetch(struct copying *x, const char *path, int fd, uint64_t *ret_bytes, struct err *e)
{
	struct receiving r = {.x = x, .fd = fd};

	if (sync_fetch(x->at.engine, x->c->container->id, path, take_bytes, &r, e))
		return -1;
	*ret_bytes = r.bytes;
	if (r.zeros >= TAR_END && r.bytes % TAR_BLOCK == 0)
		return 0;
	return err_set(e, ERR_PROTOCOL, "the tar that the engine sent of %s ends early.", x->shown);
}

static int copy_out(struct copying *x, struct err *e)
{
	struct given src = read_path(x, x->c->inside, true),
		     dest = read_path(x, x->c->outside, false);
	AUTO_CLOSE int fd = -1, dir = -1;
	const char *path = src.path;
	struct engine_path is;
	struct unpack u = {
		.dir = -1, .keep_owner = x->c->keep_owner, .stop = inside_is_stopped, .ctx = x};
	uint64_t tar;
	int rc;

	if (x->c->keep_owner && !x->at.info.sends_owners)
		return err_set(e, ERR_USAGE,
			"%s sends files without their owners: copy without -a, or use `berth exec` and tar.",
			x->at.info.product);
	if (inside_look(x, &path, x->c->follow || src.slash, &is, e))
		return -1;
	if (!is.exists)
		return refuse_missing(x, path, e);
	if (src.slash && !S_ISDIR(is.mode))
		return refuse_not_dir(src.path, " in the container", e);
	if (!(is.mode & S_IFMT))
		return refuse_special(src.path, " in the container", e);
	inside_note_unseen(x, path, NULL);
	if (!strcmp(x->c->outside, "-")) /* with "/." the names in the tar begin with a dot */
		return fetch(x, src.content ? join(x, path, ".") : path, STDOUT_FILENO,
			&x->ret->bytes, e);
	rc = place_outside(x, &src, S_ISDIR(is.mode), &dest, &u, e);
	dir = u.dir;
	if (rc)
		return -1;
	fd = file_temporary(e);
	if (fd < 0 || fetch(x, path, fd, &tar, e))
		return -1;
	u.fd = fd;
	u.root = last_part(path);
	rc = inside_unpack(&u, x->ret, e);
	x->ret->partial = rc && (x->ret->files || x->ret->dirs || x->ret->links);
	return rc;
}

/* --- into a container --- */

/* Has the tar in fd unpacked in `place`, which is x->dir or contains it. */
static int send_tar(struct copying *x, int fd, const char *place, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	struct engine_transfer t = {.what = "copy files into %s",
		.method = "PUT",
		.path = "a temporary file",
		.fd = fd};
	struct err why = ERR_INIT;

	str_addf(&target,
		"/containers/%s/archive?noOverwriteDirNonDir=true&path=", x->c->container->id);
	url_escape(&target, place);
	t.target = target.s;
	text_clean(x->ret->to, sizeof x->ret->to, x->dir);
	x->looked_at = NULL;
	if (!sync_transfer(x->at.engine, x->shown, &t, inside_is_stopped, x, &why))
		return 0;
	/* With 4xx the engine refuses before it begins, but for what it no longer finds in the middle. */
	x->ret->partial = why.sys < 400 || why.sys >= 500 || why.sys == 404;
	return err_copy(e, &why);
}

static int read_inside(void *ctx, const char *path, struct str *ret, struct err *e)
{
	struct copying *x = ctx;
	AUTO_CLOSE int fd = -1;
	struct engine_path is;
	uint64_t tar;

	if (inside_look(x, &path, true, &is, e))
		return -1;
	if (!is.exists || !S_ISREG(is.mode) || is.size > USERS_MAX)
		return refuse_missing(x, path, e);
	fd = file_temporary(e);
	if (fd < 0 || fetch(x, path, fd, &tar, e))
		return -1;
	return inside_read_file(fd, USERS_MAX, ret, e);
}

/* The directory in the container, x->dir, and the name there, or NULL for what is in the source. */
static int place_inside(struct copying *x, const struct given *src, bool dir,
	const struct given *dest, const char *base, const char **ret_name, struct err *e)
{
	const char *path = dest->path;
	struct engine_path is;

	if (inside_look(x, &path, true, &is, e))
		return -1;
	if (is.exists && S_ISDIR(is.mode)) {
		x->dir = path;
		*ret_name = src->content ? NULL : base;
		return 0;
	}
	if ((is.exists && dir) || (dest->slash && !dir))
		return refuse_not_dir(path, " in the container", e);
	if (is.exists && !(is.mode & S_IFMT))
		return refuse_special(path, " in the container", e);
	*ret_name = last_part(path);
	x->dir = parent_of(x, path);
	if (inside_ask(x, x->dir, &is, e))
		return -1;
	return expect_dir(x, x->dir, &is, e);
}

/* Only what the engine finds afterwards has been copied; it unpacks by names, which may lead elsewhere by now.  `in`: what
 * was copied is in `path`, else it is that. */
static int check_copied(struct copying *x, const char *path, bool in, struct err *e)
{
	const char *now = path;
	struct engine_path is;
	struct err why = ERR_INIT;
	char clean[INSIDE_NAME_MAX / 2];

	x->ret->partial = true;
	if (inside_look(x, &now, in, &is, &why)) {
		if (why.kind == ERR_USAGE) /* which would mean that nothing was done */
			why.kind = ERR_CONFLICT;
		return err_copy(e, &why);
	}
	text_clean(x->ret->to, sizeof x->ret->to, now);
	if (strcmp(now, path) != 0)
		return err_set(e, ERR_CONFLICT,
			"a link was put on the way to %s in %s during the copy: it may have gone to %.128s.",
			text_clean(clean, sizeof clean, path), x->shown, x->ret->to);
	if (!is.exists && check_container(x, e))
		return -1;
	x->ret->partial = false;
	return is.exists
		? 0
		: err_set(e, ERR_FAILED, "the engine reported success, but there is no %s in %s.",
			  x->ret->to, x->shown);
}

static int spool_stdin(struct copying *x, int fd, struct err *e)
{
	struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t unchecked = 0;
	char block[65536];

	for (;;) {
		ssize_t n;

		if (inside_check_stop(inside_is_stopped, x, e))
			return -1;
		if (poll(&ready, 1, WAIT_MS) <= 0)
			continue;
		n = read(STDIN_FILENO, block, sizeof block);
		if (n == 0)
			break;
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_sys(e, errno, "cannot read standard input");
		if (spool(x, fd, &unchecked, block, (size_t)n, e))
			return -1;
		x->ret->bytes += (uint64_t)n;
	}
	return x->ret->bytes ? 0
			     : err_set(e, ERR_USAGE, "standard input is empty: it must be a tar.");
}

static int copy_stdin(struct copying *x, const struct given *dest, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	const char *path = dest->path;
	struct engine_path is;

	if (inside_look(x, &path, true, &is, e) || expect_dir(x, path, &is, e) ||
		inside_check_writable(x, path, e))
		return -1;
	x->dir = path;
	inside_note_unseen(x, path, NULL);
	fd = file_temporary(e);
	if (fd < 0 || spool_stdin(x, fd, e) || send_tar(x, fd, path, e))
		return -1;
	return check_copied(x, path, true, e);
}

/* What is copied, as p->from in p->dir, and its name, which is not that of "." or "..". */
static int look_outside(struct copying *x, struct given *src, bool follow, struct pack *p,
	struct stat *st, const char **base, struct err *e)
{
	const char *last = last_part(src->path), *path;
	bool named = *last && strcmp(last, ".") && strcmp(last, ".."), whole = follow || !named;
	AUTO_FREE char *real = realpath(whole ? src->path : parent_of(x, src->path), NULL);

	if (!real)
		return fail_here("read", src->path, e);
	path = whole ? arena_strdup(&x->mem, real) : join(x, real, last);
	p->from = *last_part(path) ? last_part(path) : ".";
	*base = named ? last : last_part(path);
	src->content |= !**base;
	p->dir = open_resolved(parent_of(x, path));
	if (p->dir < 0 || fstatat(p->dir, p->from, st, AT_SYMLINK_NOFOLLOW))
		return fail_here("read", src->path, e);
	if (src->slash && !S_ISDIR(st->st_mode))
		return refuse_not_dir(src->path, "", e);
	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
		return refuse_special(src->path, "", e);
	return refuse_own(x, path, e);
}

static int is_dir_inside(void *ctx, const char *name, struct err *e)
{
	struct copying *x = ctx;
	struct engine_path is;

	if (inside_ask(x, join(x, x->dir, name), &is, e))
		return -1;
	return is.exists && S_ISDIR(is.mode);
}

/* Engines refuse a relative link that leads out of the directory that they unpack in, so that is not x->dir but the mount
 * that contains it.  (Not "/": podman, and any engine under a read-only root, writes only to the mount that it is given.)
 */
static const char *choose_place(struct copying *x, struct pack *p)
{
	const char *place = inside_mount_of(x, x->dir);
	const char *rest = x->dir + (strcmp(place, "/") ? strlen(place) : 0);

	rest += *rest == '/';
	p->prefix = *rest ? arena_printf(&x->mem, "%s/", rest) : "";
	return place;
}

static int copy_in(struct copying *x, struct err *e)
{
	struct given src = read_path(x, x->c->outside, false),
		     dest = read_path(x, x->c->inside, true);
	const char *user = ejson_text(ejson_path(x->container, "Config", "User", NULL));
	const char *base = NULL, *path, *place;
	AUTO_CLOSE int fd = -1, dir = -1;
	struct pack p = {.dir = -1,
		.path = src.path,
		.is_there = is_dir_inside,
		.keep_owner = x->c->keep_owner,
		.stop = inside_is_stopped,
		.ctx = x};
	struct stat st = {0};
	int rc;

	if (!strcmp(x->c->outside, "-"))
		return copy_stdin(x, &dest, e);
	rc = look_outside(x, &src, x->c->follow || src.slash, &p, &st, &base, e);
	dir = p.dir;
	if (rc || place_inside(x, &src, S_ISDIR(st.st_mode), &dest, base, &p.name, e))
		return -1;
	path = join(x, x->dir, p.name);
	if (inside_check_seen(x, path, e) || inside_check_writable(x, x->dir, e) ||
		inside_check_writable(x, path, e))
		return -1;
	inside_note_unseen(x, path, src.path);
	if (!p.keep_owner && *user && inside_owner(user, read_inside, x, &p.uid, &p.gid, e))
		return -1;
	place = choose_place(x, &p);
	p.fd = fd = file_temporary(e);
	if (fd < 0 || inside_pack(&p, x->ret, e) || send_tar(x, fd, place, e))
		return -1;
	return check_copied(x, path, !p.name, e);
}

/* --- the whole of it --- */

static int do_copy(void *ctx, struct audit_record *r, struct err *e)
{
	struct copying *x = ctx;
	/* In read-only mode nothing is written here either; the rule of a host is about that host. */
	const struct policy_act here = {.operation = OP_FILE_WRITE, .name = x->c->outside};
	int rc;

	if (!x->c->into && strcmp(x->c->outside, "-") != 0 && policy_check(&x->at.policy, &here, e))
		return -1;
	if (inside_mounts(x, e))
		return -1;
	rc = x->c->into ? copy_in(x, e) : copy_out(x, e);
	if (*x->ret->to)
		x->param[r->nparams++] = (struct key_value){"to", x->ret->to, false};
	return rc;
}

/* Where the path here is: the record does not have the working directory. */
static const char *name_outside(struct copying *x)
{
	const char *path = x->c->outside, *last = last_part(path);
	bool dots = !*last || !strcmp(last, ".") || !strcmp(last, "..");
	struct stat st;
	/* A link at a destination is followed if it leads to a directory. */
	bool follow = x->c->into ? x->c->follow : !stat(path, &st) && S_ISDIR(st.st_mode);
	AUTO_FREE char *place = NULL;

	if (!strcmp(path, "-"))
		return path;
	place = path_place(path, dots || follow);
	return arena_strdup(&x->mem, place);
}

static size_t list_params(struct copying *x)
{
	size_t n = 0;

	x->param[n++] = (struct key_value){"inside", x->c->inside, false};
	x->param[n++] = (struct key_value){"outside", name_outside(x), false};
	if (x->c->keep_owner)
		x->param[n++] = (struct key_value){"archive", "yes", false};
	if (x->c->follow)
		x->param[n++] = (struct key_value){"follow_link", "yes", false};
	return n;
}

static int copy_recorded(struct copying *x, struct err *e)
{
	const struct container *k = x->c->container;
	const struct audit_record r = {
		.operation = x->c->into ? OP_CONTAINER_COPY_IN : OP_CONTAINER_COPY_OUT,
		.target_type = "container",
		.engine = k->engine,
		.target = k->id,
		.name = k->name,
		.agent = *k->agent ? k->agent : NULL,
		.session = *k->session ? k->session : NULL,
		.params = x->param,
		.nparams = list_params(x)};
	const struct record_target of = {.nimages = 1, .images = &k->image};

	if (strcmp(x->at.info.id, k->engine) != 0)
		return err_set(e, ERR_CONFLICT, "%s belongs to another engine: nothing was done.",
			x->shown);
	x->container = describe_container(x, e);
	return x->container ? record_act(&x->at.recorder, &r, &of, do_copy, x, e) : -1;
}

int inside_copy(const struct inside_copy *c, struct inside_copied *ret, struct err *e)
{
	struct copying x = {.c = c, .ret = ret};
	int rc;

	*ret = (struct inside_copied){0};
	if (!*c->inside || !*c->outside || strlen(c->inside) >= PATH_MAX ||
		strlen(c->outside) >= PATH_MAX)
		return err_set(
			e, ERR_USAGE, "the path is empty or longer than %d bytes.", PATH_MAX - 1);
	text_clean(x.shown, sizeof x.shown, c->container->name);
	arena_init(&x.mem, 1024);
	rc = engine_session_open(&x.at,
		&(struct engine_session_options){.host = c->host,
			.context = c->context,
			.program = "cp",
			.policy = c->policy,
			.stop = inside_is_stopped,
			.ctx = &x},
		e);
	if (!rc) {
		rc = copy_recorded(&x, e);
		engine_session_close(&x.at);
	}
	cJSON_Delete(x.container);
	arena_release(&x.mem);
	return rc;
}
