/* hex.c - bytes as digits, sixteen at a time: every record of the log holds some. */
#include <berth/hex.h>

#include <string.h>

/* Sixteen bytes side by side; what the machine has no instruction for the compiler puts together. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static void print_hex16(char out[32], const uint8_t in[16])
{
	bytes16 v, hi, lo, a, b;

	memcpy(&v, in, 16);
	hi = v >> 4;
	lo = v & 15;
	hi += '0' + ((bytes16)(hi > 9) & ('a' - '0' - 10));
	lo += '0' + ((bytes16)(lo > 9) & ('a' - '0' - 10));
	a = __builtin_shufflevector(hi, lo, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	b = __builtin_shufflevector(
		hi, lo, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
	memcpy(out, &a, 16);
	memcpy(out + 16, &b, 16);
}

/* The values of sixteen digits; where one is none, *bad gets bits. */
static bytes16 read_digits16(const char *in, bytes16 *bad)
{
	bytes16 v, decimal, letter;

	memcpy(&v, in, 16);
	decimal = (bytes16)(v - '0' < 10);
	letter = (bytes16)(v - 'a' < 6);
	*bad |= ~(decimal | letter);
	return ((v - '0') & decimal) | ((v - ('a' - 10)) & letter);
}

static void parse_hex16(uint8_t out[16], const char in[32], bytes16 *bad)
{
	bytes16 a = read_digits16(in, bad), b = read_digits16(in + 16, bad), hi, lo;

	hi = __builtin_shufflevector(
		a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	lo = __builtin_shufflevector(
		a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
	hi = hi << 4 | lo;
	memcpy(out, &hi, 16);
}

void hex_digits(char *out, const uint8_t *bytes, size_t n)
{
	uint8_t rest[16] = {0};
	char digits[32];

	for (; n >= 16; n -= 16, bytes += 16, out += 32)
		print_hex16(out, bytes);
	if (!n)
		return;
	memcpy(rest, bytes, n);
	print_hex16(digits, rest);
	memcpy(out, digits, 2 * n);
}

char *hex_text(char *out, const uint8_t *bytes, size_t n)
{
	hex_digits(out, bytes, n);
	out[2 * n] = '\0';
	return out;
}

bool hex_parse(uint8_t *out, const char *digits, size_t n)
{
	uint8_t bytes[16];
	char rest[32];
	uint64_t any[2];
	bytes16 bad = {0};

	for (; n >= 16; n -= 16, digits += 32, out += 16)
		parse_hex16(out, digits, &bad);
	if (n) {
		memset(rest, '0', sizeof rest);
		memcpy(rest, digits, 2 * n);
		parse_hex16(bytes, rest, &bad);
		memcpy(out, bytes, n);
	}
	memcpy(any, &bad, sizeof any);
	return !(any[0] | any[1]);
}
