/* post.c - sends one POST request and waits for the answer. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <poll.h>
#include <stdbool.h>

#include "net/http.h"

#define POST_CONNECT_MS 5000L
#define POST_MS 10000L

static size_t drop_answer(char *bytes, size_t size, size_t n, void *ctx)
{
	(void)bytes;
	(void)ctx;
	return size * n;
}

/* Called about once a second, and with whatever moves. */
static int is_post_stopped(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct pollfd p = {*(int *)ctx, POLLIN, 0};

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return poll(&p, 1, 0) > 0;
}

static bool set_up_post(
	CURL *c, const char *url, const char *body, size_t n, int *stop_fd, struct curl_slist *head)
{
	return !curl_easy_setopt(c, CURLOPT_URL, url) &&
		!curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") &&
		!curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) &&
		!curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) &&
		!curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, POST_CONNECT_MS) &&
		!curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, POST_MS) &&
		!curl_easy_setopt(c, CURLOPT_HTTPHEADER, head) &&
		!curl_easy_setopt(c, CURLOPT_USERAGENT, "berth") &&
		!curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)n) &&
		!curl_easy_setopt(c, CURLOPT_POSTFIELDS, body) &&
		!curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop_answer) &&
		!curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) &&
		!curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, is_post_stopped) &&
		!curl_easy_setopt(c, CURLOPT_XFERINFODATA, stop_fd);
}

int http_post(const char *url, const char *body, size_t n, int stop_fd, struct err *e)
{
	CURL *c = curl_easy_init();
	struct curl_slist *head = curl_slist_append(NULL, "Content-Type: application/json");
	CURLcode rc = CURLE_FAILED_INIT;
	long status = 0;

	if (c && head && set_up_post(c, url, body, n, &stop_fd, head)) {
		rc = curl_easy_perform(c);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	}
	curl_slist_free_all(head);
	curl_easy_cleanup(c);
	if (rc)
		return err_set(e, ERR_FAILED, "%s", curl_easy_strerror(rc));
	if (status < 200 || status > 299)
		return err_set(e, ERR_FAILED, "the server answered %ld", status);
	return 0;
}
