/* choose.h - the part of endpoint.c that tests call by itself. */
#ifndef BERTH_CHOOSE_H
#define BERTH_CHOOSE_H

#include <stddef.h>

/* The first path on which something listens, else the first that exists, else the first. */
const char *choose_socket(const char *const *paths, size_t n);

#endif
