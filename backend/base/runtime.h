/* runtime.h - the directories are public now; rooms include <berth/runtime.h>. */
#include <berth/runtime.h>
