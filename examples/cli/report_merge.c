/* SPDX-License-Identifier: Apache-2.0 */
#include "report_merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merged_values.h"

/* ---- are they of one run? ---------------------------------------------------------------------
 */

static const json_t *process_of(const saved_report *report)
{
    return report_get(report->json, "process");
}

/* What the ranks of a run have in common. */
static const struct {
    const char *in; /* object; "": the report */
    const char *key;
} common[] = {
    {"", "schema"},
    {"", "first_step"},
    {"process", "world"},
    {"versions", "sluice"},
};

static const json_t *common_value(const saved_report *report, size_t i)
{
    const json_t *object = report->json;

    if (strcmp(common[i].in, "process") == 0) {
        object = process_of(report);
    } else if (strcmp(common[i].in, "versions") == 0) {
        object = report_get(report_get(report->json, "environment"), "versions");
    }
    return report_get(object, common[i].key);
}

static bool refuse_pair(const saved_report *a, const saved_report *b, const char *what)
{
    sluice_fail(SLUICE_E_INVALID, "merge: %s and %s are reports of different runs: %s differs",
                a->path, b->path, what);
    return false;
}

/* Compares the names of the stages, which follow from the pipeline; a run that never began has
 * none. */
static bool same_stages(const saved_report *a, const saved_report *b)
{
    const json_t *x = report_get(a->json, "stages");
    const json_t *y = report_get(b->json, "stages");
    bool same = json_array_size(x) == json_array_size(y);

    for (size_t i = 0; same && i < json_array_size(x); i++) {
        same = strcmp(report_string(json_array_get(x, i), "name"),
                      report_string(json_array_get(y, i), "name")) == 0;
    }
    return same || json_array_size(x) == 0 || json_array_size(y) == 0;
}

static bool same_run(const saved_report *a, const saved_report *b)
{
    const bool ended = strcmp(report_string(a->json, "status"), "OK") == 0 &&
                       strcmp(report_string(b->json, "status"), "OK") == 0;

    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
        const json_t *x = common_value(a, i);
        const json_t *y = common_value(b, i);

        if (x != y && !json_equal(x, y)) {
            return refuse_pair(a, b, common[i].key);
        }
    }
    if (!same_stages(a, b)) {
        return refuse_pair(a, b, "the list of stages");
    }
    /* Ranks that agree take the same number of steps. */
    if (ended && report_get(a->json, "ranks") != NULL && report_get(b->json, "ranks") != NULL &&
        report_number(a->json, "steps") != report_number(b->json, "steps")) {
        return refuse_pair(a, b, "steps");
    }
    return true;
}

static bool has_rank(const saved_report *report)
{
    const double rank = report_number(process_of(report), "rank");
    const double world = report_number(process_of(report), "world");

    if (report_get(report->json, "merge") != NULL) {
        sluice_fail(SLUICE_E_INVALID, "merge: %s is already a merge; give the reports of the ranks",
                    report->path);
        return false;
    }
    if (!(rank >= 0 && rank < world && world <= 1e9 && rank == floor(rank) &&
          world == floor(world))) {
        sluice_fail(SLUICE_E_INVALID,
                    "merge: %s: \"process\" must have a rank and the world that it is of",
                    report->path);
        return false;
    }
    return true;
}

/* True if each rank in `ranks.waits` is below the size of the world; else fails. */
static bool waits_for_ranks(const saved_report *report)
{
    const json_t *waits = report_get(report_get(report->json, "ranks"), "waits");
    const double world = report_number(process_of(report), "world");

    for (size_t i = 0; i < json_array_size(waits); i++) {
        const double rank = report_number(json_array_get(waits, i), "rank");

        if (!(rank < world && rank == floor(rank))) {
            sluice_fail(SLUICE_E_CORRUPT,
                        "merge: %s: \"ranks.waits.rank\" is %g, and must be a rank of the world of "
                        "%.0f",
                        report->path, rank, world);
            return false;
        }
    }
    return true;
}

/* True if no two elements have one name, by which they are merged; else fails. */
static bool names_differ(const saved_report *report, const json_t *array, const char *what)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        const char *name = report_string(element, "name");

        if (report_find(array, "name", name) != element) {
            sluice_fail(SLUICE_E_INVALID,
                        "merge: %s has two %s of the name %.60s, and names must differ",
                        report->path, what, name);
            return false;
        }
    }
    return true;
}

static bool can_be_merged(const saved_report *report)
{
    const json_t *stages = report_get(report->json, "stages");
    bool can = has_rank(report) && waits_for_ranks(report) &&
               names_differ(report, stages, "stages") &&
               names_differ(report, report_get(report->json, "queues"), "queues");

    for (size_t i = 0; can && i < json_array_size(stages); i++) {
        can =
            names_differ(report, report_get(json_array_get(stages, i), "operations"), "operations");
    }
    return can;
}

static int compare_ranks(const void *a, const void *b)
{
    const double x = report_number(process_of(a), "rank");
    const double y = report_number(process_of(b), "rank");

    return (x > y) - (x < y);
}

/* Sorts the reports by rank; false after sluice_fail(). */
static bool check_ranks(saved_report *reports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!can_be_merged(&reports[i])) {
            return false;
        }
    }
    qsort(reports, count, sizeof(*reports), compare_ranks);
    for (size_t i = 1; i < count; i++) {
        if (compare_ranks(&reports[i - 1], &reports[i]) == 0) {
            sluice_fail(SLUICE_E_INVALID,
                        "merge: %s and %s are both of rank %.0f; give one report for each "
                        "rank of a run",
                        reports[i - 1].path, reports[i].path,
                        report_number(process_of(&reports[i]), "rank"));
            return false;
        }
        if (!same_run(&reports[0], &reports[i])) {
            return false;
        }
    }
    return true;
}

/* ---- the merged report ------------------------------------------------------------------------
 */

typedef struct merge {
    const saved_report *reports; /* (count) */
    size_t count;
    rank_part *parts; /* (count) of the part at hand */
    json_t *merged;
    int failed; /* out of memory */
} merge;

static const merged_key total_keys[] = {
    {"mode", MERGE_SAME},
    {"transport", MERGE_SAME},
    {"samples", MERGE_SUM},
    {"batches", MERGE_SUM},
    {"steps", MERGE_MAX},
    {"epochs", MERGE_MAX},
    {"first_step", MERGE_SAME},
    {"seconds", MERGE_MAX},
    {"cpu_s_per_1000_samples", MERGE_BY_SAMPLES},
    {"data_wait_share", MERGE_MEAN},
    {"bytes_read", MERGE_SUM},
    {"samples_read_ahead", MERGE_SUM},
    {"bytes_read_ahead", MERGE_SUM},
    {"samples_by_index", MERGE_SUM},
    {"indexes_made", MERGE_SUM},
    {"indexes_refused", MERGE_SUM},
    {"bytes_h2d", MERGE_SUM},
    {"h2d_gb_per_s", MERGE_SUM},
    {"launches", MERGE_SUM},
    {"syncs", MERGE_SUM},
    {"yields", MERGE_SUM},
    {"nan_steps", MERGE_SUM},
    {"first_nan_step", MERGE_MIN},
    {"regrouped_batch_size", MERGE_SAME},
    {"regrouped_world", MERGE_SAME},
    {"checkpoints", MERGE_SUM},
    {"validations", MERGE_MAX},
    {"validation_seconds", MERGE_MAX},
    {"validation_bad_samples", MERGE_SUM},
    {"replayed_samples", MERGE_SUM},
    {"replay_seconds", MERGE_MAX},
    {"batches_produced", MERGE_SUM},
    {"batches_consumed", MERGE_SUM},
    {"h2d_copies", MERGE_SUM},
    {"publishes", MERGE_SUM},
    {NULL, MERGE_SUM},
};

static const merged_key error_keys[] = {
    {"failed", MERGE_SUM}, {"replaced", MERGE_SUM}, {"zeroed", MERGE_SUM}, {NULL, MERGE_SUM}};

static const merged_key memory_keys[] = {
    {"staging_bytes", MERGE_SUM},  {"slot_bytes", MERGE_SUM},   {"device_map_bytes", MERGE_SUM},
    {"cache_bytes", MERGE_MAX},    {"source_bytes", MERGE_SUM}, {"stream_bytes", MERGE_SUM},
    {"row_bytes", MERGE_SUM},      {"worker_bytes", MERGE_SUM}, {"host_bytes", MERGE_SUM},
    {"peak_rss_bytes", MERGE_SUM}, {"other_bytes", MERGE_SUM},  {NULL, MERGE_SUM},
};

static const merged_key time_keys[] = {
    {"wall_s", MERGE_MEAN},  {"open_s", MERGE_MEAN},        {"data_wait_s", MERGE_MEAN},
    {"step_s", MERGE_MEAN},  {"device_maps_s", MERGE_MEAN}, {"launch_s", MERGE_MEAN},
    {"hooks_s", MERGE_MEAN}, {"checkpoint_s", MERGE_MEAN},  {"validation_s", MERGE_MEAN},
    {"agree_s", MERGE_MEAN}, {"other_s", MERGE_MEAN},       {NULL, MERGE_SUM},
};

/* Of a machine that several ranks share each of them counts pressure and throttling. */
static const merged_key machine_keys[] = {
    {"cpu_pressure", MERGE_MAX},    {"io_pressure", MERGE_MAX},
    {"memory_pressure", MERGE_MAX}, {"throttled_periods", MERGE_MAX},
    {"periods", MERGE_MAX},         {"throttled_s", MERGE_MAX},
    {"busy_cores", MERGE_MAX},      {"major_faults", MERGE_SUM},
    {"minor_faults", MERGE_SUM},    {NULL, MERGE_SUM},
};

static const merged_key stage_keys[] = {
    {"samples", MERGE_SUM},
    {"bytes", MERGE_SUM},
    {"samples_per_s", MERGE_SUM},
    {"sustained_samples_per_s", MERGE_SUM},
    {"busy_share", MERGE_BY_THREADS},
    {"wait_input_share", MERGE_BY_THREADS},
    {"wait_room_share", MERGE_BY_THREADS},
    {"max_us", MERGE_MAX},
    {"measured", MERGE_SUM},
    {"workers", MERGE_SUM},
    {"cpu_us_per_sample", MERGE_BY_SAMPLES},
    {"cpu_share", MERGE_BY_BUSY},
    {"runqueue_share", MERGE_BY_BUSY},
    {"blocked_share", MERGE_BY_BUSY},
    {"lock_wait_share", MERGE_BY_BUSY},
    {NULL, MERGE_SUM},
};

static const merged_key operation_keys[] = {
    {"us_per_sample", MERGE_BY_SAMPLES}, {"share", MERGE_BY_BUSY}, {NULL, MERGE_SUM}};

static const merged_key queue_keys[] = {
    {"capacity", MERGE_SUM},    {"mean_depth", MERGE_SUM}, {"empty_share", MERGE_MEAN},
    {"full_share", MERGE_MEAN}, {NULL, MERGE_SUM},
};

/* Sets the parts to an object of each report; key NULL: to the reports. False: no rank has it. */
static bool take_parts(merge *m, const char *key)
{
    bool any = false;

    for (size_t i = 0; i < m->count; i++) {
        const json_t *run = m->reports[i].json;
        const json_t *object = key != NULL ? report_get(run, key) : run;

        m->parts[i] = (rank_part){.object = object, .run = run};
        any |= object != NULL;
    }
    return any;
}

/* Merges an object of numbers; NULL if no rank has it. */
static json_t *merge_object(merge *m, const char *key, const merged_key *keys)
{
    json_t *object = take_parts(m, key) ? json_object() : NULL;

    if (object != NULL) {
        m->failed |= merged_set(object, m->parts, m->count, keys);
        m->failed |= json_object_set_new(m->merged, key, object);
    }
    return object;
}

/* The names of the elements of an array in each object, in order, as keys of an object. */
static json_t *names_of(merge *m, const rank_part *parts, const char *key)
{
    json_t *names = json_object();

    m->failed |= names == NULL;
    for (size_t i = 0; i < m->count && names != NULL; i++) {
        const json_t *array = report_get(parts[i].object, key);

        for (size_t k = 0; k < json_array_size(array); k++) {
            m->failed |= json_object_set_new(names, report_string(json_array_get(array, k), "name"),
                                             json_null());
        }
    }
    return names;
}

/* Merges the elements of an array that have the same name, by a table; `owner` are the objects that
 * have the array. */
static json_t *merge_named(merge *m, const rank_part *owners, const char *key,
                           const merged_key *keys)
{
    json_t *names = names_of(m, owners, key);
    json_t *all = json_array();
    const char *name;
    json_t *unused;

    json_object_foreach(names, name, unused)
    {
        json_t *element = json_pack("{s:s}", "name", name);

        for (size_t i = 0; i < m->count; i++) {
            const json_t *object = report_find(report_get(owners[i].object, key), "name", name);

            m->parts[i] = (rank_part){.object = object,
                                      .stage = owners[i].stage != NULL ? owners[i].stage : object,
                                      .run = owners[i].run};
        }
        m->failed |= merged_set(element, m->parts, m->count, keys);
        if (keys == stage_keys) {
            m->failed |= merged_set_histogram(element, m->parts, m->count);
        }
        m->failed |= json_array_append_new(all, element);
    }
    json_decref(names);
    return all;
}

/* True if a rank has this key in a stage of this name. */
static bool any_has(const rank_part *parts, size_t count, const char *key)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        any |= report_get(parts[i].object, key) != NULL;
    }
    return any;
}

static void merge_stages(merge *m)
{
    rank_part *runs = calloc(m->count, sizeof(*runs));
    rank_part *owners = calloc(m->count, sizeof(*owners));
    json_t *stages = NULL;
    json_t *stage;
    size_t index;

    if (runs == NULL || owners == NULL) {
        m->failed = -1;
        free(runs);
        free(owners);
        return;
    }
    for (size_t i = 0; i < m->count; i++) {
        runs[i] = (rank_part){.object = m->reports[i].json, .run = m->reports[i].json};
    }
    stages = merge_named(m, runs, "stages", stage_keys);
    json_array_foreach(stages, index, stage)
    {
        const char *name = report_string(stage, "name");

        for (size_t i = 0; i < m->count; i++) {
            const json_t *own = report_find(report_get(runs[i].run, "stages"), "name", name);

            owners[i] = (rank_part){.object = own, .stage = own, .run = runs[i].run};
        }
        if (any_has(owners, m->count, "operations")) {
            m->failed |= json_object_set_new(stage, "operations",
                                             merge_named(m, owners, "operations", operation_keys));
        }
    }
    m->failed |= json_object_set_new(m->merged, "stages", stages);
    m->failed |=
        json_object_set_new(m->merged, "queues", merge_named(m, runs, "queues", queue_keys));
    free(runs);
    free(owners);
}

/* Joins the arrays of all ranks, each element with its rank; null if no rank has one, or if there
 * are more than `most` elements. */
static json_t *join_arrays(merge *m, const char *in, const char *key, size_t most)
{
    json_t *all = json_array();
    bool any = false;

    for (size_t i = 0; i < m->count; i++) {
        const json_t *run = m->reports[i].json;
        const json_t *array = report_get(in != NULL ? report_get(run, in) : run, key);
        const double rank = report_number(process_of(&m->reports[i]), "rank");

        any |= json_is_array(array);
        for (size_t k = 0; k < json_array_size(array) && json_array_size(all) <= most; k++) {
            json_t *element = json_deep_copy(json_array_get(array, k));

            if (json_is_object(element)) {
                m->failed |= json_object_set_new(element, "rank", json_integer((json_int_t)rank));
            }
            m->failed |= json_array_append_new(all, element);
        }
    }
    if (!any || json_array_size(all) > most) {
        json_decref(all);
        return json_null();
    }
    return all;
}

/* Sets status and error to those of the first rank that failed; OK if none did. */
static void merge_status(merge *m)
{
    size_t worst = 0;
    const char *error = NULL;

    for (size_t i = m->count; i-- > 0;) {
        if (strcmp(report_string(m->reports[i].json, "status"), "OK") != 0) {
            worst = i;
        }
    }
    error = report_string(m->reports[worst].json, "error");
    m->failed |=
        json_object_set(m->merged, "status", json_object_get(m->reports[worst].json, "status"));
    m->failed |= json_object_set_new(
        m->merged, "error",
        error != NULL ? json_sprintf("rank %.0f: %s",
                                     report_number(process_of(&m->reports[worst]), "rank"), error)
                      : json_null());
}

/* True if this key is true in the report of any rank. */
static bool any_is_true(const merge *m, const char *key)
{
    for (size_t i = 0; i < m->count; i++) {
        if (json_is_true(json_object_get(m->reports[i].json, key))) {
            return true;
        }
    }
    return false;
}

/* The environment of the ranks; keys in which they differ are null, and in `left_out`. */
static void merge_environment(merge *m, json_t *left_out)
{
    const json_t *first = report_get(m->reports[0].json, "environment");
    json_t *merged = first != NULL ? json_deep_copy(first) : json_null();
    const char *key;
    json_t *value;

    json_object_foreach(merged, key, value)
    {
        for (size_t i = 1; i < m->count; i++) {
            const json_t *other = report_get(m->reports[i].json, "environment");

            if (!json_equal(json_object_get(first, key), json_object_get(other, key))) {
                m->failed |= json_array_append_new(left_out, json_sprintf("environment.%s", key));
                m->failed |= json_object_set_new(merged, key, json_null());
                break;
            }
        }
    }
    m->failed |= json_object_set_new(m->merged, "environment", merged);
}

/* Lists the keys of the reports that the merge does not have, or has as null: ranks differ, or
 * there are too many elements. list: keys that are known to be left out. */
static void list_left_out(merge *m, json_t *list)
{
    json_t *names = json_object();
    const char *key;
    json_t *unused;

    for (size_t i = 0; i < m->count; i++) {
        json_object_foreach(m->reports[i].json, key, unused)
        {
            if (report_get(m->merged, key) == NULL && report_get(m->reports[i].json, key) != NULL &&
                json_object_get(names, key) == NULL) {
                m->failed |= json_object_set_new(names, key, json_null());
                m->failed |= json_array_append_new(list, json_string(key));
            }
        }
    }
    json_decref(names);
    m->failed |= json_object_set_new(json_object_get(m->merged, "merge"), "left_out", list);
}

static void merge_all(merge *m)
{
    const double world = report_number(process_of(&m->reports[0]), "world");
    json_t *left_out = json_array();
    json_t *errors;
    double rate;

    m->failed |=
        json_object_set(m->merged, "schema", json_object_get(m->reports[0].json, "schema"));
    merge_status(m);
    take_parts(m, NULL);
    m->failed |= merged_set(m->merged, m->parts, m->count, total_keys);
    rate = report_number(m->merged, "samples") / report_number(m->merged, "seconds");
    m->failed |= json_object_set_new(m->merged, "samples_per_s",
                                     isfinite(rate) ? json_real(rate) : json_null());
    errors = merge_object(m, "errors", error_keys);
    if (errors != NULL) {
        m->failed |= json_object_set_new(errors, "first", join_arrays(m, "errors", "first", 1000));
    }
    (void)merge_object(m, "memory", memory_keys);
    (void)merge_object(m, "time", time_keys);
    (void)merge_object(m, "machine", machine_keys);
    merge_stages(m);
    m->failed |= json_object_set_new(m->merged, "threads", join_arrays(m, NULL, "threads", 4096));
    m->failed |= json_object_set_new(m->merged, "passes", join_arrays(m, NULL, "passes", 16384));
    m->failed |= json_object_set_new(m->merged, "slowest", join_arrays(m, NULL, "slowest", 4096));
    m->failed |= json_object_set_new(m->merged, "process",
                                     json_pack("{s:n, s:I}", "rank", "world", (json_int_t)world));
    m->failed |= json_object_set_new(m->merged, "running", json_boolean(any_is_true(m, "running")));
    m->failed |= json_object_set_new(m->merged, "clock_jumped",
                                     json_boolean(any_is_true(m, "clock_jumped")));
    merge_environment(m, left_out);
    m->failed |= report_set_ranks(m->merged, m->reports, m->count);
    list_left_out(m, left_out);
}

json_t *report_merge(saved_report *reports, size_t count)
{
    merge m = {.reports = reports, .count = count};

    if (!check_ranks(reports, count)) {
        return NULL;
    }
    m.parts = calloc(count, sizeof(*m.parts));
    m.merged = json_object();
    m.failed = m.parts == NULL || m.merged == NULL ? -1 : 0;
    if (m.failed == 0) {
        merge_all(&m);
    }
    free(m.parts);
    if (m.failed != 0) {
        sluice_fail(SLUICE_E_NO_MEMORY, "merge: there is not enough memory");
    }
    if (m.failed != 0 || !report_check("the merge", m.merged)) {
        json_decref(m.merged);
        return NULL;
    }
    return m.merged;
}
