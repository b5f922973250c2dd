/*
 * keys.c - fuzz target: whatever is pressed, pasted, clicked or resized, in whatever order, the
 * console neither crashes nor hangs nor acts on containers that were not asked for.
 *
 * A byte is a step: most are keys, some are clicks, resizes, pastes, ticks of the fixture, time.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "golden/fixture/fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Steps are written as a script, so that a finding can be read and kept as a golden test. */
static void write_step(struct str *script, uint8_t b, uint8_t next)
{
	static const char *const keys[] = {"Up", "Down", "Left", "Right", "PgUp", "PgDn", "Home",
		"End", "Enter", "Esc", "Tab", "S-Tab", "Backspace", "Del", "Space", "C-Space",
		"C-c", "C-u", "C-d", "C-s", "C-l", "F1", "F5", "C-w", "C-a", "C-e", "C-k"};
	static const char *const pastes[] = {
		"abc", "(", "\xe4\xb8\xad\xcc\x81", "!x|y", "15", "\033[31m"};

	if (b >= 0x21 && b < 0x7F)
		str_addf(script, "type %c\n", b);
	else if (b < COUNT(keys))
		str_addf(script, "key %s\n", keys[b]);
	else if (b < 0x90)
		str_addf(script, "click %s%d %d\n", b & 1 ? "twice " : "", next % 90, next / 8);
	else if (b < 0xA0)
		str_addf(script, "size %d %d\n", 1 + next, 1 + (next * 7) % 70);
	else if (b < 0xA8)
		str_addf(script, "paste %s\n", pastes[next % COUNT(pastes)]);
	else if (b < 0xB0)
		str_addf(script, "wheel %d\n", (int)next - 128);
	else if (b < 0xD0)
		str_addf(script, "advance %d\n", next * 4);
	else
		str_adds(script, "dump styles\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const scenarios[] = {"full", "many", "lost", "empty", "absent"};
	char path[] = "/tmp/berth-keys-XXXXXX";
	struct str script = STR_INIT, out = STR_INIT;
	struct settings settings;
	struct app_options o = {.views = all_tabs,
		.help = &help_view,
		.output = &output_view,
		.network = &network_view,
		.script = path,
		.out = &out,
		.settings = &settings};
	struct err e = ERR_INIT;
	FILE *f;

	if (n < 2 || n > 400)
		return 0;
	text_init();
	o.ascii = data[0] & 8;
	o.read_only = data[0] & 16;
	fixture_choose(scenarios[data[0] & 7 ? (data[0] & 7) % COUNT(scenarios) : 0]);
	for (size_t i = 1; i < n; i++)
		write_step(&script, data[i], i + 1 < n ? data[i + 1] : 0);
	f = fdopen(mkstemp(path), "w");
	fwrite(script.s, 1, script.len, f);
	fclose(f);
	clock_freeze(1000000000000, 1795211102000);
	if (settings_from(NULL, &settings, &e) < 0)
		abort();
	o.backend = backend_start(&(struct backend_options){.read_only = o.read_only}, &e);
	if (app_run(&o, &e) < 0) {
		fprintf(stderr, "%s\n%s", e.msg, script.s);
		abort();
	}
	backend_stop(o.backend);
	settings_release(&settings);
	str_release(&script);
	str_release(&out);
	remove(path);
	return 0;
}
