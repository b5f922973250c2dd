/* private.h - public now, for `berth engine`; rooms include <berth/private_engine.h>. */
#ifndef ENGINE_PRIVATE_H
#define ENGINE_PRIVATE_H

#include <berth/private_engine.h>

#endif
