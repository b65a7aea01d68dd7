/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says: its table, its JSON, its figures, its verdict. */
#include <stdlib.h>

#include "comma_locale.h"
#include "run_series.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* ---- once a second -------------------------------------------------------------------------- */

static void a_series_is_bounded_and_joins_rows(void)
{
    static run_series series;

    for (int64_t i = 1; i <= 100001; i++) {
        const run_series_row row = {.batches = (uint64_t)(10 * i)};

        T_TRUE(run_series_is_due(&series, i * 1000000000));
        run_series_add(&series, row, i * 1000000000);
    }
    T_TRUE(series.count > RUN_SERIES_ROWS / 2 && series.count <= RUN_SERIES_ROWS);
    T_EQ(series.interval, 256000000000);
    for (uint32_t i = 1; i < series.count; i++) {
        T_EQ(series.rows[i].batches, 10 + (uint64_t)series.rows[i].ns / 100000000);
        T_EQ(series.rows[i].ns - series.rows[i - 1].ns, series.interval);
    }
}

/* Of a loop that publishes the times of its steps when they end. */
static void waits_that_were_none_are_corrected(void)
{
    static const double waits[] = {0, 0.5, 1.5, 2.5, 1, 1.2};
    static const double corrected[] = {0, 0.5, 1, 1, 1, 1.2};
    static run_series series;

    for (uint32_t i = 0; i < COUNT(waits); i++) {
        run_series_add(&series, (run_series_row){.wait_s = waits[i]},
                       (int64_t)(i + 1) * 1000000000);
    }
    T_EQ(series.count, COUNT(waits));
    for (uint32_t i = 0; i < COUNT(waits); i++) {
        T_NEAR(series.rows[i].wait_s, corrected[i], 0);
    }
    T_NEAR(run_series_between(&series.before, &series.last).data_wait_share, 0.2, 1e-9);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void the_text_has_the_table_and_names_a_bottleneck(void)
{
    static const char *const parts[] = {
        "100 steps, 200 samples in ",
        "mode loop: 1 launches, 1 syncs, 0 yields\n",
        "stage                       sustains/s busy% input% room%      p50      p99 by\n",
        "\ntime                           seconds     %\n",
        "\nwall                        ",
        "\nread                        ",
        "\nconvert                     ",
        "\nbatch                       ",
        "\nget_next                    ",
        "\nstep                        ",
        "\nqueue slots: 16 slots, ",
        "\nmemory: 0.0 MB staging, 0.0 MB slots, 0.0 MB source, ",
        " MB workers;",
    };
    char *text = NULL;
    kit k;

    kit_init(&k);
    k.config.workers = 2;
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &text));
    T_EQ(strncmp(text, "bottleneck: ", 12), 0);
    for (size_t i = 0; i < COUNT(parts); i++) {
        T_TRUE(strstr(text, parts[i]) != NULL);
    }
    CU_ASSERT_PTR_NULL(strstr(text, "ended with"));
    CU_ASSERT_PTR_NULL(strstr(text, "\npu")); /* push or pull */
    CU_ASSERT_PTR_NULL(strstr(text, "\ndevice "));
    sluice_string_free(text);

    k.device = "host:0,copy=1";
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text, "\ncopy                        ");
    T_CONTAINS(text, "\npush: 100 batches in 100 copies, ");
    T_CONTAINS(text, " MB slots on the device, ");
    T_TRUE(strstr(text, "\nqueue staging: 16 slots, ") != NULL);
    sluice_string_free(text);
    kit_fini(&k);
}

static void the_text_says_how_a_run_ended_and_what_was_bad(void)
{
    kit_source source;
    char *text = NULL;
    kit k;

    kit_source_init(&source, 20);
    source.fail_at = 9;
    kit_init(&k);
    k.dataset = kit_source_dataset(&source, 2);
    T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
    T_OK(sluice_report_text(k.report, &text));
    T_TRUE(
        strstr(text, "\nended with corrupt data: read: sample 9, kit/9: told to fail; on_error ") !=
        NULL);
    sluice_string_free(text);
    k.config.on_error = SLUICE_ON_ERROR_REPLACE;
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &text));
    T_TRUE(strstr(text, "\nbad samples: 1 replaced, 0 zeroed; the first:\n"
                        "  read: kit/9: told to fail\n") != NULL);
    sluice_string_free(text);
    k.step_at = 3;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    T_OK(sluice_report_text(k.report, &text));
    T_TRUE(strstr(text, "\nended with stopped on request\n") != NULL);
    sluice_string_free(text);
    k.config.sink_size = -2; /* a run that never began */
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_OK(sluice_report_text(k.report, &text));
    T_STR(text, "ended with invalid argument: sink_size is -2; it must be positive, or 0 or -1 for "
                "a pass\n");
    sluice_string_free(text);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

/* ---- for machines ---------------------------------------------------------------------------- */

/* Every key of a run's JSON with its type. */
static const char json_keys[] =
    "import json, sys\n"
    "run = json.load(open(sys.argv[1], encoding='utf-8'))\n"
    "def check(thing, types, where):\n"
    "    for key, kind in types.items():\n"
    "        assert key in thing, where + '.' + key + ' is missing'\n"
    "        good = isinstance(thing[key], kind) and (kind is bool or thing[key] is not True)\n"
    "        assert good, where + '.' + key + ' is ' + repr(thing[key])\n"
    "    assert set(thing) <= set(types), where + ' has ' + str(set(thing) - set(types))\n"
    "number, text, none = (int, float), str, type(None)\n"
    "check(run, dict(schema=int, status=text, error=(text, none), running=bool, samples=int, "
    "clock_jumped=bool, batches=int,\n"
    "steps=int, epochs=int, seconds=number, samples_per_s=number,\n"
    "cpu_s_per_1000_samples=number, bytes_read=int, samples_read_ahead=int,\n"
    "bytes_read_ahead=int, samples_by_index=int, indexes_made=int, indexes_refused=int,\n"
    "bytes_h2d=int, h2d_gb_per_s=number,\n"
    "mode=(text, none), mode_reason=text, launches=int, syncs=int, yields=int, nan_steps=int,\n"
    "first_nan_step=(int, none), regrouped_batch_size=int, regrouped_world=int,\n"
    "first_step=int, checkpoints=int, validations=int, validation_seconds=number, "
    "validation_bad_samples=int, data_wait_share=number,\n"
    "  replayed_samples=int, replay_seconds=number,\n"
    "digest=(text, none), errors=dict, memory=dict, images=dict, cache=(dict, none),\n"
    "device_maps=(dict, none), time=dict,\n"
    "stages=list, queues=list,\n"
    "batches_produced=int, batches_consumed=int, transport=(text, none), h2d_copies=int,\n"
    "publishes=int, bottleneck=dict, advice=list, placement=list, step=(dict, none),\n"
    "threads=list, series=(list, none), passes=(list, none), slowest=(list, none),\n"
    "series_interval_s=(*number, none),\n"
    "machine=(dict, none),\n"
    "process=dict, ranks=(dict, none), environment=dict), 'run')\n"
    "late = (int, float) if run['mode'] else none\n"
    "check(run['time'], dict(wall_s=number, open_s=late, data_wait_s=number, step_s=number,\n"
    "device_maps_s=number, launch_s=late, hooks_s=late, checkpoint_s=late, validation_s=late,\n"
    "agree_s=late, other_s=late), 'time')\n"
    "check(run['errors'], dict(failed=int, replaced=int, zeroed=int, first=list), 'errors')\n"
    "for e in run['errors']['first']:\n"
    "    check(e, dict(sample=int, name=text, stage=text, error=text), 'first')\n"
    "check(run['memory'], dict(staging_bytes=int, slot_bytes=int, device_map_bytes=int,\n"
    "cache_bytes=int, source_bytes=int, stream_bytes=int, row_bytes=int, worker_bytes=int,\n"
    "host_bytes=int, peak_rss_bytes=int, other_bytes=int), 'memory')\n"
    "check(run['images'], dict(exif_orientation=int, exif_ignored=int, labels_stored=int, "
    "transparent=int, cmyk=int, further=int, boxes_below=int, without_boxes=int, "
    "boxes_left_out=int), 'images')\n"
    "if run['cache'] is not None:\n"
    "    check(run['cache'], dict(hits=int, misses=int, hit_share=number, samples=int,\n"
    "    bytes=int, limit_bytes=int, ranks=int, full=bool), 'cache')\n"
    "for s in run['stages']:\n"
    "    check(s, dict(name=text, samples=int, bytes=int, samples_per_s=number,\n"
    "sustained_samples_per_s=number,\n"
    "busy_share=number, wait_input_share=number, wait_room_share=number, p50_us=number,\n"
    "p99_us=number, workers=int, max_us=number, measured=int,\n"
    "cpu_us_per_sample=(int, float, none), cpu_share=(int, float, none),\n"
    "runqueue_share=(int, float, none), blocked_share=(int, float, none),\n"
    "lock_wait_share=number, operations=list, histogram=dict), 'stage')\n"
    "    for o in s['operations']:\n"
    "        check(o, dict(name=text, us_per_sample=number, share=number), 'operation')\n"
    "        assert 0 <= o['share'] <= 1, o\n"
    "    shares = s['busy_share'] + s['wait_input_share'] + s['wait_room_share']\n"
    "    assert 0 <= shares <= 1.01, s\n"
    "    assert s['p50_us'] <= s['p99_us'], s\n"
    "    assert s['p99_us'] <= s['max_us'] * 1.07, s\n"
    "    assert (s['cpu_share'] is None) == (s['measured'] == 0), s\n"
    "    known = (s['cpu_share'], s['runqueue_share'], s['blocked_share'])\n"
    "    assert None in known or abs(sum(known) - 1) < 1e-6, s\n"
    "    assert s['samples'] > 0 and s['workers'] > 0, s\n"
    "for q in run['queues']:\n"
    "    check(q, dict(name=text, capacity=int, mean_depth=number, empty_share=number,\n"
    "        full_share=number), 'queue')\n"
    "    assert q['mean_depth'] <= q['capacity'] and q['empty_share'] + q['full_share'] < "
    "1.000001, q\n";

/* The keys of its verdict and its placement. */
static const char json_verdict[] =
    "check(run['bottleneck'], dict(stage=text, cause=text, share=number, why=text, advice=text), "
    "'bottleneck')\n"
    "for a in run['advice']:\n"
    "    check(a, dict(change=text, workers=(int, none), rate_low=(int, float, none),\n"
    "        rate_high=(int, float, none), text=text), 'advice')\n"
    "for p in run['placement']:\n"
    "    kind = 'thread' if 'thread' in p else 'buffer'\n"
    "    check(p, {kind: text, 'wanted': text, 'got': text}, 'placement')\n"
    "if run['step'] is not None:\n"
    "    check(run['step'], dict(thread=text, threads=int, cpus=text, cores=int,\n"
    "        cores_without_worker=int), 'step')\n"
    "    assert run['step']['thread'] in [p.get('thread') for p in run['placement']]\n";

/* The keys of its process, its ranks, its threads, its machine and its environment. */
static const char json_process[] =
    "for t in run['threads']:\n"
    "    check(t, dict(thread=text, seconds=(int, float, none), cpu_s=(int, float, none),\n"
    "        runqueue_s=(int, float, none), blocked_s=(int, float, none)), 'thread')\n"
    "assert [t['thread'] for t in run['threads']] == [p['thread'] for p in run['placement']\n"
    "    if 'thread' in p]\n"
    "assert (run['machine'] is None) == (run['mode'] is None)\n"
    "if run['machine'] is not None:\n"
    "    check(run['machine'], dict(cpu_pressure=(int, float, none), io_pressure=(int, float,\n"
    "        none), memory_pressure=(int, float, none), throttled_periods=(int, none),\n"
    "        periods=(int, none), throttled_s=(int, float, none),\n"
    "        busy_cores=(int, float, none), major_faults=int,\n"
    "        minor_faults=int), 'machine')\n"
    "process = run['process']\n"
    "check(process, dict(rank=int, world=int, local_rank=(int, none), local_world=(int, none),\n"
    "    host=text, pid=int, cpus=(text, none), policy=(text, none), cores=(int, none),\n"
    "    shared_cores=(int, none), sharing_ranks=(int, none)), 'process')\n"
    "assert (process['cpus'] is None) == (len(run['placement']) == 0), process\n"
    "assert process['rank'] < process['world'] and process['pid'] > 0 and process['host']\n"
    "ranks = run['ranks']\n"
    "if ranks is not None:\n"
    "    check(ranks, dict(agree_seconds=number, agree_share=number, meetings=int, last=int,\n"
    "        waits=list), 'ranks')\n"
    "    for w in ranks['waits']:\n"
    "        check(w, dict(rank=int, seconds=number, share=number, last=int, delay=text), 'w')\n"
    "assert (ranks is not None) == (process['world'] > 1)\n"
    "env = run['environment']\n"
    "check(env, dict(cpu=text, kernels=text, device=(text, none), cores_allowed=int,\n"
    "    quota=(int, float, none), nodes=int, gpu=(text, none), driver=(text, none),\n"
    "    pcie=(text, none), versions=dict), 'environment')\n"
    "assert env['gpu'] is env['driver'] is env['pcie'] is None, env\n";

/* How its figures add up. */
static const char json_figures[] =
    "assert run['schema'] == 1 and run['batches'] == run['steps'] == run['batches_consumed']\n"
    "assert run['batches_produced'] >= run['steps']\n"
    "assert 0 <= run['data_wait_share'] <= 1\n"
    "assert (run['error'] is None) == (not run['status'].startswith('E_')), run['status']\n"
    "began = run['mode'] is not None\n"
    "assert began == (len(run['queues']) > 0 and len(run['placement']) > 0)\n"
    "assert began == (run['seconds'] > 0), run['seconds']\n"
    "stages = {s['name']: s for s in run['stages']}\n"
    "if run['steps'] > 0:\n"
    "    assert stages['step']['samples'] == stages['get_next']['samples'] == run['steps']\n"
    "    assert stages['batch']['samples'] >= run['steps']\n"
    "    rate = run['samples'] / run['seconds']\n"
    "    assert abs(run['samples_per_s'] - rate) <= 1e-6 * rate\n"
    "    assert run['memory']['slot_bytes'] > 0 and run['memory']['peak_rss_bytes'] > 0\n"
    "    assert run['memory']['worker_bytes'] > 0, run['memory']\n"
    "    assert run['bottleneck']['stage'] in [*stages, 'none'], run['bottleneck']\n"
    "else:\n"
    "    assert run['bottleneck']['stage'] == 'none'\n"
    "m = run['memory']\n"
    "beside = ['host_bytes', 'peak_rss_bytes', 'other_bytes']\n"
    "beside += ['slot_bytes', 'device_map_bytes'] if 'copy=1' in sys.argv[2] else []\n"
    "assert m['host_bytes'] == sum(m[k] for k in m if k not in beside), m\n"
    "assert m['other_bytes'] == max(0, m['peak_rss_bytes'] - m['host_bytes']), m\n"
    "assert (run['bytes_h2d'] > 0) == ('copy' in stages)\n"
    "copied = began and 'copy=1' in sys.argv[2]\n"
    "assert run['transport'] == (None if not began else 'push' if copied else 'none')\n"
    "assert (run['h2d_copies'] > 0) == ('copy' in stages) and run['publishes'] == 0\n"
    "def middle(b): return b if b < 8 else 2 ** (b // 8 - 1) * (8 + b % 8 + 0.5)\n"
    "for s in run['stages']:\n"
    "    counts, seen = s['histogram']['counts'], 0\n"
    "    assert counts == sorted(counts) and 0 <= counts[0][0] <= counts[-1][0] < 320, s\n"
    "    items = sum(n for b, n in counts)\n"
    "    assert items == s['samples'] and all(n > 0 for b, n in counts), s\n"
    "    for b, n in counts:\n"
    "        if seen <= int(items * 0.99) < seen + n:\n"
    "            us = middle(b) * s['histogram']['ns_per_tick'] / 1e3\n"
    "            assert abs(us - s['p99_us']) <= 1e-6 * us, s\n"
    "        seen += n\n"
    "if began:\n"
    "    parts = [v for k, v in run['time'].items() if k not in ('wall_s', 'open_s')]\n"
    "    assert abs(sum(parts) - run['seconds']) <= 0.02 * run['seconds'], run['time']\n"
    "for p in run['passes'] or []:\n"
    "    check(p, {'pass': int, 'passes': int, 'batches': int, 'seconds': number,\n"
    "        'batches_per_s': number, 'data_wait_share': number, 'bad_samples': int}, 'pass')\n"
    "    assert 0 <= p['data_wait_share'] <= 1 and p['batches'] > 0, p\n"
    "    assert p['seconds'] <= run['seconds'] * 1.01, p\n"
    "assert (run['passes'] is None) == (run['mode'] is None)\n"
    "assert run['passes'] is None or sum(p['batches'] for p in run['passes']) == run['batches']\n"
    "print(run['status'], run['mode'], run['steps'])\n";

static bool has_python(void)
{
    return system("python3 -c pass >/dev/null 2>&1") == 0;
}

/* Hands a run's JSON to python3, which checks it. */
static void check_json(const kit *k)
{
    const char *folder = t_folder();
    char check[sizeof(json_keys) + sizeof(json_verdict) + sizeof(json_process) +
               sizeof(json_figures)];
    char command[1200];
    char *json = NULL;

    T_OK(sluice_report_json(k->report, &json));
    snprintf(check, sizeof(check), "%s%s%s%s", json_keys, json_verdict, json_process, json_figures);
    t_write_file(t_path(folder, "check.py"), check, strlen(check));
    t_write_file(t_path(folder, "run.json"), json, strlen(json));
    snprintf(command, sizeof(command),
             "python3 %.400s/check.py %.400s/run.json '%.80s' >%.200s/out 2>&1", folder, folder,
             k->device, folder);
    if (system(command) != 0) {
        snprintf(command, sizeof(command), "tail -n 2 %.500s/out >&2", folder);
        (void)!system(command);
        T_FAIL_("the JSON is not as it should be: %.1200s", json);
    }
    sluice_string_free(json);
}

static void the_json_of_a_good_run_has_every_key_and_adds_up(void)
{
    T_NEEDS(has_python(), "no python3 to read JSON with");
    for (size_t i = 0; i < COUNT(modes) * 2; i++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[i % COUNT(modes)];
        k.config.sink_size = 30;
        k.device = i < COUNT(modes) ? "host:0" : "host:0,copy=1";
        T_OK(kit_run(&k));
        kit_check(&k);
        check_json(&k);
        kit_fini(&k);
    }
}

static void the_json_of_a_run_over_files_counts_what_was_read(void)
{
    const char *folder = t_folder();
    char pipeline[400];
    kit k;

    T_NEEDS(has_python(), "no python3 to read JSON with");
    kit_write_folder(folder, 5, 8);
    t_write_file(t_path(folder, "b/\xff\"\\\n.jpg"), "no picture", 10);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | batch 1", folder);
    kit_init(&k);
    k.pipeline = pipeline;
    k.config.on_error = SLUICE_ON_ERROR_REPLACE;
    T_OK(kit_run(&k));
    kit_check(&k);
    T_EQ(k.report->error_count, 1);
    T_TRUE(k.report->bytes_read > 0);
    check_json(&k); /* a name that is no UTF-8 among it */
    kit_fini(&k);
}

static void the_json_after_a_failure_has_the_same_keys(void)
{
    kit_source source;
    kit k;

    T_NEEDS(has_python(), "no python3 to read JSON with");
    kit_source_init(&source, 20);
    source.fail_at = 9;
    kit_init(&k);
    k.dataset = kit_source_dataset(&source, 2);
    T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
    check_json(&k);
    source.fail_at = 0; /* before the first step */
    T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
    T_EQ(k.report->stats.steps, 0);
    check_json(&k);
    source.fail_at = UINT64_MAX;
    k.step_at = 3;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    check_json(&k);
    k.config.sink_size = -2;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    check_json(&k);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

/* Numbers have a point wherever the program runs. */
static void the_json_does_not_depend_on_the_locale(void)
{
    char *before = NULL;
    char *text = NULL;
    kit k;

    T_NEEDS(has_python(), "no python3 to read JSON with");
    kit_init(&k);
    T_OK(kit_run(&k));
    T_OK(sluice_report_text(k.report, &before));
    if (!kit_comma_begin()) {
        sluice_string_free(before);
        kit_fini(&k);
        T_SKIP("this C library has locales of another form");
    }
    check_json(&k);
    T_OK(sluice_report_text(k.report, &text));
    T_STR(text, before);
    kit_comma_end();
    sluice_string_free(before);
    sluice_string_free(text);
    kit_fini(&k);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void figures_of_a_padded_and_cut_run_are_exact(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        sluice_report_stats stats = {.struct_size = sizeof(stats)};
        kit k;

        kit_init(&k);
        k.pipeline = "synthetic samples=7 shape=4,4,3 | batch 2"; /* 2 2 2 1 */
        k.model.reads_valid_rows = true;
        k.config.mode = modes[m];
        k.config.sink_size = 3;
        k.config.epochs = 4;
        k.config.max_steps = 10;
        k.config.digest = false;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_OK(sluice_report_stats_get(k.report, &stats));
        T_EQ(stats.struct_size, sizeof(stats));
        T_EQ(stats.status, SLUICE_OK);
        T_EQ(stats.steps, 10);
        T_EQ(stats.epochs, 3);
        T_EQ(stats.samples, 7 + 7 + 2 + 2);
        T_EQ(stats.digest, 0);
        T_EQ(stats.replaced + stats.zeroed, 0);
        T_EQ(stats.staging_bytes, 0);
        T_TRUE(stats.slot_bytes > 0 && stats.seconds > 0);
        T_TRUE(stats.data_wait_share >= 0 && stats.data_wait_share <= 1);
        kit_fini(&k);
    }
}

/* The text has the digest of the statistics, if one was asked for. */
static void the_text_has_the_digest(void)
{
    for (int digest = 0; digest < 2; digest++) {
        sluice_report_stats stats = {.struct_size = sizeof(stats)};
        char line[40];
        char *text = NULL;
        kit k;

        kit_init(&k);
        k.config.digest = digest == 1;
        T_OK(kit_run(&k));
        T_OK(sluice_report_stats_get(k.report, &stats));
        T_OK(sluice_report_text(k.report, &text));
        snprintf(line, sizeof(line), "\ndigest %016llx\n", (unsigned long long)stats.digest);
        T_EQ(strstr(text, line) != NULL, digest == 1);
        sluice_string_free(text);
        kit_fini(&k);
    }
}

/* A caller of an older version has a smaller struct; what is past it is not its. */
static void stats_are_cut_to_the_callers_size(void)
{
    sluice_report_stats stats = {.struct_size = 0};
    kit k;

    kit_init(&k);
    T_OK(kit_run(&k));
    T_STATUS(sluice_report_stats_get(k.report, &stats), SLUICE_E_INVALID);
    stats.struct_size = sizeof(stats);
    T_STATUS(sluice_report_stats_get(NULL, &stats), SLUICE_E_INVALID);
    T_STATUS(sluice_report_stats_get(k.report, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_report_text(k.report, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_report_json(NULL, NULL), SLUICE_E_INVALID);
    sluice_report_destroy(NULL);
    kit_fini(&k);
}

/* ---- the verdict, of runs -------------------------------------------------------------------- */

/* On a machine that is busy otherwise a run may be held up by that: one of a few tries is not. */
enum { TRIES = 5 };

static void check_verdict(kit *k, const char *stage)
{
    k->config.epochs = 0;
    k->config.max_seconds = 1.1; /* a shorter run gets no verdict */
    for (int i = 0; i < TRIES; i++) {
        T_OK(kit_run(k));
        if (strcmp(k->report->bottleneck, stage) == 0) {
            kit_fini(k);
            return;
        }
    }
    T_FAIL_("the verdict is %s (%s), want %s", k->report->bottleneck, k->report->bottleneck_why,
            stage);
}

static void work(kit *k, const sluice_step *step)
{
    const int64_t end = sli_now_ns() + 2000000;

    (void)k;
    (void)step;
    while (sli_now_ns() < end) {
    }
}

static void a_slow_step_is_named(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[m];
        k.in_step = work;
        check_verdict(&k, "step");
    }
}

static void slow_copies_are_named(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[m];
        k.device = "host:0,copy=1,latency_us=1000";
        check_verdict(&k, "copy");
    }
}

static void slow_decoding_is_named(void)
{
    const char *folder = t_folder();
    char pipeline[400];

    kit_write_folder(folder, 4, 1024);
    snprintf(pipeline, sizeof(pipeline), "image_folder %s | decode | center_crop 64 | batch 2",
             folder);
    for (size_t m = 0; m < COUNT(modes); m++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[m];
        k.config.digest = false;
        k.pipeline = pipeline;
        check_verdict(&k, "decode");
    }
}

const t_test report_tests[] = {
    T_TEST(a_series_is_bounded_and_joins_rows),
    T_TEST(waits_that_were_none_are_corrected),
    T_TEST(the_text_has_the_table_and_names_a_bottleneck),
    T_TEST(the_text_says_how_a_run_ended_and_what_was_bad),
    T_TEST(the_json_of_a_good_run_has_every_key_and_adds_up),
    T_TEST(the_json_of_a_run_over_files_counts_what_was_read),
    T_TEST(the_json_after_a_failure_has_the_same_keys),
    T_TEST(the_json_does_not_depend_on_the_locale),
    T_TEST(figures_of_a_padded_and_cut_run_are_exact),
    T_TEST(the_text_has_the_digest),
    T_TEST(stats_are_cut_to_the_callers_size),
    T_TEST(a_slow_step_is_named),
    T_TEST(slow_copies_are_named),
    T_TEST(slow_decoding_is_named),
    T_END,
};
