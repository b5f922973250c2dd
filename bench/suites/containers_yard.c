/* containers_yard.c - provides the engine and the containers of the suites of containers. */
#include "suites/containers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>

#define KEPT "[\"sleep\",\"100000\"]"

struct yard *yard_open(const char *image, struct err *e)
{
	struct yard *y = xcalloc(1, sizeof *y);
	struct endpoint_options o = {0};
	struct endpoint ep;
	char url[128];

	if (mini_open(&y->mini, e) < 0)
		goto fail;
	if (mini_image(&y->mini, image, e) < 0)
		goto fail;
	o.host = mini_url(&y->mini, url, sizeof url);
	if (endpoint_choose(&o, &ep, e) < 0)
		goto fail;
	y->berth = sync_open(&ep, e);
	endpoint_release(&ep);
	if (!y->berth)
		goto fail;
	mini_sweep(&y->mini);
	return y;
fail:
	yard_close(y);
	return NULL;
}

void yard_close(void *yard)
{
	struct yard *y = yard;

	for (size_t i = 0; i < y->n; i++)
		yard_remove(y, MINI, y->id[i], NULL);
	sync_close(y->berth);
	mini_close(&y->mini);
	free(y);
}

void yard_body(struct str *out, const char *image, const char *argv_json, const char *host)
{
	/* %s with a field and its comma, or nothing. */
	str_addf(out,
		"{\"Image\":\"%s\",\"Cmd\":%s,\"Labels\":{\"berth.bench\":\"%d\"},"
		"\"StopSignal\":\"SIGKILL\",\"HostConfig\":{%s\"Init\":false}}",
		image, argv_json, (int)getpid(), host);
}

int yard_create(struct yard *y, enum client by, const char *body, char id[72], struct err *e)
{
	static atomic_int serial;
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;

	str_addf(&target, "/containers/create?name=berth-bench-%d-%d", (int)getpid(),
		atomic_fetch_add(&serial, 1));
	if (by == BERTH) {
		if (sync_ask(y->berth, "create %s", "a container", "POST", target.s, body, 0,
			    &reply, e) < 0)
			return -1;
	} else if (mini_must(&y->mini, 201, "POST", target.s, body, &reply, e) < 0) {
		return -1;
	}
	return mini_text(reply.s, "Id", id, 72)
		? 0
		: err_set(e, ERR_PROTOCOL, "the engine did not say the container's id");
}

int yard_start(struct yard *y, enum client by, const char *id, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;

	if (by == BERTH)
		return sync_act(y->berth, ACT_START, id, false, false, -1, e);
	str_addf(&target, "/containers/%s/start", id);
	return mini_must(&y->mini, 204, "POST", target.s, NULL, NULL, e);
}

int yard_remove(struct yard *y, enum client by, const char *id, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;

	if (by == BERTH)
		return sync_act(y->berth, ACT_REMOVE, id, true, true, -1, e);
	str_addf(&target, "/containers/%s?force=1&v=1", id);
	return mini_must(&y->mini, 204, "DELETE", target.s, NULL, NULL, e);
}

const char *yard_keep(struct yard *y, const char *image, const char *host, struct err *e)
{
	AUTO_STR struct str body = STR_INIT;

	if (y->n == YARD_MAX)
		return err_null(err_set(e, ERR_FAILED, "too many containers"));
	yard_body(&body, image, KEPT, host);
	if (yard_create(y, MINI, body.s, y->id[y->n], e) < 0)
		return NULL;
	y->n++;
	return yard_start(y, MINI, y->id[y->n - 1], e) < 0 ? NULL : y->id[y->n - 1];
}
