/* hex.c - bytes as hexadecimal digits, and back. */
#include <berth/hex.h>

void hex_digits(char *out, const uint8_t *bytes, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digit[bytes[i] >> 4];
		out[2 * i + 1] = digit[bytes[i] & 15];
	}
}

char *hex_text(char *out, const uint8_t *bytes, size_t n)
{
	hex_digits(out, bytes, n);
	out[2 * n] = '\0';
	return out;
}

/* -1: not a digit, or an upper-case one. */
static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_parse(uint8_t *out, const char *digits, size_t n)
{
	int bad = 0;

	for (size_t i = 0; i < n; i++) {
		int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);

		bad |= high | low;
		out[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
	}
	return bad >= 0;
}
