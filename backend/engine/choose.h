/* choose.h - finds sockets with a listener; the part of endpoint.c that other files of the module and tests call. */
#ifndef BERTH_CHOOSE_H
#define BERTH_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

bool choose_listens(const char *path);

/* The first path on which something listens, else the first that exists, else the first. */
const char *choose_socket(const char *const *paths, size_t n);

#endif
