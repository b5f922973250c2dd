/* commands_workspace.h - the verbs of `berth workspace`: a part of commands.h, which alone includes it, of the table. */
#ifndef CLI_COMMANDS_WORKSPACE_H
#define CLI_COMMANDS_WORKSPACE_H

static const struct cli_option workspace_create_options[] = {
	{0, "prompt", "TEXT", "what the task is to do: its prompt.md"},
	{0, "loop", "BYTES", "a task in a file system of its own, of this size (root)"},
	{0},
};

static const struct cli_option workspace_options[] = {
	JSON,
	{0},
};

static const struct cli_option workspace_checkpoint_options[] = {
	{0, "auto", "N", "name it auto-TIME, and keep the newest N of these"},
	JSON,
	{0},
};

static const struct cli_option workspace_usage_options[] = {
	{0, "cached", NULL, "the last count, where there is one"},
	JSON,
	{0},
};

static const struct cli_option workspace_take_options[] = {
	{0, "into", "DIR", "a directory, or the name of a project or task"},
	{0, "force", NULL, "also take what changed in the target since the start, or differs"},
	{'p', "patch", NULL, "ask for each hunk; with --dry-run only number them"},
	{0, "hunks", "LIST", "only these hunks, 1,3-5, as --dry-run --patch numbers them"},
	{0, "plan", "ID", "only if both sides are as --dry-run --patch said under this plan"},
	{0, "branch", "NAME",
		"as a commit on HEAD and a new branch of the target's git repository"},
	{0, "dry-run", NULL, "only print what would be taken"},
	JSON,
	{0},
};

static const struct cli_option workspace_hand_over_options[] = {
	{0, "secrets", NULL, "even if likely secrets are found"},
	{0, "dry-run", NULL, "only print what would be taken"},
	JSON,
	{0},
};

static const struct cli_option workspace_share_options[] = {
	{0, "into", "KIND", "templates, libraries, datasets or configs"},
	{0, "remove", NULL, "take KIND/PATH... out of it"},
	{0, "restore", "VERSION", "make this version current again"},
	{0, "as", "VERSION", "the new version's name (default: the time)"},
	{0, "secrets", NULL, "even if likely secrets are found"},
	JSON,
	{0},
};

static const struct cli_option workspace_shared_options[] = {
	{0, "as", "TASK", "what is in the version that this task keeps"},
	JSON,
	{0},
};

static const struct cli_option workspace_put_result_options[] = {
	{0, "path", "PATH", "a path from the task's top, instead of a text"},
	{0, "stdin", NULL, "read the text from standard input"},
	{0, "shareable", NULL, "every task may read it"},
	{0, "secrets", NULL, "even if it seems to hold a secret"},
	JSON,
	{0},
};

static const struct cli_option workspace_results_options[] = {
	{0, "as", "TASK", "only what this task may read"},
	JSON,
	{0},
};

static const struct cli_option workspace_limit_options[] = {
	{0, "bytes", "BYTES", "500m, 2g; none: any size"},
	{0, "files", "N", "files and directories; none: any number"},
	{0, "on-breach", "WHAT", "freeze, warn, kill or refuse"},
	{0},
};

static const struct cli_option workspace_restore_options[] = {
	{0, "stop", NULL, "end what runs in containers that have it mounted"},
	JSON,
	{0},
};

static const struct cli_option workspace_diff_options[] = {
	{0, "stat", NULL, "only what differs, by how much, and the total"},
	JSON,
	{0},
};

static const struct cli_option workspace_archive_options[] = {
	{0, "as", "NAME", "the name of the archive; usually that of the workspace"},
	JSON,
	{0},
};

static const struct cli_option workspace_unarchive_options[] = {
	{0, "as", "NAME", "the name of the workspace; usually that of the archive"},
	{0, "keep", NULL, "keep the archive, too"},
	JSON,
	{0},
};

static const struct cli_option workspace_clean_options[] = {
	{0, "due", NULL, "what the settings say has been kept long enough"},
	{0, "dry-run", NULL, "only print what would be done"},
	JSON,
	{0},
};

static const struct cli_command workspace_verbs[] = {
	{"create", "task|project NAME", 2, 2, FILES(cli_workspace_create), .needs = NEEDS_SETTINGS,
		.help = "create a workspace and print its path",
		.about =
			"A task has context.json, prompt.md, output, files/, logs/ and an .env of its own; a project is a git "
			"repository with README.md, src, tests, docs and tasks/.  It is created as a whole or not at all.  "
			"Workspaces lie in $XDG_DATA_HOME/berth/workspaces (usually ~/.local/share/berth/workspaces).  "
			"With --loop root's task is an ext4 of its own in an image whose space is taken at once: what goes "
			"beyond fails, and nothing fills the disk for others.  `workspace limit --bytes` makes it larger while "
			"it is used.  After a reboot `berth up` and every verb here mount it again.",
		.options = workspace_create_options},
	{"list", "", 0, 0, FILES(cli_workspace_list), .help = "print the workspaces",
		.options = workspace_options, .schema = "berth.workspace_list/1"},
	{"mark", "TASK... open|done|failed", 2, 1000, FILES(cli_workspace_mark),
		.help = "record how tasks ended, or reopen them",
		.about =
			"`workspace list` shows it.  A new task is open; nothing inside the task can change "
			"that."},
	{"show", "WORKSPACE", 1, 1, FILES(cli_workspace_show), .needs = NEEDS_SETTINGS,
		.help = "print what is known about a workspace",
		.about =
			"Kind, owner, the containers that have it, how much is in it, the newest change, "
			"what it was forked from, its checkpoints, and whether a restore was interrupted; of "
			"one that was archived, its archive.  An agent gets it by workspace: task:ID or "
			"project:NAME in its team file, from `berth up` to `berth down`; a task belongs to "
			"one agent at a time.",
		.options = workspace_options, .schema = "berth.workspace/1"},
	{"usage", "", 0, 0, FILES(cli_workspace_usage), .needs = NEEDS_SETTINGS,
		.help = "print how much is in the workspaces",
		.about =
			"Counted afresh, each name of a file; what is mounted in a workspace is left out.  "
			"With --cached the last count and when it was made: a few milliseconds for a "
			"thousand workspaces.",
		.options = workspace_usage_options, .schema = "berth.workspace_usage/1"},
	{"fork", "WORKSPACE N", 2, 2, FILES(cli_workspace_fork),
		.help = "create N tasks with the current contents of a workspace",
		.about =
			"They are named after it, with a number; each has a copy of everything in it and a "
			"context.json of its own.  A checkpoint of that moment stays with WORKSPACE; diff, "
			"take and overlap know what each fork began with even after that is dropped.",
		.options = workspace_options, .schema = "berth.workspace_fork/1"},
	{"checkpoint", "WORKSPACE [NAME]", 1, 2, FILES(cli_workspace_checkpoint),
		.help = "save the contents of a workspace",
		.about =
			"WORKSPACE is tasks/ID or projects/NAME, or the name alone where only one has it.  "
			"Every file is saved, tracked by git or not, with mode, owner, times, links and "
			"attributes; without NAME it is named after the time.  The second checkpoint costs "
			"only what changed.  Containers that have it mounted are frozen meanwhile; files "
			"that something else changes while they are read are counted.  With --auto, as "
			"checkpoints: of a team file does it, nothing is saved if no name, content or mode "
			"differs from the last one, and the oldest automatic ones are dropped, never one "
			"that somebody made.",
		.options = workspace_checkpoint_options, .schema = "berth.checkpoint/1"},
	{"checkpoints", "WORKSPACE", 1, 1, FILES(cli_workspace_checkpoints),
		.help = "print the checkpoints of a workspace, oldest first",
		.options = workspace_options, .schema = "berth.checkpoints/1"},
	{"diff", "A B [PATH...]", 2, 64, IMAGE(cli_workspace_diff),
		.help = "print what differs between two workspaces, checkpoints or archives",
		.about =
			"A and B are each WORKSPACE, as it is now, WORKSPACE@CHECKPOINT, or "
			"archives/WORKSPACE; with PATH only what is there or below.  The output is a diff in "
			"git's format, which git apply and patch -p1 accept.  What that format cannot "
			"express (directories, special files, owners, other modes than executable or not) is "
			"a line of its own, which both skip.  With --stat each change is such a line.  Times "
			"are not compared.  Files that are not text, or larger than 8 MiB, are only "
			"reported as different.  On a terminal control characters are replaced.",
		.options = workspace_diff_options, .schema = "berth.workspace_diff/1"},
	{"overlap", "WORKSPACE WORKSPACE...", 2, 32, IMAGE(cli_workspace_overlap),
		.help = "print what several forks changed since their common start",
		.about =
			"They are forks of one `workspace fork`, archived (archives/WORKSPACE) or not, or the workspace that was forked.  A line for each "
			"entry that two or more of them changed, with what each did, and whether the "
			"outcome is the same.",
		.options = workspace_options, .schema = "berth.workspace_overlap/1"},
	{"take", "FROM PATH...", 2, 256, FILES(cli_workspace_take),
		.help = "take files from an agent's workspace into a project",
		.about =
			"FROM is WORKSPACE or WORKSPACE@CHECKPOINT, PATH a file or a directory from its top, "
			"or . for all.  From a fork only what changed since its start is taken.  A file that "
			"changed in the target as well is a conflict, and then nothing is taken without "
			"--force.  Everything is written or nothing.  Only regular files pass, with content "
			"and whether they are executable: links, devices, set-id bits, attributes, owners "
			"and anything called .git are dropped and listed, as are files that were removed.  "
			"No link of the target is followed.  With --patch or --hunks only what was chosen: "
			"hunks are the lines in which FROM's text differs from what the target holds now, a "
			"new file is one.  With --branch the target is HEAD of its git repository, and what is "
			"taken becomes a branch of it: its files, index and other branches stay as they are, and "
			"no git, hook or filter is run.  Likely secrets are listed with file and line, and so "
			"are, before anything is taken, files that a tool runs (a Makefile, .envrc, tasks of "
			"an editor).  What would make a directory a bare git repository is dropped.",
		.options = workspace_take_options, .schema = "berth.workspace_take/1"},
	{"hand-over", "FROM TO PATH...", 3, 256, FILES(cli_workspace_hand_over),
		.help = "let another task read files of a task",
		.about =
			"FROM is TASK or TASK@CHECKPOINT, TO another task, PATH a file or a directory from "
			"FROM's top, or . for all.  They go to shared/inter_task/TO/FROM, which an agent "
			"that is bound to TO sees read-only at that path, even while it runs; what FROM "
			"handed over before is replaced.  The same files pass as with take, all of them or "
			"none, of any size.  Likely secrets are listed, and then nothing passes without "
			"--secrets; nor does what was looked through for them in part only (its first GiB).",
		.options = workspace_hand_over_options, .schema = "berth.workspace_hand_over/1"},
	{"share", "[WORKSPACE PATH...]", 0, 256, FILES(cli_workspace_share),
		.help = "change what every task may read: templates, libraries, datasets, configs",
		.about =
			"Files of a workspace, as with take, go to shared/KIND under their own path; or "
			"--remove KIND/PATH..., or --restore VERSION.  Each change is a version with a name, "
			"and none is ever removed; what they have in common is stored once.  A task keeps "
			"the version that was current when it was made, and its agent sees that read-only in "
			"shared/.",
		.options = workspace_share_options, .schema = "berth.workspace_share/1"},
	{"shared", "[VERSION]", 0, 1, FILES(cli_workspace_shared),
		.help = "print the versions of what tasks share, or the files of one",
		.options = workspace_shared_options, .schema = "berth.workspace_shared/1"},
	{"put-result", "TASK NAME [TEXT]", 2, 3, FILES(cli_workspace_put_result),
		.help = "keep a result of a task: a text, or a path in it",
		.about =
			"It replaces what the task had under that name.  Only the task itself may read it, "
			"and with --shareable every task.  At most 64 KiB a text, 256 results of a task and "
			"10,000 of all; they are in one SQLite file beside the tasks, which no task can "
			"reach, and stay when the task is gone.",
		.options = workspace_put_result_options, .schema = "berth.workspace_put_result/1"},
	{"results", "[TASK [NAME]]", 0, 2, FILES(cli_workspace_results),
		.help = "print what tasks found: all, those of one, or the text of one",
		.options = workspace_results_options, .schema = "berth.workspace_results/1"},
	{"drop-result", "TASK NAME", 2, 2, FILES(cli_workspace_drop_result),
		.help = "remove a result of a task; this cannot be undone"},
	{"restore", "WORKSPACE CHECKPOINT", 2, 2, FILES(cli_workspace_restore),
		.help = "return a workspace to a checkpoint",
		.about =
			"A checkpoint of the present state is made first, so a restore can be undone; all "
			"contents are checked before anything is changed.  The directory itself stays, so "
			"containers that have it mounted see the restored files.  They are frozen meanwhile. "
			" While commands run in them it is refused, unless --stop ends those.  What you may "
			"not read, now or when the checkpoint was made, is named and stays as it is.",
		.options = workspace_restore_options, .schema = "berth.restore/1"},
	{"limit", "WORKSPACE", 1, 1, FILES(cli_workspace_limit), .needs = NEEDS_SETTINGS,
		.help = "set how much a workspace may hold",
		.about =
			"While an agent has it, berth counts what is in it whenever that changes: of each "
			"file its size, or its space on the disk where that is more, and the names of all "
			"that is in it.  If it holds more, its container is frozen until someone raises the "
			"limit, removes files, thaws it (workspace thaw) or takes it down.  With --on-breach "
			"refuse what runs goes on, and new commands and writes of files by berth are refused "
			"until then.  Where root runs berth and the file system keeps project quotas (XFS or "
			"ext4, mounted with prjquota), the file system enforces the limit by itself as well, "
			"from `berth up` on: a write beyond it fails.  The image of a task made with --loop grows with --bytes "
			"and never shrinks; how many files it can hold grows with it.  What is not given stays as it is; where "
			"nothing was given, the settings apply (workspaces.limit_bytes and others).",
		.options = workspace_limit_options},
	{"keep", "", 0, 0, FILES(cli_workspace_keep), .needs = NEEDS_SETTINGS,
		.help = "watch the limits of workspaces that agents have",
		.about =
			"`berth up` starts it in the background, and it ends with the last `berth down`."},
	{"thaw", "WORKSPACE", 1, 1, FILES(cli_workspace_thaw), .needs = NEEDS_SETTINGS,
		.help = "thaw the containers that berth froze for a workspace",
		.about =
			"Whether a limit froze them or a berth that was killed left them so.  What someone "
			"else paused stays paused."},
	{"drop", "WORKSPACE CHECKPOINT", 2, 2, FILES(cli_workspace_drop),
		.help = "remove a checkpoint; this cannot be undone"},
	{"archive", "WORKSPACE", 1, 1, IMAGE(cli_workspace_archive), .needs = NEEDS_SETTINGS,
		.help = "compress a workspace into an archive and remove it",
		.about =
			"The archive is a tar.zst that any tar reads, with the SHA-256 of every file behind it, in archives/ "
			"beside the workspaces.  It is on disk, read back and checked before the workspace is removed.  A "
			"workspace that a running container has mounted is not archived, nor one that changes meanwhile.  Likely "
			"secrets in it are listed with file and line.  Its checkpoints stay.",
		.options = workspace_archive_options, .schema = "berth.workspace_archive/1"},
	{"unarchive", "ARCHIVE", 1, 1, IMAGE(cli_workspace_unarchive),
		.help = "turn an archive back into a workspace and remove the archive",
		.about =
			"Every file is checked; from a damaged archive nothing is made, and it stays.  "
			"Set-id bits, capabilities and access lists, devices and foreign owners are dropped "
			"and listed.  The task is open again.",
		.options = workspace_unarchive_options, .schema = "berth.workspace_unarchive/1"},
	{"archives", "", 0, 0, IMAGE(cli_workspace_archives), .help = "print the archives",
		.options = workspace_options, .schema = "berth.workspace_archives/1"},
	{"clean", "[WORKSPACE...]", 0, 1000, IMAGE(cli_workspace_clean), .needs = NEEDS_SETTINGS,
		.help = "remove workspaces and archives, or archive and remove those that are due",
		.about =
			"WORKSPACE or archives/WORKSPACE is removed for good; checkpoints stay.  With --due the settings say "
			"which: tasks that are done are archived, tasks that failed are removed after 7 days, projects in which nothing "
			"changed for 30 days are archived: the settings workspaces.done_days, failed_days and idle_days.  "
			"berth-workspaces.timer does this daily once it is enabled: `systemctl --user enable --now "
			"berth-workspaces.timer`.",
		.options = workspace_clean_options, .schema = "berth.workspace_clean/1"},
	{"verify", "[WORKSPACE [CHECKPOINT]]", 0, 2, IMAGE(cli_workspace_verify),
		.help = "check all contents of checkpoints, archives and versions of shared/",
		.about =
			"Without WORKSPACE, of all, even those that are gone.  Exits with 1 if something "
			"differs from what was stored."},
	{0},
};

#endif
