/* private.h - public now, for `berth engine`; rooms include <berth/private_engine.h>. */
#include <berth/private_engine.h>
