/* schema.c - creates the tables and migrates older versions. */
#include "history/database.h"

/* One entry for each version: what brings the one before it there. Never edited, only added to. */
const char *const history_steps[HISTORY_VERSION] = {
	"CREATE TABLE run (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, started_ms INTEGER NOT NULL,"
	" ended_ms INTEGER NOT NULL DEFAULT 0, pid INTEGER NOT NULL DEFAULT 0, state TEXT NOT NULL,"
	" version TEXT NOT NULL, commit_id TEXT NOT NULL, release TEXT NOT NULL DEFAULT '',"
	" seed INTEGER NOT NULL, machine TEXT NOT NULL, cpu TEXT NOT NULL, kernel TEXT NOT NULL,"
	" fs TEXT NOT NULL, engine TEXT NOT NULL, versions TEXT NOT NULL, cores INTEGER NOT NULL,"
	" memory_bytes INTEGER NOT NULL, load_start REAL, load_end REAL, steal_percent REAL,"
	" others_percent REAL);"
	"CREATE TABLE result (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,"
	" suite TEXT NOT NULL, name TEXT NOT NULL, unit TEXT NOT NULL, state TEXT NOT NULL,"
	" error TEXT NOT NULL, notes TEXT NOT NULL, baseline INTEGER NOT NULL, higher INTEGER NOT NULL);"
	"CREATE INDEX result_of_run ON result (run, suite, name);"
	"CREATE TABLE arm (result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,"
	" place INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (result, place)) WITHOUT ROWID;"
	"CREATE TABLE sample (result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,"
	" place INTEGER NOT NULL, n INTEGER NOT NULL, value REAL NOT NULL, user_s REAL NOT NULL,"
	" system_s REAL NOT NULL, minor_faults INTEGER NOT NULL, major_faults INTEGER NOT NULL,"
	" read_bytes INTEGER NOT NULL, write_bytes INTEGER NOT NULL, syscalls_rw INTEGER NOT NULL,"
	" peak_bytes INTEGER NOT NULL, PRIMARY KEY (result, place, n)) WITHOUT ROWID;",

	/* 2: the noise floor of a run's machine, from two equal arms. */
	"ALTER TABLE run ADD COLUMN noise_low REAL;"
	"ALTER TABLE run ADD COLUMN noise_point REAL;"
	"ALTER TABLE run ADD COLUMN noise_high REAL;",
};
