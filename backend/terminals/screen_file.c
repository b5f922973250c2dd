/* screen_file.c - writes and reads the file that shows a terminal's screen to other processes. */
#include "terminals/screen_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#define MAGIC "berthtty"
#define VERSION 2
#define PROMPT_LAST 4
#define TRIES 100
#define AGAIN_MS 1

struct screen_header {
	char magic[8];
	uint32_t version, seq;
	int32_t columns, rows, cursor_x, cursor_y;
	uint32_t cursor_shown, status;
	int32_t exit_code, keeper;
	int64_t started_ms, changed_ms, answered_ms;
	uint64_t bells, notices, missed;
	char title[TERMINAL_TITLE_MAX], notice[TERMINAL_TITLE_MAX], command[TERMINAL_TITLE_MAX];
	int64_t marked_ms;
	int32_t supervisor;
	uint16_t marked_notice, prompt;
};

static int lock_file(int fd, int how, struct flock *l)
{
	*l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(fd, how, l);
}

int screen_file_open(struct screen_file *f, const char *path, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	struct flock l;

	if (screen_file_kept(path))
		return err_set(e, ERR_CONFLICT, "%s belongs to a living process", path);
	if (unlink(path) && errno != ENOENT)
		return err_sys(e, errno, "cannot replace %s", path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || lock_file(fd, F_OFD_SETLK, &l))
		return err_sys(e, errno, "cannot create %s", path);
	*f = (struct screen_file){.fd = steal_fd(&fd)};
	return 0;
}

void screen_file_close(struct screen_file *f)
{
	cleanup_close(&f->fd);
	f->fd = -1;
}

static void copy_text(char to[TERMINAL_TITLE_MAX], const char *from)
{
	memset(to, 0, TERMINAL_TITLE_MAX);
	memcpy(to, from, strnlen(from, TERMINAL_TITLE_MAX - 1));
}

static struct screen_header describe(const struct terminal_screen *s, uint32_t seq)
{
	struct screen_header h = {.magic = MAGIC, /* eight bytes, without the NUL */
		.version = VERSION,
		.seq = seq,
		.columns = s->columns,
		.rows = s->rows,
		.cursor_x = s->cursor_x,
		.cursor_y = s->cursor_y,
		.cursor_shown = s->cursor_shown,
		.status = s->status,
		.exit_code = s->exit_code,
		.keeper = s->keeper,
		.started_ms = s->started_ms,
		.changed_ms = s->changed_ms,
		.answered_ms = s->answered_ms,
		.bells = s->bells,
		.notices = s->notices,
		.missed = s->missed,
		.marked_ms = s->marked_ms,
		.supervisor = s->supervisor,
		.marked_notice = s->marked_notice,
		.prompt = s->prompt};

	copy_text(h.title, s->title);
	copy_text(h.notice, s->notice);
	copy_text(h.command, s->command);
	return h;
}

static bool write_at(int fd, const void *bytes, size_t n, size_t at)
{
	return pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n;
}

/* Before the first byte is written: half a picture would be waited for. */
static int reserve(struct screen_file *f, size_t n, struct err *e)
{
	int error = n > f->size ? posix_fallocate(f->fd, 0, (off_t)n) : 0;

	if (error)
		return err_sys(e, error, "cannot write the screen of a terminal");
	f->size = n > f->size ? n : f->size;
	return 0;
}

int screen_file_write(struct screen_file *f, const struct terminal_screen *s, struct err *e)
{
	size_t cells = (size_t)s->columns * (size_t)s->rows * sizeof *s->cells;
	struct screen_header before = describe(s, f->seq | 1), after;

	if (reserve(f, sizeof before + cells, e))
		return -1;
	f->seq = (f->seq | 1) + 1;
	after = before;
	after.seq = f->seq;
	if (!write_at(f->fd, &before, sizeof before, 0) ||
		!write_at(f->fd, s->cells, cells, sizeof before) ||
		!write_at(f->fd, &after, sizeof after, 0))
		return err_sys(e, errno, "cannot write the screen of a terminal");
	return 0;
}

static void read_text(char to[TERMINAL_TITLE_MAX], char from[TERMINAL_TITLE_MAX])
{
	from[TERMINAL_TITLE_MAX - 1] = '\0';
	text_clean(to, TERMINAL_TITLE_MAX, from);
}

static uint32_t check_colour(uint32_t c)
{
	if (c & TERMINAL_RGB)
		return TERMINAL_RGB | (c & 0xFFFFFF);
	return c & TERMINAL_INDEXED ? TERMINAL_INDEXED | (c & 255) : 0;
}

/* Cell `x` of a row: a character of the width that it claims, and nothing that may not be shown. */
static void check_cell(struct terminal_cell *row, int x, int columns)
{
	struct terminal_cell *c = &row[x];
	int width = c->ch[0] ? text_cp_width(c->ch[0]) : 1;
	bool right = x && row[x - 1].width == 2;

	c->ink = check_colour(c->ink);
	c->paper = check_colour(c->paper);
	c->flags &= TERMINAL_FLAGS;
	if (right || width < 1 || c->width != width || (width == 2 && x + 1 == columns)) {
		memset(c->ch, 0, sizeof c->ch);
		c->width = right ? 0 : 1;
	}
	for (int i = 1; i < TERMINAL_CELL_CHARS; i++)
		if (!c->ch[i - 1] || (c->ch[i] && text_cp_width(c->ch[i])))
			c->ch[i] = 0;
}

static bool is_known(const struct screen_header *h)
{
	return !memcmp(h->magic, MAGIC, sizeof h->magic) && h->version == VERSION &&
		h->columns >= TERMINAL_COLUMNS_MIN && h->columns <= TERMINAL_COLUMNS_MAX &&
		h->rows >= 1 && h->rows <= TERMINAL_ROWS_MAX;
}

static void convert_header(struct screen_header *h, bool alive, struct terminal_screen *s)
{
	s->columns = h->columns;
	s->rows = h->rows;
	s->cursor_x = terminal_within(0, h->cursor_x, h->columns - 1);
	s->cursor_y = terminal_within(0, h->cursor_y, h->rows - 1);
	s->cursor_shown = h->cursor_shown != 0;
	s->status = h->status == TERMINAL_ENDED ? TERMINAL_ENDED
		: alive                         ? TERMINAL_RUNS
						: TERMINAL_LOST;
	s->exit_code = terminal_within(0, h->exit_code, 255);
	s->keeper = alive && h->keeper > 0 ? h->keeper : 0;
	s->started_ms = h->started_ms;
	s->changed_ms = h->changed_ms;
	s->answered_ms = h->answered_ms;
	s->bells = h->bells;
	s->notices = h->notices;
	s->missed = h->missed;
	s->marked_ms = h->marked_ms;
	s->supervisor = alive && h->supervisor > 0 ? h->supervisor : 0;
	s->marked_notice = h->marked_notice != 0;
	s->prompt = h->prompt <= PROMPT_LAST ? (uint8_t)h->prompt : 0;
	read_text(s->title, h->title);
	read_text(s->notice, h->notice);
	read_text(s->command, h->command);
}

/* One look: 0 whole, 1 torn, -1 there is no picture. */
static int look_once(int fd, struct screen_header *h, struct terminal_screen *ret, bool cells)
{
	struct screen_header after;
	size_t n;

	if (file_fill_at(fd, h, sizeof *h, 0) != sizeof *h || !is_known(h))
		return -1;
	n = cells ? (size_t)h->columns * (size_t)h->rows : 0;
	if (cells)
		ret->cells = xreallocarray(ret->cells, n, sizeof *ret->cells);
	if ((cells &&
		    file_fill_at(fd, ret->cells, n * sizeof *ret->cells, sizeof *h) !=
			    (ssize_t)(n * sizeof *ret->cells)) ||
		file_fill_at(fd, &after, sizeof after, 0) != sizeof after)
		return -1;
	/* Of one that is at its cells the head is whole. */
	if (!cells)
		return memcmp(h, &after, sizeof after) != 0;
	return h->seq & 1 || after.seq != h->seq;
}

static int read_file(const char *path, bool cells, struct terminal_screen *ret, struct err *e)
{
	AUTO_CLOSE int fd = file_open(AT_FDCWD, path, O_NOFOLLOW);
	struct screen_header h;
	struct flock l;
	struct stat st;
	bool alive;
	int r = 1;

	if (fd < 0 && errno != ENOENT)
		return err_sys(e, errno, "cannot read %s", path);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid()))
		return err_set(e, ERR_REFUSED, "%s is not this user's", path);
	alive = fd >= 0 && !lock_file(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
	for (int i = 0; fd >= 0 && r > 0 && i < TRIES; i++) {
		if (i)
			poll(NULL, 0, AGAIN_MS);
		r = look_once(fd, &h, ret, cells);
		/* Nobody will complete it. */
		if (r > 0 && !alive)
			r = 0;
	}
	if (fd < 0 || r < 0)
		return err_set(e, ERR_NOT_FOUND, "there is no terminal at %s", path);
	if (r)
		return err_set(e, ERR_TIMEOUT, "%s is still being written", path);
	convert_header(&h, alive, ret);
	for (int y = 0; cells && y < ret->rows; y++)
		for (int x = 0; x < ret->columns; x++)
			check_cell(ret->cells + (size_t)y * (size_t)ret->columns, x, ret->columns);
	return 0;
}

int screen_file_read(const char *path, struct terminal_screen *ret, struct err *e)
{
	return read_file(path, true, ret, e);
}

int screen_file_head(const char *path, struct terminal_screen *ret, struct err *e)
{
	return read_file(path, false, ret, e);
}

bool screen_file_kept(const char *path)
{
	struct terminal_screen s = {0};
	struct err e = ERR_INIT;

	/* Only one that lives is in the middle of writing. */
	if (screen_file_head(path, &s, &e))
		return e.kind == ERR_TIMEOUT;
	return s.status == TERMINAL_RUNS;
}
