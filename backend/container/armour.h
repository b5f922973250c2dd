/*
 * armour.h - the AppArmor profile that a container of berth's must run under.
 *
 * Where this machine's kernel has AppArmor every container is asked to be under a profile, and its init is
 * looked at before it gets secrets or commands (lane_offer.apparmor).  The profile is ours where it is
 * loaded, which takes root once, else docker's.  Definitions say `apparmor: optional` for engines that can
 * do no better: rootless ones.
 *
 * Thread: any.
 */
#ifndef CONTAINER_ARMOUR_H
#define CONTAINER_ARMOUR_H

#include "engine/engine.h"

/* NULL: none is asked for; "" (podman, which names its profile by its version): any; a table of ours. */
const char *armour_of(const struct engine_info *engine, bool optional);
/* The same from what is known: has the kernel AppArmor, is our profile loaded. */
const char *armour_choose(bool here, bool loaded, const char *product, bool optional);

#endif
