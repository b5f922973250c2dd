/* product.c - lists engine products and their limitations. */
#include "engine/product.h"

#include <stdlib.h>
#include <string.h>

#include <berth/apparmor.h>
#include <berth/mem.h>
#include <berth/product.h>

#include "engine/engine.h"

#define BIT(lack) (UINT64_C(1) << (lack))

static const struct product products[] = {
	{.name = "docker",
		.stats = "/stats?stream=false&one-shot=true",
		.top = "/top?ps_args=-eo%20pid,user,stat,pcpu,rss,time,args",
		.top_fallback = "/top",
		.apparmor = APPARMOR_DOCKERS},
	/* It knows no one-shot beside stream=false in every version; its stream=false is quick. */
	{.name = "podman",
		.new_ids = true,
		.stats = "/stats?stream=false",
		.top = "/top?ps_args=pid,user,state,pcpu,rss,time,args",
		.apparmor = "",
		.detach_keys =
			"ctrl-_,ctrl-^,ctrl-],ctrl-_,ctrl-],ctrl-^,ctrl-^,ctrl-_,ctrl-],ctrl-],ctrl-^,ctrl-_",
		.nproc = true,
		.seccomp_file = true,
		.tmpfs_plain = true,
		.tmp_writable = true,
		.serial = true,
		.remove_stops = true,
		.exec_zero = true,
		.mount_words = true,
		.piece_stamps = true,
		.copies_mounts = true,
		.one_owner = true,
		.lacks = BIT(LACK_SECCOMP_TEXT) | BIT(LACK_TMPFS_FILES) | BIT(LACK_READ_ONLY_ROOT) |
			BIT(LACK_MOUNT_WORDS) | BIT(LACK_NPROC) | BIT(LACK_ENGINE_ID) |
			BIT(LACK_DETACH_KEYS) | BIT(LACK_REMOVE_STOPS) | BIT(LACK_EXEC_ZERO) |
			BIT(LACK_IMPORT_CHECK) | BIT(LACK_EXEC_INPUT) | BIT(LACK_SERIAL) |
			BIT(LACK_HEALTH_CHECKS),
		.lacks_rootless = BIT(LACK_ROOTLESS)},
};

static const struct lack_row rows[] = {LACKS(LACK_ROW)};

const struct product *product_named(const char *name)
{
	for (size_t i = 0; name && i < COUNT(products); i++)
		if (!strcmp(products[i].name, name))
			return &products[i];
	return &products[0];
}

uint64_t product_lacks(const struct engine_info *info)
{
	const struct product *p = product_named(info->product);

	return p->lacks | (info->rootless ? p->lacks_rootless : 0);
}

bool product_copies_mounts(const struct engine_info *info)
{
	char *end;
	long major = strtol(info->version, &end, 10);

	return product_named(info->product)->copies_mounts &&
		(major > 3 || (major == 3 && *end == '.' && strtol(end + 1, NULL, 10) >= 1));
}

int product_refuses(const struct engine_info *info, struct err *e)
{
	for (int i = 0; i < LACK_COUNT; i++)
		if (rows[i].end == LACK_REFUSED && info->lacks & BIT(i))
			return err_set(e, ERR_REFUSED, "the engine, %s %s, %s: %s.", info->product,
				info->version, rows[i].what, rows[i].follows);
	return 0;
}
