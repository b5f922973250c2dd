/* runtime.h - the directories are public now; rooms include <berth/runtime.h>. */
#ifndef BASE_RUNTIME_H
#define BASE_RUNTIME_H

#include <berth/runtime.h>

#endif
