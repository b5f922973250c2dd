/* messages.c - writes messages to the client. */
#include <berth/file.h>
#include <berth/text.h>

#include "mcp/server.h"

#define META_SERVER "io.modelcontextprotocol/serverInfo"

void message_write(struct server *s, const struct str *lines)
{
	if (s->gone)
		return;
	s->writing = true;
	s->gone = file_write(s->o->out, lines->s, lines->len) < 0;
	s->writing = false;
}

void message_line(struct server *s, const struct str *line)
{
	pthread_mutex_lock(&s->out_lock);
	message_write(s, line);
	pthread_mutex_unlock(&s->out_lock);
}

void message_server_info(const struct server *s, struct jsonw *j, const char *key)
{
	jsonw_object(j, key);
	jsonw_text(j, "name", "berth");
	jsonw_text(j, "title",
		s->o->agent ? "berth: files and commands of an agent"
			    : "berth: hosts, agents and containers");
	jsonw_text(j, "version", s->o->version);
	jsonw_end(j);
}

void message_result(const struct server *s, struct jsonw *j, bool modern)
{
	if (!modern)
		return;
	jsonw_text(j, "resultType", "complete");
	jsonw_object(j, "_meta");
	message_server_info(s, j, META_SERVER);
	jsonw_end(j);
}

void message_begin(struct jsonw *j, const char *id, const char *key)
{
	jsonw_init(j, true);
	jsonw_object(j, NULL);
	jsonw_text(j, "jsonrpc", "2.0");
	if (id)
		jsonw_raw(j, "id", id);
	else
		jsonw_null(j, "id");
	jsonw_object(j, key);
}

void message_send(struct server *s, struct jsonw *j)
{
	jsonw_end(j);
	jsonw_end(j);
	message_line(s, &j->out);
	jsonw_release(j);
}

void message_fail(struct server *s, const char *id, int code, const char *message)
{
	char clean[1024];
	struct jsonw j;

	message_begin(&j, id, "error");
	jsonw_int(&j, "code", code);
	jsonw_text(&j, "message", text_clean(clean, sizeof clean, message));
	message_send(s, &j);
}
