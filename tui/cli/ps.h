/*
 * ps.h - shared by the table and the JSON document of `berth ps`.
 *
 * Thread: main.
 */
#ifndef CLI_PS_H
#define CLI_PS_H

#include "cli/run.h"

#define PS_CELL_MAX 512 /* bytes of a cell's text */

bool ps_is_ended(const struct container *c);
bool ps_has_sample(const struct container *c);
bool ps_is_shown(const struct cli *c, const struct container *k);         /* by state and filters */
int64_t ps_uptime_s(const struct container *c, const struct snapshot *s); /* -1: it does not run */
void ps_ports(char *buf, const struct container *c, const struct snapshot *s); /* PS_CELL_MAX */
int ps_print_json(const struct cli *c, const struct snapshot *s);

#endif
