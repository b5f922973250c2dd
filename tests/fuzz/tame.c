/* tame.c - fuzz target: what is left of a program's output is text, colours and motion, however the bytes are cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/journal.h>
#include <berth/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tame_in_steps(struct str *out, const char *s, size_t size, size_t step)
{
	struct journal_tamer t = {0};

	for (size_t i = 0; i < size; i += step)
		journal_tame(&t, s + i, size - i < step ? size - i : step, out);
}

/* By other means than tame.c's: ESC [ digits and separators, and one of the letters; else no control at all. */
static void check_tame(const char *s, size_t n)
{
	for (size_t i = 0, used; i < n; i += used) {
		uint32_t cp;

		used = utf8_next(s + i, n - i, &cp);
		if (s[i] == '\x1b') {
			size_t k = i + 1;

			if (k >= n || s[k++] != '[')
				abort();
			while (k < n && strchr("0123456789;:", s[k]) && s[k])
				k++;
			if (k >= n || !strchr("ABCDEFGHdfmJK", s[k]) || !s[k] || k - i > 40)
				abort();
			used = k + 1 - i;
		} else if (cp < 0x20 ? !cp || !strchr("\n\r\t\b", (int)cp)
				     : cp != TEXT_BAD && text_cp_width(cp) < 0) {
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STR struct str whole = STR_INIT, cut = STR_INIT, again = STR_INIT;

	text_init();
	if (size < 1)
		return 0;
	tame_in_steps(&whole, (const char *)data + 1, size - 1, size);
	tame_in_steps(&cut, (const char *)data + 1, size - 1, data[0] % 64 + 1);
	if (whole.len != cut.len || memcmp(whole.s, cut.s, cut.len) != 0)
		abort();
	check_tame(whole.s, whole.len);
	tame_in_steps(&again, whole.s, whole.len, size);
	if (whole.len != again.len || memcmp(whole.s, again.s, again.len) != 0)
		abort();
	return 0;
}
