/*
 * pool_registry.h - where keepers and takers of warm containers meet: files in <runtime dir>/pool.
 *
 *   KEY-PID.pool     what a keeper has and has had; mapped by all, locked by the keeper while it lives
 *   KEY-PID-N.warm   one container that is ready
 *   KEY-PID-N.taken  the same after a taker renamed it, which only one can; locked while that one lives
 *
 * Thread: any; each object has one owner.
 */
#ifndef RUN_POOL_REGISTRY_H
#define RUN_POOL_REGISTRY_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/err.h>

#define POOL_KEY 17
#define POOL_MAGIC 0x314c4f4f50525442

struct pool_board { /* KEY-PID.pool */
	uint64_t magic;
	int32_t pid;
	uint32_t size;
	_Atomic uint32_t warm;
	_Atomic uint64_t hits, misses, made, failed;
	_Atomic int64_t oldest_ns; /* monotonic, when it became ready; 0: none */
	int64_t idle_ns;
	char tool[64], problem[192];
};

struct pool_ticket { /* one container, as the files say it */
	char name[64], id[65], engine[128], session[33], network[65];
	int32_t guest;
	int64_t ready_ns, idle_ns;
};

/* <runtime dir>/pool, made when missing. */
int registry_dir(char dir[PATH_MAX], struct err *e);

/* The keeper's board, locked; *fd keeps the lock.  NULL on error, and nothing of it is left. */
struct pool_board *registry_board(const char *key, int *fd, struct err *e);
void registry_board_close(const char *key, struct pool_board *b, int fd);

/* Offer one; `serial` is the keeper's own. */
int registry_offer(const char *key, unsigned serial, const struct pool_ticket *t, struct err *e);
enum registry_state { TICKET_WARM, TICKET_TAKEN, TICKET_ORPHANED, TICKET_GONE };
enum registry_state registry_look(const char *key, unsigned serial);
/* Take one's own back, in competition with takers; false: it was taken. */
bool registry_withdraw(const char *key, unsigned serial);
void registry_forget(const char *key, unsigned serial);

/* A container of that key that nobody else has; false: none.  Counts hit or miss.  *fd and `path` are the
 * taker's until registry_done. */
bool registry_take(const char *key, struct pool_ticket *ret, int *fd, char path[PATH_MAX]);
void registry_done(int fd, const char *path);

#endif
