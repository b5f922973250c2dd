/*
 * sieve.h - places at which a match of a shape may be: strings of a few byte sets, one of which every match
 * contains, looked for 32 places at a time.
 */
#ifndef BERTH_FILES_SIEVE_H
#define BERTH_FILES_SIEVE_H

#include "files/match/pattern.h"

#define SIEVE_WORDS 8 /* strings: a bit of a byte each */
#define SIEVE_WIDTH 4 /* sets of a string that are looked at */
#define SIEVE_WORD 24 /* sets of a string that are known at most */

struct sieve {
	unsigned width; /* 0: there is none */
	bool high;      /* so may be any byte that is not ASCII */
	double share;   /* of the bytes of text that are such a place, roughly */
	/* By place in the string and half of a byte: the strings that may have it there. */
	unsigned char low[SIEVE_WIDTH][16], top[SIEVE_WIDTH][16];
	/* One string, every set of it a byte: that, and its length. */
	char text[SIEVE_WORD];
	size_t len;
};

void sieve_init(struct sieve *v, const struct shape *s);
void sieve_init_set(struct sieve *v, const struct byte_set *set); /* the places of single bytes */
/* Whether sieve_find works on this machine. */
bool sieve_works(void);
/* The first such place in s[0..n), or NULL. */
const char *sieve_find(const struct sieve *v, const char *s, size_t n);

/* How often a byte is in source text and prose, in 10,000; never 0. */
unsigned text_frequency(unsigned char c);

#endif
