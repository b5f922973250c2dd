/*
 * hex.h - bytes as lower-case digits, two each, and back.
 *
 * Thread: any.
 */
#ifndef BERTH_HEX_H
#define BERTH_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void hex_digits(char *out, const uint8_t *bytes, size_t n); /* 2n digits, not terminated */
char *hex_text(char *out, const uint8_t *bytes, size_t n);  /* 2n digits and a 0; returns out */
/* 2n lower-case digits; false when they are not. */
bool hex_parse(uint8_t *out, const char *digits, size_t n);

#endif
