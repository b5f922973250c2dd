/* measure.h - a disk, measured by reading small files of our own that are not in memory. */
#ifndef BERTH_FILES_MEASURE_H
#define BERTH_FILES_MEASURE_H

#include <stdbool.h>
#include <sys/types.h>

#include <berth/files.h>

/* A third of a second at most.  false: it cannot be told, *d is as it was. */
bool disk_measure(dev_t dev, struct files_disk *d);

#endif
