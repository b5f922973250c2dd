/* shapes.c - what a snapshot, an event and the rest of a session consist of. */
#include "tape/shape.h"

#include <berth/calls.h>
#include <berth/clean.h>
#include <berth/holdings.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/overview.h>
#include <berth/pool.h>
#include <berth/snapshot.h>
#include <berth/tape.h>

/* In each table OF is the struct that it describes. */
#define SIZE(m) sizeof(((OF *)0)->m)
#define AT(m) #m, .offset = offsetof(OF, m), .size = SIZE(m)
#define IN(n) .count = offsetof(OF, n), .count_size = SIZE(n)
#define BOOL(m)                           \
	{                                 \
		AT(m), .type = FIELD_BOOL \
	}
#define INT(m)                           \
	{                                \
		AT(m), .type = FIELD_INT \
	}
#define UINT(m)                           \
	{                                 \
		AT(m), .type = FIELD_UINT \
	}
#define ENUM(m, last)                                     \
	{                                                 \
		AT(m), .type = FIELD_ENUM, .most = (last) \
	}
#define WORD(m, last, name)                                               \
	{                                                                 \
		AT(m), .type = FIELD_ENUM, .most = (last), .word = (name) \
	}
#define REAL(m)                           \
	{                                 \
		AT(m), .type = FIELD_REAL \
	}
#define TEXT(m)                           \
	{                                 \
		AT(m), .type = FIELD_TEXT \
	}
#define MAYBE(m)                           \
	{                                  \
		AT(m), .type = FIELD_MAYBE \
	}
#define CHARS(m)                           \
	{                                  \
		AT(m), .type = FIELD_CHARS \
	}
#define BYTES(m, n)                               \
	{                                         \
		AT(m), .type = FIELD_BYTES, IN(n) \
	}
#define TEXTS(m, n, max)                                         \
	{                                                        \
		AT(m), .type = FIELD_TEXTS, IN(n), .most = (max) \
	}
#define FLOATS(m, n)                               \
	{                                          \
		AT(m), .type = FIELD_FLOATS, IN(n) \
	}
#define SHORTS(m, n)                               \
	{                                          \
		AT(m), .type = FIELD_SHORTS, IN(n) \
	}
#define PART(m, s)                                    \
	{                                             \
		AT(m), .type = FIELD_PART, .of = &(s) \
	}
#define LIST(m, n, s, max)                                                  \
	{                                                                   \
		AT(m), .type = FIELD_LIST, IN(n), .of = &(s), .most = (max) \
	}
#define OWN(m, s)                                    \
	{                                            \
		AT(m), .type = FIELD_OWN, .of = &(s) \
	}
#define ROW(m)                           \
	{                                \
		AT(m), .type = FIELD_ROW \
	}
#define NONE(m)                           \
	{                                 \
		AT(m), .type = FIELD_NONE \
	}
#define SHAPE(fields)                             \
	{                                         \
		sizeof(OF), COUNT(fields), fields \
	}

/* ---- a snapshot */

#define OF struct engine_state
static const struct field engine_fields[] = {ENUM(phase, ENGINE_LOST), INT(since_ns),
	INT(retry_at_ns), TEXT(endpoint), TEXT(source), TEXT(id), TEXT(name), TEXT(version),
	TEXT(api), TEXT(product), TEXT(os), TEXT(kernel), TEXT(arch), TEXT(root_dir), TEXT(storage),
	TEXT(cgroup), INT(cpus), UINT(memory_bytes), TEXT(runtimes), BOOL(apparmor), UINT(lacks),
	BOOL(local), BOOL(read_only), MAYBE(problem), MAYBE(unrecorded)};
static const struct shape shape_engine = SHAPE(engine_fields);
#undef OF

#define OF struct engine_host
static const struct field engine_host_fields[] = {TEXT(name), PART(engine, shape_engine),
	BOOL(listed), BOOL(ended), INT(heard_ns), INT(latency_us), UINT(containers), UINT(running),
	REAL(cpu_percent), UINT(memory_bytes)};
static const struct shape shape_engine_host = SHAPE(engine_host_fields);
#undef OF

#define OF struct series
static const struct field series_fields[] = {FLOATS(v, len)};
static const struct shape shape_series = SHAPE(series_fields);
#undef OF

#define OF struct host_stats
static const struct field host_fields[] = {REAL(cpu_percent), INT(cpus), UINT(memory_total_bytes),
	UINT(memory_available_bytes), UINT(disk_total_bytes), UINT(disk_used_bytes),
	UINT(disk_free_bytes), REAL(load1), REAL(load5), REAL(load15), INT(uptime_s),
	PART(cpu, shape_series), PART(memory, shape_series)};
static const struct shape shape_host = SHAPE(host_fields);
#undef OF

#define OF struct self_stats
static const struct field self_fields[] = {
	REAL(cpu_percent), UINT(memory_bytes), INT(fds), REAL(sweep_us), REAL(hz)};
static const struct shape shape_self = SHAPE(self_fields);
#undef OF

#define OF struct container_stats
static const struct field stats_fields[] = {ENUM(source, STATS_ENGINE), INT(at_ns), BOOL(rates),
	REAL(cpu_percent), UINT(memory_bytes), UINT(memory_limit_bytes), BOOL(memory_limited),
	BOOL(net), REAL(net_rx_bytes_per_s), REAL(net_tx_bytes_per_s), REAL(block_read_bytes_per_s),
	REAL(block_write_bytes_per_s), UINT(net_rx_bytes), UINT(net_tx_bytes),
	UINT(block_read_bytes), UINT(block_write_bytes), UINT(pids), UINT(pids_limit),
	REAL(cpu_limit_percent), BOOL(throttles), REAL(throttled_percent), BOOL(pressed),
	REAL(pressure_cpu), REAL(pressure_memory), REAL(pressure_io), SHORTS(spark, spark_len)};
static const struct shape shape_stats = SHAPE(stats_fields);
#undef OF

#define OF struct container
static const struct field container_fields[] = {TEXT(engine), TEXT(id), TEXT(name), TEXT(host),
	BOOL(lost), TEXT(image), TEXT(image_id), TEXT(binds), TEXT(command), TEXT(ports),
	TEXT(networks), TEXT(agent), TEXT(session), TEXT(role), NONE(proof), TEXT(compose_project),
	TEXT(compose_service), WORD(state, CONTAINER_UNKNOWN, container_state_name),
	ENUM(health, HEALTH_UNHEALTHY), ENUM(own_health, HEALTH_UNHEALTHY),
	ENUM(mounts, MOUNTS_UNKNOWN), INT(exit_code), BOOL(oom_killed), INT(created_wall_ms),
	INT(started_wall_ms), INT(finished_wall_ms), INT(restarts), INT(pid), INT(seen_ns),
	ENUM(pending, ACT_COUNT - 1), MAYBE(problem), PART(stats, shape_stats)};
static const struct shape shape_container = SHAPE(container_fields);
#undef OF

#define OF struct agent_check
static const struct field check_fields[] = {TEXT(what), TEXT(asked), TEXT(actual), BOOL(same)};
static const struct shape shape_check = SHAPE(check_fields);
#undef OF

#define OF struct agent_command
static const struct field agent_command_fields[] = {
	UINT(seq), TEXT(text), INT(started_wall_ms), INT(duration_ms), TEXT(ended), BOOL(good)};
static const struct shape shape_agent_command = SHAPE(agent_command_fields);
#undef OF

#define OF struct agent_egress
static const struct field egress_fields[] = {ENUM(state, AGENT_EGRESS_LOST), UINT(rules),
	UINT(open), UINT(held), UINT(ask_s), UINT(connections), UINT(refused), UINT(up_bytes),
	UINT(down_bytes)};
static const struct shape shape_egress = SHAPE(egress_fields);
#undef OF

#define OF struct agent_ask
static const struct field agent_ask_fields[] = {TEXT(agent), TEXT(container), TEXT(host),
	UINT(port), INT(first_wall_ms), INT(last_wall_ms), UINT(count), UINT(held), TEXT(process),
	TEXT(reason)};
static const struct shape shape_ask = SHAPE(agent_ask_fields);
#undef OF

#define OF struct call_totals
static const struct field call_totals_fields[] = {UINT(servers), UINT(calls), UINT(failed),
	UINT(in_bytes), UINT(out_bytes), UINT(running), UINT(minute)};
static const struct shape shape_call_totals = SHAPE(call_totals_fields);
#undef OF

#define OF struct calls_now
static const struct field calls_now_fields[] = {
	PART(totals, shape_call_totals), CHARS(tool), INT(started_wall_ms)};
static const struct shape shape_calls_now = SHAPE(calls_now_fields);
#undef OF

#define OF struct agent
static const struct field agent_fields[] = {TEXT(id), TEXT(role), TEXT(name), TEXT(session),
	TEXT(file), TEXT(base), TEXT(image), TEXT(workspace),
	WORD(state, AGENT_STRANGER, agent_state_name), BOOL(defined), BOOL(lane), BOOL(no_lane),
	BOOL(lane_lost), ENUM(mounts, MOUNTS_UNKNOWN), MAYBE(mounts_problem),
	PART(egress, shape_egress), BOOL(secrets_gone), UINT(routes), UINT(tokens),
	UINT(nano_dollars), BOOL(budget_spent), ROW(container), ENUM(pending, AGENT_ACT_COUNT - 1),
	MAYBE(problem), MAYBE(held), INT(asleep_wall_ms), UINT(approvals), BOOL(restarted),
	ENUM(pace, PACE_BUSY), INT(usual_ms), INT(need_wall_ms), UINT(nrunning),
	PART(calls, shape_calls_now), LIST(commands, ncommands, shape_agent_command, 64),
	OWN(last, shape_agent_command), INT(checked_wall_ms),
	LIST(checks, nchecks, shape_check, 1024), UINT(ndrift), TEXTS(loosened, nloosened, 1024)};
static const struct shape shape_agent = SHAPE(agent_fields);
#undef OF

#define OF struct pool_info
static const struct field pool_fields[] = {CHARS(tool), INT(pid), UINT(size), UINT(warm),
	UINT(hits), UINT(misses), UINT(made), UINT(failed), INT(oldest_ms), INT(idle_ms),
	CHARS(problem)};
static const struct shape shape_pool = SHAPE(pool_fields);
#undef OF

#define OF struct job_id
static const struct field job_id_fields[] = {INT(pid), UINT(started), UINT(serial)};
static const struct shape shape_job_id = SHAPE(job_id_fields);
#undef OF

#define OF struct job_info
static const struct field job_fields[] = {PART(id, shape_job_id), ENUM(state, JOB_ORPHANED),
	BOOL(own), BOOL(ours), BOOL(cancellable), BOOL(cancelling), BOOL(asks), CHARS(name),
	CHARS(owner), CHARS(current), CHARS(result), CHARS(unit), UINT(items_done),
	UINT(items_total), UINT(bytes_done), UINT(bytes_total), BOOL(counting), UINT(failed),
	CHARS(error[0]), CHARS(error[1]), INT(started_wall_ms), INT(ended_wall_ms), INT(elapsed_ms),
	REAL(rate), INT(eta_ms), REAL(fraction)};
static const struct shape shape_job = SHAPE(job_fields);
#undef OF

#define OF struct key_value
static const struct field pair_fields[] = {TEXT(key), TEXT(value), BOOL(secret)};
static const struct shape shape_pair = SHAPE(pair_fields);
#undef OF

#define OF struct mount_info
static const struct field mount_fields[] = {
	TEXT(type), TEXT(source), TEXT(target), BOOL(read_only)};
static const struct shape shape_mount = SHAPE(mount_fields);
#undef OF

#define OF struct process_info
static const struct field process_fields[] = {INT(pid), TEXT(user), TEXT(state), TEXT(command),
	REAL(cpu_percent), UINT(memory_bytes), INT(cpu_ms)};
static const struct shape shape_process = SHAPE(process_fields);
#undef OF

#define OF struct posture_item
static const struct field posture_fields[] = {ENUM(verdict, POSTURE_UNKNOWN), TEXT(what)};
static const struct shape shape_posture = SHAPE(posture_fields);
#undef OF

#define PAIRS_MOST 20000
#define OF struct detail
static const struct field detail_fields[] = {TEXT(engine), TEXT(id), BOOL(inspected),
	MAYBE(problem), REAL(interval_s), PART(cpu_percent, shape_series),
	PART(memory_bytes, shape_series), PART(net_rx, shape_series), PART(net_tx, shape_series),
	PART(block_read, shape_series), PART(block_write, shape_series),
	LIST(config, nconfig, shape_pair, PAIRS_MOST), LIST(env, nenv, shape_pair, PAIRS_MOST),
	LIST(labels, nlabels, shape_pair, PAIRS_MOST),
	LIST(mounts, nmounts, shape_mount, PAIRS_MOST),
	LIST(limits, nlimits, shape_pair, PAIRS_MOST),
	LIST(posture, nposture, shape_posture, PAIRS_MOST),
	LIST(processes, nprocesses, shape_process, PAIRS_MOST)};
static const struct shape shape_detail = SHAPE(detail_fields);
#undef OF

#define OF struct snapshot
static const struct field snapshot_fields[] = {UINT(seq), INT(at_ns), INT(at_wall_ms),
	PART(engine, shape_engine), LIST(hosts, nhosts, shape_engine_host, HOSTS_MAX),
	PART(host, shape_host), PART(self, shape_self), BOOL(listed), BOOL(stats_done),
	LIST(containers, ncontainers, shape_container, 20000),
	LIST(agents, nagents, shape_agent, 10000), LIST(asks, nasks, shape_ask, 100000),
	LIST(pools, npools, shape_pool, 256), LIST(jobs, njobs, shape_job, 4096),
	OWN(detail, shape_detail), INT(orphans), INT(images), INT(networks), INT(volumes)};
const struct shape shape_snapshot = SHAPE(snapshot_fields);
#undef OF

/* ---- an event */

#define OF struct err
static const struct field err_fields[] = {ENUM(kind, ERR_PROTOCOL), INT(sys), CHARS(msg)};
static const struct shape shape_err = SHAPE(err_fields);
#undef OF

#define OF struct target
static const struct field target_fields[] = {TEXT(engine), TEXT(id), TEXT(name)};
static const struct shape shape_target = SHAPE(target_fields);
#undef OF

#define OF struct engine_event
static const struct field engine_event_fields[] = {
	INT(wall_ns), TEXT(type), TEXT(action), TEXT(id), TEXT(name), TEXT(more)};
static const struct shape shape_engine_event = SHAPE(engine_event_fields);
#undef OF

#define OF struct journal_command
static const struct field journal_command_fields[] = {UINT(seq), BOOL(running), BOOL(lost),
	BOOL(terminal), ENUM(ended, ENDED_FAILED), ENUM(path, RUN_ENGINE), INT(exit_code), INT(pid),
	UINT(uid), CHARS(program), CHARS(ended_note), INT(started_wall_ms), REAL(duration_ms),
	UINT(out_bytes), UINT(error_bytes), UINT(kept_bytes), CHARS(argv)};
static const struct shape shape_journal_command = SHAPE(journal_command_fields);
#undef OF

#define OF struct journal_piece
static const struct field piece_fields[] = {INT(stream), INT(at_ms), BYTES(bytes, n)};
static const struct shape shape_piece = SHAPE(piece_fields);
#undef OF

#define OF struct log_line
static const struct field line_fields[] = {
	UINT(source), UINT(stream), BOOL(clipped), INT(wall_ns), BYTES(text, len)};
static const struct shape shape_line = SHAPE(line_fields);
#undef OF

#define OF struct clean_item
static const struct field clean_item_fields[] = {ENUM(type, CLEAN_TYPES - 1),
	ENUM(reason, CLEAN_REASONS - 1), TEXT(id), TEXT(name), TEXT(owner), TEXT(why), MAYBE(keep),
	INT(bytes), INT(made_ms), BOOL(foreign), BOOL(running), BOOL(marked)};
static const struct shape shape_clean_item = SHAPE(clean_item_fields);
#undef OF

#define OF struct clean_plan
static const struct field clean_plan_fields[] = {TEXT(name), TEXT(engine), TEXT(engine_name),
	TEXT(endpoint), INT(made_ms), BOOL(foreign),
	LIST(item, n, shape_clean_item, CLEAN_ITEMS_MAX)};
static const struct shape shape_clean_plan = SHAPE(clean_plan_fields);
#undef OF

#define OF struct holding_user
static const struct field holding_user_fields[] = {
	TEXT(id), TEXT(name), TEXT(address), BOOL(running)};
static const struct shape shape_holding_user = SHAPE(holding_user_fields);
#undef OF

#define OF struct holding_layer
static const struct field layer_fields[] = {TEXT(made_by), INT(bytes), INT(made_ms)};
static const struct shape shape_layer = SHAPE(layer_fields);
#undef OF

#define OF struct holding
static const struct field holding_fields[] = {TEXT(id), TEXT(name), TEXT(driver), TEXT(owner),
	TEXT(place), INT(made_ms), INT(bytes), INT(shared), BOOL(ours), BOOL(internal),
	TEXTS(names, nnames, HOLDING_WORDS_MAX), TEXTS(subnets, nsubnets, HOLDING_WORDS_MAX),
	LIST(users, nusers, shape_holding_user, HOLDING_WORDS_MAX),
	LIST(labels, nlabels, shape_pair, HOLDING_WORDS_MAX),
	LIST(layers, nlayers, shape_layer, HOLDING_WORDS_MAX)};
static const struct shape shape_holding = SHAPE(holding_fields);
#undef OF

#define OF struct holdings
static const struct field holdings_fields[] = {ENUM(kind, HOLDING_KINDS - 1), BOOL(measured),
	BOOL(one), LIST(item, n, shape_holding, HOLDINGS_MAX)};
static const struct shape shape_holdings = SHAPE(holdings_fields);
#undef OF

#define OF struct clean_outcome
static const struct field outcome_fields[] = {ENUM(state, CLEAN_FAILED), CHARS(said)};
static const struct shape shape_outcome = SHAPE(outcome_fields);
#undef OF

#define OF struct workspace_holder
static const struct field holder_fields[] = {
	CHARS(container), CHARS(agent), CHARS(engine), INT(every_s), INT(keep)};
static const struct shape shape_holder = SHAPE(holder_fields);
#undef OF

#define OF struct workspace_info
static const struct field workspace_fields[] = {ENUM(kind, WORKSPACE_KINDS - 1), CHARS(name),
	UINT(uid), UINT(gid), UINT(mode), UINT(inode), INT(changed_ns),
	ENUM(state, WORKSPACE_STATES - 1), INT(ended_ms), BOOL(unmounted)};
static const struct shape shape_workspace = SHAPE(workspace_fields);
#undef OF

#define OF struct workspace_usage
static const struct field usage_fields[] = {PART(info, shape_workspace), UINT(files), UINT(dirs),
	UINT(others), UINT(bytes), UINT(disk), UINT(unread), INT(used_ns), INT(counted_ns)};
static const struct shape shape_usage = SHAPE(usage_fields);
#undef OF

#define OF struct repo_state
static const struct field repo_fields[] = {UINT(known), ENUM(why, REPO_WHYS - 1), CHARS(branch),
	UINT(staged), UINT(changed), UINT(untracked), UINT(conflicts), UINT(unpushed),
	UINT(remotes)};
static const struct shape shape_repo = SHAPE(repo_fields);
#undef OF

#define OF struct workspace_git
static const struct field git_fields[] = {PART(state, shape_repo), INT(looked_ns)};
static const struct shape shape_git = SHAPE(git_fields);
#undef OF

#define OF struct workspace_limits
static const struct field limits_fields[] = {UINT(bytes), UINT(files),
	ENUM(breach, WORKSPACE_BREACHES - 1), UINT(let_bytes), UINT(let_files)};
static const struct shape shape_limits = SHAPE(limits_fields);
#undef OF

#define OF struct overview_row
static const struct field overview_row_fields[] = {PART(held, shape_holder), UINT(nheld),
	PART(usage, shape_usage), BOOL(limited), PART(limits, shape_limits), UINT(checkpoints),
	CHARS(newest), INT(newest_ns), TEXT(branch), PART(git, shape_git)};
static const struct shape shape_overview_row = SHAPE(overview_row_fields);
#undef OF

#define OF struct overview_shared
static const struct field shared_fields[] = {TEXT(name), UINT(entries), INT(changed_ns)};
static const struct shape shape_shared = SHAPE(shared_fields);
#undef OF

#define OF struct overview_archive
static const struct field archive_fields[] = {
	ENUM(kind, WORKSPACE_KINDS - 1), CHARS(name), UINT(packed), INT(made_ns)};
static const struct shape shape_archive = SHAPE(archive_fields);
#undef OF

#define OF struct overview
static const struct field overview_fields[] = {UINT(stamp), TEXT(dir),
	LIST(rows, n, shape_overview_row, 20000), LIST(shared, nshared, shape_shared, 20000),
	LIST(archives, narchives, shape_archive, 20000), INT(keeper)};
static const struct shape shape_overview = SHAPE(overview_fields);
#undef OF

#define OF struct checkpoint_info
static const struct field point_fields[] = {CHARS(name), UINT(serial), INT(made_ns), UINT(files),
	UINT(dirs), UINT(others), UINT(bytes), UINT(stored), UINT(moving), UINT(gone), UINT(mounts),
	UINT(unread), BOOL(synced), BOOL(damaged)};
static const struct shape shape_point = SHAPE(point_fields);
#undef OF

#define OF struct overview_one
static const struct field overview_one_fields[] = {PART(row, shape_overview_row), UINT(stamp),
	TEXT(path), TEXT(start), TEXT(pending), LIST(points, npoints, shape_point, 20000),
	INT(keeper), ENUM(kept, WORKSPACE_LOOP_IMAGE)};
static const struct shape shape_overview_one = SHAPE(overview_one_fields);
#undef OF

#define OF struct call_info
static const struct field call_fields[] = {INT(pid), UINT(serial), ENUM(state, CALL_LOST),
	CHARS(agent), CHARS(tool), INT(started_wall_ms), INT(duration_us), UINT(in_bytes),
	UINT(out_bytes), CHARS(arguments), CHARS(result)};
static const struct shape shape_call = SHAPE(call_fields);
#undef OF

#define OF struct net_line
static const struct field net_line_fields[] = {TEXT(what), TEXT(target), TEXT(origin),
	INT(at_wall_ms), UINT(up_bytes), UINT(down_bytes), BOOL(good), BOOL(open)};
static const struct shape shape_net_line = SHAPE(net_line_fields);
#undef OF

#define OF struct event
static const struct field event_fields[] = {WORD(kind, EV_CLEAN_END, event_kind_name), UINT(id),
	PART(err, shape_err), WORD(act, ACT_COUNT - 1, act_name),
	WORD(agent_act, AGENT_ACT_COUNT - 1, agent_act_name), UINT(done), UINT(failed),
	PART(target, shape_target), MAYBE(notice), BOOL(alert_bell), INT(alert_notify),
	PART(engine_event, shape_engine_event),
	LIST(commands, ncommands, shape_journal_command, JOURNAL_COMMANDS_MAX),
	LIST(pieces, npieces, shape_piece, 100000), UINT(missed),
	LIST(lines, nlines, shape_line, 100000), UINT(dropped), INT(exit_code),
	BYTES(bytes, nbytes), OWN(plan, shape_clean_plan), MAYBE(plan_name),
	OWN(holdings, shape_holdings), UINT(item), OWN(outcome, shape_outcome),
	LIST(rules, nrules, shape_net_line, 1024), LIST(visits, nvisits, shape_net_line, 1024),
	UINT(freed_bytes), LIST(calls, ncalls, shape_call, 100000),
	PART(call_totals, shape_call_totals), OWN(overview, shape_overview),
	OWN(workspace, shape_overview_one), TEXTS(names, nnames, 4096), NONE(work), NONE(mem)};
const struct shape shape_event = SHAPE(event_fields);
#undef OF

/* ---- the rest */

#define OF struct tape_input
static const struct field input_fields[] = {
	CHARS(what), CHARS(key), INT(x), INT(y), INT(lines), BOOL(twice), BYTES(text, n)};
const struct shape shape_input = SHAPE(input_fields);
#undef OF

#define OF struct tape_head
static const struct field head_fields[] = {TEXT(berth), INT(columns), INT(rows), BOOL(ascii),
	BOOL(read_only), INT(utc_offset_s), TEXT(settings), TEXT(notice)};
const struct shape shape_head = SHAPE(head_fields);

const struct shape *const all_shapes[] = {&shape_engine, &shape_series, &shape_host, &shape_self,
	&shape_stats, &shape_container, &shape_check, &shape_agent_command, &shape_egress,
	&shape_call_totals, &shape_calls_now, &shape_ask, &shape_agent, &shape_pool, &shape_job_id,
	&shape_job, &shape_pair, &shape_mount, &shape_process, &shape_posture, &shape_detail,
	&shape_snapshot, &shape_err, &shape_target, &shape_engine_event, &shape_journal_command,
	&shape_piece, &shape_line, &shape_clean_item, &shape_clean_plan, &shape_holding_user,
	&shape_layer, &shape_holding, &shape_holdings, &shape_outcome, &shape_holder,
	&shape_workspace, &shape_usage, &shape_repo, &shape_git, &shape_limits, &shape_overview_row,
	&shape_shared, &shape_archive, &shape_overview, &shape_point, &shape_overview_one,
	&shape_call, &shape_net_line, &shape_event, &shape_input, &shape_head, NULL};
