/* holdings_columns.c - lists the columns of Images, Volumes and Networks. */
#include "views/holdings/holdings.h"

#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

const char *held_name(enum holding_kind k, const struct holding *h)
{
	return k == HOLDING_IMAGES && !*h->name ? "(no name)" : h->name;
}

static void held_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct holding *h = held_item(r);

	*st = h->nusers ? STYLE(STRONG) : *h->name ? STYLE(TEXT) : STYLE(DIM);
	if (h->nnames > 1)
		snprintf(buf, cap, "%s +%zu", h->name, h->nnames - 1);
	else
		snprintf(buf, cap, "%s", *h->name ? h->name : "(no name)");
}

static void held_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct holding *h = held_item(r);
	char name[TABLE_CELL_MAX];
	struct style st;

	held_name_text(r, name, sizeof name, &st);
	for (size_t i = 0; i < h->nusers; i++)
		if (h->users[i].running) {
			canvas_glyph(c, a.x, a.y, STYLE(GOOD), GLYPH_DOT);
			break;
		}
	canvas_clip_name(c, a.x + 2, a.y, a.w - 2, st, name);
}

/* Those without a name last. */
static int held_name_compare(const struct table_row *a, const struct table_row *b)
{
	const struct holding *x = held_item(a), *y = held_item(b);

	if (!*x->name != !*y->name)
		return *x->name ? -1 : 1;
	return text_natural(*x->name ? x->name : x->id, *y->name ? y->name : y->id);
}

static void held_id_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const char *id = held_item(r)->id;

	*st = STYLE(DIM);
	snprintf(buf, cap, "%.12s", strncmp(id, "sha256:", 7) ? id : id + 7);
}

static void held_bytes_text(int64_t bytes, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = bytes > 0 ? STYLE(TEXT) : STYLE(DIM);
	snprintf(buf, cap, "%s", bytes < 0 ? "?" : format_bytes(n, (uint64_t)bytes));
}

static void held_size_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	held_bytes_text(held_item(r)->bytes, buf, cap, st);
}

static int held_size_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = held_item(a)->bytes, y = held_item(b)->bytes;

	return x < y ? -1 : x > y;
}

static void held_shared_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	held_bytes_text(held_item(r)->shared, buf, cap, st);
	st->role = ROLE_DIM;
}

static int held_shared_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = held_item(a)->shared, y = held_item(b)->shared;

	return x < y ? -1 : x > y;
}

static void held_users_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct holding *h = held_item(r);

	*st = h->nusers ? STYLE(TEXT) : STYLE(DIM);
	if (h->nusers > 1)
		snprintf(buf, cap, "%s +%zu", h->users[0].name, h->nusers - 1);
	else
		snprintf(buf, cap, "%s", h->nusers ? h->users[0].name : "\u2013");
}

static int held_users_compare(const struct table_row *a, const struct table_row *b)
{
	size_t x = held_item(a)->nusers, y = held_item(b)->nusers;

	return x < y ? -1 : x > y;
}

static void held_age_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	int64_t now = ((const struct held_row *)r->item)->now_ms, made = held_item(r)->made_ms;
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", made > 0 && now > made ? format_age(n, now - made) : "\u2013");
}

static int held_age_compare(const struct table_row *a, const struct table_row *b)
{
	int64_t x = held_item(a)->made_ms, y = held_item(b)->made_ms;

	return x > y ? -1 : x < y;
}

static void held_owner_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct holding *h = held_item(r);

	*st = h->ours ? STYLE(TEXT) : STYLE(DIM);
	snprintf(buf, cap, "%s", h->owner);
}

static int held_owner_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(held_item(a)->owner, held_item(b)->owner);
}

static void held_driver_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", held_item(r)->driver);
}

static int held_driver_compare(const struct table_row *a, const struct table_row *b)
{
	return strcmp(held_item(a)->driver, held_item(b)->driver);
}

static void held_internal_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	bool internal = held_item(r)->internal;

	*st = internal ? STYLE(GOOD) : STYLE(DIM);
	snprintf(buf, cap, "%s", internal ? "yes" : "\u2013");
}

static int held_internal_compare(const struct table_row *a, const struct table_row *b)
{
	return (int)held_item(b)->internal - (int)held_item(a)->internal;
}

static void held_subnet_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct holding *h = held_item(r);
	size_t n = h->nsubnets ? strcspn(h->subnets[0], " ") : 0;

	*st = STYLE(TEXT);
	if (h->nsubnets > 1)
		snprintf(buf, cap, "%.*s +%zu", (int)n, h->subnets[0], h->nsubnets - 1);
	else
		snprintf(buf, cap, "%.*s", (int)n, h->nsubnets ? h->subnets[0] : "");
}

/* clang-format off */
#define COLUMN_NAME(head_text)                                                                     \
	{.name = "name", .head = (head_text), .min = 20, .ideal = 30, .grow = 2, .sign = true,       \
		.text = held_name_text, .draw = held_name_draw, .compare = held_name_compare}
#define COLUMN_ID                                                                                  \
	{.name = "id", .head = "ID", .min = 12, .ideal = 12, .keep = 40, .text = held_id_text}
#define COLUMN_SIZE                                                                                \
	{.name = "size", .head = "SIZE", .min = 6, .ideal = 6, .right = true, .descending = true,  \
		.text = held_size_text, .compare = held_size_compare}
#define COLUMN_USERS(head_text)                                                                    \
	{.name = "used-by", .head = (head_text), .min = 12, .ideal = 20, .grow = 1, .keep = 10,      \
		.descending = true, .text = held_users_text, .compare = held_users_compare}
#define COLUMN_AGE                                                                                 \
	{.name = "age", .head = "AGE", .min = 5, .ideal = 5, .keep = 30, .right = true,            \
		.descending = true, .text = held_age_text, .compare = held_age_compare}
#define COLUMN_OWNER                                                                               \
	{.name = "owner", .head = "MADE BY", .min = 10, .ideal = 20, .keep = 50,                   \
		.text = held_owner_text, .compare = held_owner_compare}
#define COLUMN_DRIVER                                                                              \
	{.name = "driver", .head = "DRIVER", .min = 7, .ideal = 8, .keep = 35,                     \
		.text = held_driver_text, .compare = held_driver_compare}

static const struct table_column image_columns[] = {
	COLUMN_NAME("IMAGE"), COLUMN_ID, COLUMN_SIZE,
	{.name = "shared", .head = "SHARED", .min = 6, .ideal = 6, .keep = 20, .right = true,
		.descending = true, .text = held_shared_text, .compare = held_shared_compare},
	COLUMN_USERS("USED BY"), COLUMN_AGE, COLUMN_OWNER,
};

static const struct table_column volume_columns[] = {
	COLUMN_NAME("VOLUME"), COLUMN_SIZE, COLUMN_USERS("USED BY"), COLUMN_DRIVER, COLUMN_AGE,
	COLUMN_OWNER,
};

static const struct table_column network_table[] = {
	COLUMN_NAME("NETWORK"), COLUMN_ID,
	{.name = "subnet", .head = "SUBNET", .min = 15, .ideal = 18, .keep = 25,
		.text = held_subnet_text},
	{.name = "internal", .head = "INTERNAL", .min = 8, .ideal = 8, .keep = 20,
		.text = held_internal_text, .compare = held_internal_compare},
	COLUMN_USERS("MEMBERS"), COLUMN_DRIVER, COLUMN_AGE, COLUMN_OWNER,
};
/* clang-format on */

const struct held_columns held_columns[HOLDING_KINDS] = {
	[HOLDING_IMAGES] = {image_columns, COUNT(image_columns)},
	[HOLDING_VOLUMES] = {volume_columns, COUNT(volume_columns)},
	[HOLDING_NETWORKS] = {network_table, COUNT(network_table)},
};
