/* holdings_page.c - draws the details of one image, volume or network. */
#include "views/holdings/holdings.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>

#include "views/pen.h"

static void write_users(struct pen *p, enum holding_kind k, const struct holding *h)
{
	char text[256];

	pen_skip(p, 1);
	pen_head(p, k == HOLDING_NETWORKS ? "MEMBERS" : "USED BY");
	for (size_t i = 0; i < h->nusers; i++) {
		const struct holding_user *u = &h->users[i];

		snprintf(text, sizeof text, "%.80s  %.12s%s%.60s%s", u->name, u->id,
			*u->address ? "  " : "", u->address, u->running ? "" : "  stopped");
		pen_line(p, u->running ? STYLE(TEXT) : STYLE(DIM), text);
	}
	if (!h->nusers)
		pen_line(p, STYLE(DIM), "no container");
}

/* What a Dockerfile said, without the shell that every RUN has around it. */
static const char *layer_words(const char *made_by)
{
	static const char *const before[] = {"/bin/sh -c #(nop) ", "/bin/sh -c "};

	for (size_t i = 0; i < sizeof before / sizeof before[0]; i++)
		if (!strncmp(made_by, before[i], strlen(before[i])))
			return made_by + strlen(before[i]) +
				strspn(made_by + strlen(before[i]), " ");
	return made_by;
}

static void write_layers(struct pen *p, const struct holding *h)
{
	char text[640], size[FORMAT_MAX], day[FORMAT_MAX];

	pen_skip(p, 1);
	pen_head(p, "HISTORY, newest first");
	if (!h) {
		pen_line(p, STYLE(BUSY), "\u2026");
		return;
	}
	for (size_t i = 0; i < h->nlayers; i++) {
		const struct holding_layer *l = &h->layers[i];

		snprintf(text, sizeof text, "%.10s %6s  %.500s",
			l->made_ms ? format_stamp(day, l->made_ms) : "-",
			l->bytes > 0 ? format_bytes(size, (uint64_t)l->bytes) : "\u2013",
			*l->made_by ? layer_words(l->made_by) : "\u2013");
		pen_text(p, l->bytes > 0 ? STYLE(TEXT) : STYLE(DIM), 0, text);
	}
	if (!h->nlayers)
		pen_line(p, STYLE(DIM), "none");
}

static void write_labels(struct pen *p, const struct holding *h)
{
	char text[512];

	if (!h->nlabels)
		return;
	pen_skip(p, 1);
	pen_head(p, "LABELS");
	for (size_t i = 0; i < h->nlabels; i++) {
		snprintf(text, sizeof text, "%.120s=%.360s", h->labels[i].key, h->labels[i].value);
		pen_text(p, STYLE(DIM), 2, text);
	}
}

static void write_held_size(
	struct pen *p, enum holding_kind k, const struct holding *h, const struct holding *layers)
{
	char text[128], size[FORMAT_MAX], own[FORMAT_MAX];

	if (h->bytes < 0)
		snprintf(text, sizeof text, "not measured");
	else if (k == HOLDING_IMAGES && h->shared >= 0)
		snprintf(text, sizeof text, "%s, of which %s in layers of its own",
			format_bytes(size, (uint64_t)h->bytes),
			format_bytes(own, (uint64_t)holding_own_bytes(h)));
	else
		snprintf(text, sizeof text, "%s", format_bytes(size, (uint64_t)h->bytes));
	if (layers) {
		size_t n = 0;

		for (size_t i = 0; i < layers->nlayers; i++)
			n += layers->layers[i].bytes > 0;
		snprintf(text + strlen(text), sizeof text - strlen(text), "; %zu layer%s", n,
			n == 1 ? "" : "s");
	}
	pen_fact(p, "Size", STYLE(TEXT), text);
}

void held_write_page(
	struct pen *p, enum holding_kind k, const struct holding *h, const struct holding *layers)
{
	char n[FORMAT_MAX];

	p->key_width = 10;
	for (size_t i = 0; i < h->nnames; i++)
		pen_fact(p, i ? "" : "Names", STYLE(TEXT), h->names[i]);
	if (k != HOLDING_VOLUMES)
		pen_fact(p, "Id", STYLE(TEXT), h->id);
	if (k != HOLDING_NETWORKS)
		write_held_size(p, k, h, layers);
	if (*h->driver)
		pen_fact(p, "Driver", STYLE(TEXT), h->driver);
	for (size_t i = 0; i < h->nsubnets; i++)
		pen_fact(p, i ? "" : "Subnets", STYLE(TEXT), h->subnets[i]);
	if (k == HOLDING_NETWORKS)
		pen_fact(p, "Internal", STYLE(TEXT),
			h->internal ? "yes: it leads nowhere else" : "no");
	if (*h->place)
		pen_fact(p, k == HOLDING_VOLUMES ? "Stored in" : "Scope", STYLE(TEXT), h->place);
	pen_fact(p, "Made by", STYLE(TEXT), h->owner);
	if (h->made_ms > 0)
		pen_fact(p, "Made", STYLE(TEXT), format_stamp(n, h->made_ms));
	write_users(p, k, h);
	if (k == HOLDING_IMAGES)
		write_layers(p, layers);
	write_labels(p, h);
}
