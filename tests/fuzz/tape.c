/*
 * tape.c - fuzz target: whatever stands in a recording, playing it neither crashes nor hangs the console, and does
 * nothing but draw.
 *
 * The input is the lines behind the head, not compressed, which the reader takes as well.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/tape.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"

#define HEAD "{\"schema\": \"berth.recording/1\", \"head\": {\"columns\": 80, \"rows\": 24}}\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void play_it(const char *path)
{
	struct err e = ERR_INIT;
	struct settings settings;
	struct str out = STR_INIT;
	struct app_options o = {.views = all_tabs,
		.help = &help_view,
		.output = &output_view,
		.network = &network_view,
		.out = &out,
		.settings = &settings};

	o.replay = tape_open(path, &e);
	if (!o.replay && e.kind != ERR_USAGE)
		abort();
	if (!o.replay)
		return;
	if (settings_from(NULL, &settings, &e) < 0)
		abort();
	if (app_run(&o, &e) < 0 && !*e.msg)
		abort();
	settings_release(&settings);
	tape_release(o.replay);
	str_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char path[] = "/tmp/berth-tape-XXXXXX";
	FILE *f;

	text_init();
	f = fdopen(mkstemp(path), "w");
	if (n < 10 || memcmp(data, "{\"schema\":", 10) != 0)
		fputs(HEAD, f);
	fwrite(data, 1, n, f);
	fclose(f);
	play_it(path);
	unlink(path);
	return 0;
}
