/* overdue.c - handles a guest that does not answer. */
#include "lane/lane.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define START_MS 200 /* until somebody looks why nothing has started */
#define LOOK_MS 1000 /* how often it is looked whether a container with a time-out stands still */
#define GIVE_UP_MS 60000
#define END_MS 2000
#define INIT_MS 300

static int64_t after_ms(int64_t ns, int64_t ms)
{
	return ns + ms * 1000000;
}

int lane_wait_ms(const struct lane_command *c)
{
	int64_t now = clock_mono_ns(), until = c->due_ns;

	if (!c->supervisor) {
		int64_t look = after_ms(c->asked_ns, START_MS);

		/* Later looks come each second. */
		if (look < now)
			look = after_ms(now, 1000);
		if (!until || look < until)
			until = look;
	}
	/* A first look comes that long after it was asked. */
	if (c->due_ns && !c->cancelled) {
		int64_t look = after_ms(c->looked_ns ? c->looked_ns : c->asked_ns, LOOK_MS);

		if (look < until)
			until = look;
	}
	if (!until)
		return -1;
	return until <= now
		? 0
		: (int)((until - now) / 1000000 > 3600000 ? 3600000 : (until - now) / 1000000 + 1);
}

static int give_up(struct lane_command *c, struct err *why)
{
	struct lane_hold hold;

	if (lane_frozen(c->guest, c->id)) {
		/* It was paused for being idle just when it was asked. */
		if (lane_wake(c->id, NULL) > 0)
			return 0;
		if (!lane_hold_read(c->id, &hold))
			return err_set(why, ERR_CONFLICT,
				"the container %.12s is paused, so nothing can run in it; unpause it first.",
				c->id);
		if (!hold.brief || !hold.alive)
			return err_set(why, ERR_CONFLICT,
				"the container %.12s is frozen, so nothing can run in it: %s; `berth "
				"workspace thaw` ends that.",
				c->id, hold.why);
	}
	if (clock_mono_ns() > after_ms(c->asked_ns, GIVE_UP_MS))
		return err_set(why, ERR_TIMEOUT,
			"the init of the container %.12s has not answered for %d s; the machine or the "
			"container is overloaded.",
			c->id, GIVE_UP_MS / 1000);
	return 0;
}

/* While the container stands still its clock does, too: the guest counts likewise. */
static void pass_standstill(struct lane_command *c, int64_t now)
{
	int64_t last = c->looked_ns ? c->looked_ns : c->asked_ns;
	bool still, was = c->still;

	if (!c->due_ns || c->cancelled || (now < c->due_ns && now < after_ms(last, LOOK_MS)))
		return;
	still = lane_frozen(c->guest, c->id);
	if (still || was)
		c->due_ns += still && was ? now - last : (now - last) / 2;
	/* Once it goes on its init has a moment to say how the command ended. */
	if (still && c->due_ns < after_ms(now, LANE_MARGIN_MS))
		c->due_ns = after_ms(now, LANE_MARGIN_MS);
	c->looked_ns = now;
	c->still = still;
}

int lane_overdue(struct lane_command *c, struct lane_ended *end, struct err *why)
{
	int64_t now = clock_mono_ns();
	int left;

	pass_standstill(c, now);
	if (!c->due_ns || now < c->due_ns) {
		if (c->supervisor || now < after_ms(c->asked_ns, START_MS) || !give_up(c, why))
			return 0;
		return -1;
	}
	*end = (struct lane_ended){.how = LANE_TIMED_OUT, .wall_ns = (uint64_t)(now - c->asked_ns)};
	left = lane_end_command(c, END_MS);
	if (!c->supervisor) {
		/* It may start yet, and will find that nobody waits for it. */
		end->left = 1;
		err_set(why, ERR_TIMEOUT,
			"the init of the container %.12s did not start the command in time.",
			c->id);
		return 2;
	}
	if (left && lane_frozen(c->guest, c->id)) {
		end->left = (uint32_t)left;
		err_set(why, ERR_CONFLICT,
			"the container %.12s is paused: the %d processes of the "
			"command end when it is unpaused.",
			c->id, left);
	} else if (left) {
		left = lane_end_container(c->guest, c->id, END_MS);
		end->left = (uint32_t)left;
		err_set(why, ERR_FAILED,
			"the command could not be killed separately, so its whole container %.12s was killed.",
			c->id);
	} else {
		err_set(why, ERR_TIMEOUT,
			"the init of the container %.12s did not answer, so the "
			"command was killed from outside.",
			c->id);
	}
	return 2;
}

/* Within a moment: whoever is killed still closes its files first. */
static bool init_ended(pid_t guest, int ms)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, guest, 0);
	struct pollfd p = {fd, POLLIN, 0};

	return fd < 0 || poll(&p, 1, ms) > 0;
}

void lane_broke(struct lane_command *c, struct lane_ended *end, struct err *why)
{
	*end = (struct lane_ended){.how = LANE_BY_SIGNAL,
		.code = 9,
		.wall_ns = (uint64_t)(clock_mono_ns() - c->asked_ns)};
	end->left = (uint32_t)lane_end_command(c, END_MS);
	if (init_ended(c->guest, INIT_MS))
		err_set(why, ERR_FAILED, "the container %.12s ended while the command ran.", c->id);
	else
		err_set(why, ERR_FAILED,
			"the command ended its own supervisor, so everything that it "
			"had started was killed.");
}
