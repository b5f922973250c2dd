/* screen_none.c - replaces screen.c where berth is built without libvterm: no console is started. */
#include "peers/screen.h"

struct screen_peer *peer_start(
	const char *const *argv, const char *const *env, int columns, int rows, struct err *e)
{
	(void)argv;
	(void)env;
	(void)columns;
	(void)rows;
	err_set(e, ERR_NOT_FOUND,
		"this berth was built without libvterm, which reads what the console shows");
	return NULL;
}

void peer_end(struct screen_peer *p)
{
	(void)p;
}

pid_t peer_pid(const struct screen_peer *p)
{
	(void)p;
	return 0;
}

void peer_send(struct screen_peer *p, const char *keys)
{
	(void)p;
	(void)keys;
}

int64_t peer_wait(struct screen_peer *p, bool (*until)(struct screen_peer *p, void *ctx), void *ctx,
	int timeout_ms)
{
	(void)p;
	(void)until;
	(void)ctx;
	(void)timeout_ms;
	return 0;
}

void peer_drain(struct screen_peer *p, int ms)
{
	(void)p;
	(void)ms;
}

const char *peer_row(struct screen_peer *p, int row)
{
	(void)p;
	(void)row;
	return "";
}

int peer_rows(const struct screen_peer *p)
{
	(void)p;
	return 0;
}

bool peer_shows(struct screen_peer *p, const char *text)
{
	(void)p;
	(void)text;
	return false;
}
