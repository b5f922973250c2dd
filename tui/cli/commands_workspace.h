/* commands_workspace.h - the verbs of `berth workspace`: a part of commands.h, which alone includes it, of the table. */
#ifndef CLI_COMMANDS_WORKSPACE_H
#define CLI_COMMANDS_WORKSPACE_H

static const struct cli_option workspace_create_options[] = {
	{0, "prompt", "TEXT", "task description, stored as prompt.md"},
	{0, "loop", "BYTES", "give the task its own file system of this size (root)"},
	{0},
};

static const struct cli_option workspace_checkpoint_options[] = {
	{0, "auto", "N", "name it auto-TIME and keep the newest N of them"},
	JSON,
	{0},
};

static const struct cli_option workspace_usage_options[] = {
	{0, "cached", NULL, "print the last count, if there is one"},
	JSON,
	{0},
};

static const struct cli_option workspace_apply_options[] = {
	{0, "into", "DIR", "a directory, or the name of a project or task"},
	{0, "force", NULL, "overwrite files that changed in the target since the start, or differ"},
	{'p', "patch", NULL, "ask for each hunk; with --dry-run only number them"},
	{0, "hunks", "LIST", "only these hunks, 1,3-5, as --dry-run --patch numbers them"},
	{0, "plan", "ID",
		"only if both sides are unchanged since --dry-run --patch printed this plan"},
	{0, "branch", "NAME", "as a commit on HEAD in a new branch of the target's git repository"},
	{0, "dry-run", NULL, "only print what would be applied"},
	{0, "secrets", NULL, "print likely secrets in hunks, which are masked otherwise"},
	JSON,
	{0},
};

static const struct cli_option workspace_hand_over_options[] = {
	{0, "secrets", NULL, "even if likely secrets are found"},
	{0, "dry-run", NULL, "only print what would be copied"},
	JSON,
	{0},
};

static const struct cli_option workspace_share_options[] = {
	{0, "into", "KIND", "templates, libraries, datasets or configs"},
	{0, "remove", NULL, "remove KIND/PATH..."},
	{0, "restore", "VERSION", "make this version current again"},
	{0, "as", "VERSION", "name of the new version (default: the time)"},
	{0, "secrets", NULL, "even if likely secrets are found"},
	JSON,
	{0},
};

static const struct cli_option workspace_shared_options[] = {
	{0, "as", "TASK", "files of the version that this task uses"},
	JSON,
	{0},
};

static const struct cli_option workspace_put_result_options[] = {
	{0, "path", "PATH", "a path in the task, instead of a text"},
	{0, "stdin", NULL, "read the text from standard input"},
	{0, "shareable", NULL, "every task may read it"},
	{0, "secrets", NULL, "even if it probably contains a secret"},
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
	{0, "stop", NULL, "kill the processes in containers that have it mounted"},
	JSON,
	{0},
};

static const struct cli_option workspace_diff_options[] = {
	{0, "stat", NULL, "only the names, the size of each change, and the total"},
	{0, "secrets", NULL, "print likely secrets, which are masked otherwise"},
	JSON,
	{0},
};

static const struct cli_option workspace_archive_options[] = {
	{0, "as", "NAME", "name of the archive (default: that of the workspace)"},
	JSON,
	{0},
};

static const struct cli_option workspace_unarchive_options[] = {
	{0, "as", "NAME", "name of the workspace (default: that of the archive)"},
	{0, "keep", NULL, "keep the archive, too"},
	JSON,
	{0},
};

static const struct cli_option workspace_clean_options[] = {
	{0, "due", NULL, "those that have expired according to the settings"},
	{0, "dry-run", NULL, "only print what would be done"},
	JSON,
	{0},
};

static const struct cli_command workspace_verbs[] = {
	{"create", "task|project NAME", 2, 2, WORKSPACE(cli_workspace_create),
		.needs = NEEDS_SETTINGS, .help = "create a workspace and print its path",
		.about =
			"A task has context.json, prompt.md, output, files/, logs/ and an .env of "
			"its own; a project is a git repository with README.md, src, tests, docs "
			"and tasks/.  It is created completely or not at all.  Workspaces are in "
			"$XDG_DATA_HOME/berth/workspaces (usually ~/.local/share/berth/workspaces).  "
			"With --loop (root) the task is an ext4 image with all of its space "
			"reserved: writes beyond it fail, and it cannot fill the disk for others.  "
			"`workspace limit --bytes` enlarges it while it is in use.  After a reboot "
			"`berth up` and all workspace commands mount it again.",
		.options = workspace_create_options},
	{"list", "", 0, 0, WORKSPACE(cli_workspace_list), .help = "print the workspaces",
		.options = json_options, .schema = "berth.workspace_list/1"},
	{"mark", "TASK... open|done|failed", 2, 1000, WORKSPACE(cli_workspace_mark),
		.help = "record how tasks ended, or reopen them",
		.about =
			"`workspace list` shows the status.  A new task is open; nothing inside the "
			"task can change its status."},
	{"show", "WORKSPACE", 1, 1, WORKSPACE(cli_workspace_show), .needs = NEEDS_SETTINGS,
		.help = "print details of a workspace",
		.about =
			"Kind, owner, the containers that use it, its size, the newest change, its "
			"origin if it is a fork, its checkpoints, and whether a restore was "
			"interrupted; for an archived one, its archive.  Flags mark what looks "
			"suspicious: executable files, likely secrets and 1,000 small files in a "
			"minute that are new or changed since the newest checkpoint, and links that "
			"lead out of it.  The absence of flags proves nothing.  An agent gets it by "
			"workspace: task:ID or project:NAME in its team file, from `berth up` to "
			"`berth down`; a task belongs to one agent at a time.",
		.options = json_options, .schema = "berth.workspace/1"},
	{"debug", "WORKSPACE", 1, 1, WORKSPACE(cli_workspace_debug), .needs = NEEDS_SETTINGS,
		.help = "print a snapshot of a workspace for a bug report",
		.about = "What `workspace show` prints; the directories of the first two levels, "
			 "with the size and number of files below each; the 20 largest and the 20 "
			 "newest files; the last 20 lines of its output and of files in logs/.  "
			 "Lines with likely secrets are left out, control characters made visible; "
			 "read it before you pass it on."},
	{"usage", "", 0, 0, WORKSPACE(cli_workspace_usage), .needs = NEEDS_SETTINGS,
		.help = "print the size of the workspaces",
		.about =
			"Counts all files; each hard link counts, mounts inside a workspace do not.  With "
			"--cached, prints the last count and its time: a few milliseconds for a thousand "
			"workspaces.",
		.options = workspace_usage_options, .schema = "berth.workspace_usage/1"},
	{"fork", "WORKSPACE N", 2, 2, WORKSPACE(cli_workspace_fork), .needs = NEEDS_SETTINGS,
		.help = "create N tasks with the current contents of a workspace",
		.about =
			"The forks are named after WORKSPACE, with a number; each has a copy of its "
			"contents and its own context.json.  A checkpoint of that state is saved in "
			"WORKSPACE; diff, apply and overlap know the initial contents of each fork "
			"even after it is dropped.",
		.options = json_options, .schema = "berth.workspace_fork/1"},
	{"checkpoint", "WORKSPACE [NAME]", 1, 2, WORKSPACE(cli_workspace_checkpoint),
		.needs = NEEDS_SETTINGS, .help = "save the contents of a workspace",
		.about =
			"WORKSPACE is tasks/ID or projects/NAME, or just the name if it is "
			"unambiguous.  Every file is saved, tracked by git or not, with mode, "
			"owner, times, links and attributes; without NAME it is named after the "
			"time.  A further checkpoint takes space only for changes.  Containers that "
			"have it mounted are frozen while it is read; files that change in the "
			"meantime are counted.  With --auto (used by checkpoints: of a team file), "
			"nothing is saved if no name, content or mode differs from the last one, "
			"and the oldest automatic ones are deleted, never one made by hand.",
		.options = workspace_checkpoint_options, .schema = "berth.checkpoint/1"},
	{"checkpoints", "WORKSPACE", 1, 1, WORKSPACE(cli_workspace_checkpoints),
		.help = "print the checkpoints of a workspace, oldest first",
		.options = json_options, .schema = "berth.checkpoints/1"},
	{"diff", "A B [PATH...]", 2, 64, ARCHIVE(cli_workspace_diff),
		.help = "print what differs between two workspaces, checkpoints or archives",
		.about =
			"A and B are each WORKSPACE, as it is now, WORKSPACE@CHECKPOINT, or "
			"archives/WORKSPACE; with PATH, only that path and everything below it.  "
			"The output is a diff in git's format, which git apply and patch -p1 "
			"accept.  Likely secrets in it are masked: a patch of files with secrets "
			"can only be applied if it was made with --secrets.  What that format "
			"cannot express (directories, special files, owners, modes other than "
			"executable or not) has a line of its own, which both skip.  With --stat "
			"each change is such a line.  Times are not compared.  Files that are not "
			"text, or larger than 8 MiB, are only reported as different.  On a terminal "
			"control characters are replaced.",
		.options = workspace_diff_options, .schema = "berth.workspace_diff/1"},
	{"overlap", "WORKSPACE WORKSPACE...", 2, 32, ARCHIVE(cli_workspace_overlap),
		.help = "print entries that several forks changed since their common start",
		.about = "The workspaces are forks from one `workspace fork`, archived "
			 "(archives/WORKSPACE) or not, or the workspace that was forked.  Prints a "
			 "line for each entry that two or more of them changed, with the change of "
			 "each, and whether the results are equal.",
		.options = json_options, .schema = "berth.workspace_overlap/1"},
	{"apply", "FROM PATH...", 2, 256, WORKSPACE(cli_workspace_apply), .former = "take",
		.help = "apply files of an agent's workspace to a project",
		.about =
			"FROM is WORKSPACE or WORKSPACE@CHECKPOINT, PATH a file or a directory "
			"relative to its top, or . for all.  From a fork, only what changed since "
			"its start is applied.  A file that changed in the target, too, is a "
			"conflict, and nothing is applied then without --force.  All files are "
			"written or none.  Only regular files are copied, with their content and "
			"executable bit: links, devices, set-id bits, attributes, owners and "
			"anything called .git are left out and listed, as are files that were "
			"removed.  No link in the target is followed.  With --patch or --hunks, "
			"only the chosen hunks are applied: a hunk is a group of lines in which "
			"FROM differs from the current target; a new file is one hunk.  With "
			"--branch, the target is HEAD of its git repository, and the result is a "
			"commit on a new branch: its files, index and other branches stay as they "
			"are, and no git, hook or filter is run.  Before anything is applied, "
			"likely secrets are listed with file and line, and so are files that a tool "
			"runs (a Makefile, .envrc, tasks of an editor).  Files that would turn a "
			"directory into a bare git repository are left out.",
		.options = workspace_apply_options, .schema = "berth.workspace_take/1"},
	{"hand-over", "FROM TO PATH...", 3, 256, WORKSPACE(cli_workspace_hand_over),
		.needs = NEEDS_SETTINGS, .help = "copy files of a task to another task, read-only",
		.about =
			"FROM is TASK or TASK@CHECKPOINT, TO another task, PATH a file or a "
			"directory relative to FROM's top, or . for all.  They are copied to "
			"shared/inter_task/TO/FROM, which the agent of TO sees read-only at that "
			"path, even while it runs; files that FROM handed over before are replaced.  "
			"The same kinds of files are copied as with apply, all or none, of any "
			"size.  If likely secrets are found, they are listed and nothing is copied "
			"without --secrets; the same holds for files that were scanned only in part "
			"(their first GiB).",
		.options = workspace_hand_over_options, .schema = "berth.workspace_hand_over/1"},
	{"share", "[WORKSPACE PATH...]", 0, 256, WORKSPACE(cli_workspace_share),
		.help = "change the files that all tasks may read: templates, libraries, datasets, configs",
		.about =
			"Files of a workspace, as with apply, go to shared/KIND under their own path; or "
			"--remove KIND/PATH..., or --restore VERSION.  Each change creates a named "
			"version; versions are never removed, and equal files are stored once.  A task "
			"keeps the version that was current when it was created; its agent sees it "
			"read-only in shared/.",
		.options = workspace_share_options, .schema = "berth.workspace_share/1"},
	{"shared", "[VERSION]", 0, 1, WORKSPACE(cli_workspace_shared),
		.help = "print the versions of shared/, or the files of one",
		.options = workspace_shared_options, .schema = "berth.workspace_shared/1"},
	{"put-result", "TASK NAME [TEXT]", 2, 3, WORKSPACE(cli_workspace_put_result),
		.help = "save a result of a task: a text, or a path in it",
		.about =
			"It replaces an earlier result of that name.  Only the task itself may read "
			"it; with --shareable every task may.  Limits are 64 KiB per text, 256 "
			"results per task and 10,000 in all.  Results are in one SQLite file that "
			"no task can access, and remain when the task is removed.",
		.options = workspace_put_result_options, .schema = "berth.workspace_put_result/1"},
	{"results", "[TASK [NAME]]", 0, 2, WORKSPACE(cli_workspace_results),
		.help = "print results: all, those of a task, or the text of one",
		.options = workspace_results_options, .schema = "berth.workspace_results/1"},
	{"drop-result", "TASK NAME", 2, 2, WORKSPACE(cli_workspace_drop_result),
		.help = "remove a result of a task; this cannot be undone"},
	{"restore", "WORKSPACE CHECKPOINT", 2, 2, WORKSPACE(cli_workspace_restore),
		.needs = NEEDS_SETTINGS, .help = "return a workspace to a checkpoint",
		.about =
			"A checkpoint of the current state is created first, so a restore can be "
			"undone; all contents are verified before anything is changed.  The "
			"directory itself stays, so containers that have it mounted see the "
			"restored files.  They are frozen until it is done.  While commands run in "
			"them the restore is refused, unless --stop kills these.  Entries that you "
			"cannot read, now or at the time of the checkpoint, are listed and left "
			"unchanged.",
		.options = workspace_restore_options, .schema = "berth.restore/1"},
	{"limit", "WORKSPACE", 1, 1, WORKSPACE(cli_workspace_limit), .needs = NEEDS_SETTINGS,
		.help = "set the size limits of a workspace",
		.about =
			"While an agent uses it, berth counts its files whenever it changes: the size of "
			"each file (or its disk space, if larger) and the number of entries.  Above the "
			"limit its container is frozen until someone raises the limit, removes files, "
			"thaws it (workspace thaw) or takes it down.  With --on-breach refuse, running "
			"commands continue, and new commands and file writes by berth are refused until "
			"then.  Where root runs berth and the file system keeps project quotas (XFS or "
			"ext4, mounted with prjquota), the file system also enforces the limit from "
			"`berth up` on: writes beyond it fail.  The image of a task made with --loop "
			"grows with --bytes "
			"and never shrinks; how many files it can hold grows with it.  Options that are "
			"not given leave a limit unchanged; limits that were never set come from the "
			"settings (workspaces.limit_bytes and others).",
		.options = workspace_limit_options},
	{"keep", "", 0, 0, WORKSPACE(cli_workspace_keep), .needs = NEEDS_SETTINGS,
		.help = "watch the limits of workspaces in use",
		.about =
			"`berth up` starts it in the background, and it ends with the last `berth down`."},
	{"thaw", "WORKSPACE", 1, 1, WORKSPACE(cli_workspace_thaw), .needs = NEEDS_SETTINGS,
		.help = "thaw the containers that berth froze for a workspace",
		.about =
			"berth freezes them at a limit; they also stay frozen if a berth process "
			"was killed while it read the workspace.  Containers paused by someone else "
			"stay paused."},
	{"drop", "WORKSPACE CHECKPOINT", 2, 2, WORKSPACE(cli_workspace_drop),
		.help = "remove a checkpoint; this cannot be undone"},
	{"remove", "WORKSPACE...", 1, 1000, ARCHIVE(cli_workspace_remove),
		.help = "remove workspaces, each after a checkpoint",
		.about =
			"The checkpoint stays, and the commands that bring the workspace back are "
			"printed.  A workspace that a running container has mounted is not removed.  "
			"`berth workspace clean` removes without a checkpoint."},
	{"archive", "WORKSPACE", 1, 1, ARCHIVE(cli_workspace_archive), .needs = NEEDS_SETTINGS,
		.help = "compress a workspace into an archive and remove it",
		.about =
			"The archive is a tar.zst that any tar reads, followed by the SHA-256 of "
			"every file, in archives/ next to the workspaces.  It is flushed to disk, "
			"read back and verified before the workspace is removed.  A workspace that "
			"a running container has mounted is not archived, nor is one that changes "
			"in the meantime.  Likely secrets in it are listed with file and line.  Its "
			"checkpoints stay.",
		.options = workspace_archive_options, .schema = "berth.workspace_archive/1"},
	{"unarchive", "ARCHIVE", 1, 1, ARCHIVE(cli_workspace_unarchive),
		.help = "turn an archive back into a workspace and remove the archive",
		.about =
			"Every file is verified; a damaged archive is left as it is and nothing is unpacked.  "
			"Set-id bits, capabilities and access lists, devices and foreign owners are dropped "
			"and listed.  The task is open again.",
		.options = workspace_unarchive_options, .schema = "berth.workspace_unarchive/1"},
	{"archives", "", 0, 0, ARCHIVE(cli_workspace_archives), .help = "print the archives",
		.options = json_options, .schema = "berth.workspace_archives/1"},
	{"clean", "[WORKSPACE...]", 0, 1000, ARCHIVE(cli_workspace_clean), .needs = NEEDS_SETTINGS,
		.help = "remove workspaces and archives, or archive and remove those that are due",
		.about =
			"WORKSPACE or archives/WORKSPACE is removed for good; checkpoints stay.  With "
			"--due the settings decide: tasks that are done are archived, tasks that failed "
			"are removed after 7 days, projects in which nothing "
			"changed for 30 days are archived: the settings workspaces.done_days, failed_days and idle_days.  "
			"berth-workspaces.timer does this daily once it is enabled: `systemctl --user enable --now "
			"berth-workspaces.timer`.",
		.options = workspace_clean_options, .schema = "berth.workspace_clean/1"},
	{"verify", "[WORKSPACE [CHECKPOINT]]", 0, 2, ARCHIVE(cli_workspace_verify),
		.help = "check all contents of checkpoints, archives, failed tasks and versions of shared/",
		.about =
			"Without WORKSPACE, checks all of them, including those of removed workspaces.  "
			"Exits with 1 if something differs from what was stored."},
	{0},
};

#endif
