/*
 * container.h - the public header of this module: one container of berth's, from its specification to its removal.
 *
 * Whoever makes, enters or removes one needs most of it.  Headers that are not named here are the module's own.
 */
#ifndef CONTAINER_CONTAINER_H
#define CONTAINER_CONTAINER_H

#include "container/spec.h"      /* what one is asked to be */
#include "container/maker.h"     /* making, finding and removing one */
#include "container/armour.h"    /* the profile that holds it */
#include "container/home.h"      /* the volume that stays */
#include "container/network.h"   /* private networks */
#include "container/rate.h"      /* how fast it may send */
#include "container/secrets.h"   /* what is handed over */
#include "container/ready.h"     /* before anything runs in it */
#include "container/memory_fs.h" /* what its engine could not limit */
#include "container/enforce.h"   /* what is in force of it */
#include "container/sandbox.h"   /* a runtime with a kernel of its own */
#include "container/own.h"       /* whether it is ours */
#include "container/checked.h"   /* whether its mounts are the checked ones */
#include "container/tree.h"      /* ending what was started in it */

#endif
