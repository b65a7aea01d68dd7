/* SPDX-License-Identifier: Apache-2.0 */
/* sluice inspect: samples, columns, classes, sizes and formats of a dataset's source. */
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "data_survey.h"
#include "described_text.h"
#include "survey_findings.h"

/* CLASSES_LISTED: limit on the classes that the text lists; JSON lists all. */
enum { CLASSES_LISTED = 30, DEFAULT_WORKERS = 4 };

typedef struct inspect {
    cli_source source;
    uint64_t most;
    const char *workers;
    uint32_t worker_count;
    bool json;
    sluice_dataset *dataset;
    data_survey survey;
    cli_progress progress;
} inspect;

static int parse(inspect *c, int argc, char **argv)
{
    cli_option options[] = {
        CLI_SOURCE_OPTIONS(&c->source),
        {"max-samples", OPTION_COUNT, &c->most, "N", NULL, false},
        {"workers", OPTION_TEXT, &c->workers, "N", NULL, false},
        {"json", OPTION_FLAG, &c->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("inspect", argc, argv, options, &c->source, NULL);

    if (code == EXIT_DONE && c->source.word == NULL && c->source.file == NULL) {
        cli_error("inspect: the source is missing; give a folder or file of data, a pipeline in "
                  "quotes, or -f FILE");
        code = EXIT_USAGE;
    }
    if (code == EXIT_DONE && (!cli_in_range("inspect", "max-samples", c->most, 1, UINT64_MAX) ||
                              !cli_workers("inspect", c->workers, &c->worker_count))) {
        code = EXIT_USAGE;
    }
    c->worker_count = c->worker_count == 0               ? DEFAULT_WORKERS
                      : c->worker_count > SURVEY_WORKERS ? SURVEY_WORKERS
                                                         : c->worker_count;
    return code;
}

/* ---- the source ------------------------------------------------------------------------------ */

/* E_UNSUPPORTED: a shard is a pipe or a device, and so would be read as a stream. */
static sluice_status check_shards(const char *const *paths, size_t count)
{
    struct stat info;

    for (size_t i = 0; i < count; i++) {
        if (stat(paths[i], &info) == 0 && !S_ISREG(info.st_mode)) {
            return sluice_fail(SLUICE_E_UNSUPPORTED,
                               "inspect: %s is not a regular file, and its samples cannot be read "
                               "by their numbers; copy its data to a file",
                               paths[i]);
        }
    }
    return SLUICE_OK;
}

/* check_shards() of the tar files in a folder. */
static sluice_status check_folder(const char *folder)
{
    glob_t found = {.gl_pathc = 0};
    char *pattern = malloc(2 * strlen(folder) + 8);
    size_t at = 0;
    sluice_status st = SLUICE_OK;

    if (pattern == NULL) {
        return sluice_fail(SLUICE_E_NO_MEMORY, "inspect: out of memory");
    }
    for (const char *c = folder; *c != '\0'; c++) {
        if (strchr("*?[\\", *c) != NULL) {
            pattern[at++] = '\\';
        }
        pattern[at++] = *c;
    }
    strcpy(pattern + at, "/*.tar");
    if (glob(pattern, 0, NULL, &found) == 0) {
        st = check_shards((const char *const *)found.gl_pathv, found.gl_pathc);
    }
    globfree(&found);
    free(pattern);
    return st;
}

/* True if a path of shards is read by fields=auto. */
static bool has_all_columns(sluice_dataset *dataset)
{
    char *text = NULL;
    const bool has = sluice_dataset_describe(dataset, &text) == SLUICE_OK &&
                     strstr(text, " fields=auto") != NULL;

    sluice_string_free(text);
    return has;
}

/*
 * Opens a folder or file of shards. If no sample has a label, as in a pack of images alone, only
 * images are read, and that is said.
 */
static sluice_status open_shards(const char *path, sluice_dataset **dataset_out)
{
    sluice_column_spec spec;
    sluice_status st = sluice_dataset_parse_path(path, dataset_out);

    if (st == SLUICE_OK && has_all_columns(*dataset_out)) {
        return st;
    }
    if (st == SLUICE_OK) {
        st = sluice_dataset_column_spec(*dataset_out, "label", &spec);
    }
    if (st != SLUICE_E_INVALID) {
        return st;
    }
    sluice_dataset_destroy(*dataset_out);
    *dataset_out = NULL;
    st = sluice_dataset_parsef(dataset_out, "webdataset %s label=none", path);
    if (st == SLUICE_OK) {
        st = sluice_dataset_column_spec(*dataset_out, "image", &spec);
    }
    if (st == SLUICE_OK) {
        fprintf(stderr, "sluice: inspect: no sample has a label, a member KEY.cls: only images "
                        "are read (webdataset label=none)\n");
    }
    return st;
}

/* Parses a pipeline, or makes one of a path. */
static sluice_status open_data(const inspect *c, sluice_dataset **dataset_out)
{
    const char *path = c->source.word;
    struct stat info;
    char *text = NULL;
    sluice_status st = cli_open_source("inspect", &c->source, dataset_out);

    if (st != SLUICE_OK || path == NULL || stat(path, &info) != 0) {
        return st;
    }
    st = sluice_dataset_describe(*dataset_out, &text);
    if (st == SLUICE_OK && text_stage_is(text, "webdataset")) {
        sluice_dataset_destroy(*dataset_out);
        *dataset_out = NULL;
        st = S_ISDIR(info.st_mode) ? check_folder(path) : check_shards(&path, 1);
        st = st == SLUICE_OK ? open_shards(path, dataset_out) : st;
    }
    sluice_string_free(text);
    return st;
}

/* ---- figures --------------------------------------------------------------------------------- */

/* The distribution of a number over the images that were read. */
typedef struct percentiles {
    uint64_t count;
    uint64_t values[5]; /* minimum, 5 %, median, 95 %, maximum */
    double mean;
} percentiles;

static const char *const percentile_names[5] = {"min", "p5", "p50", "p95", "max"};

static int by_value(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Sorts the values and computes their percentiles. Zeros, of samples that could not be read, are
 * not counted. */
static percentiles sort_values(uint64_t *values, uint64_t count)
{
    static const uint64_t parts[5] = {0, 5, 50, 95, 100};
    percentiles p = {.count = 0};
    uint64_t first = 0;
    double sum = 0;

    qsort(values, (size_t)count, sizeof(*values), by_value);
    while (first < count && values[first] == 0) {
        first++;
    }
    p.count = count - first;
    for (uint64_t i = first; i < count; i++) {
        sum += (double)values[i];
    }
    for (int i = 0; i < 5 && p.count > 0; i++) {
        p.values[i] = values[first + (p.count - 1) * parts[i] / 100];
    }
    p.mean = p.count > 0 ? sum / (double)p.count : 0;
    return p;
}

static const char *role_name(const sluice_column_spec *spec)
{
    return spec->role == SLUICE_ROLE_IMAGE    ? "image"
           : spec->role == SLUICE_ROLE_MASK   ? "mask"
           : spec->role == SLUICE_ROLE_BOXES  ? "boxes"
           : spec->role == SLUICE_ROLE_POINTS ? "points"
                                              : "plain";
}

static const char *type_name(sluice_dtype dtype)
{
    return dtype == SLUICE_ENCODED ? "encoded" : sluice_dtype_name(dtype);
}

/* Returns the name of a class, owned by the caller, or NULL. */
static char *class_name(const inspect *c, uint32_t label)
{
    char *name = NULL;

    return sluice_dataset_class_name(c->dataset, (int32_t)label, &name) == SLUICE_OK ? name : NULL;
}

/* Returns the number of classes: those with names, or those that were counted. */
static uint32_t count_classes(const inspect *c)
{
    uint32_t count = c->survey.class_count;
    char *name = NULL;

    while (c->survey.label >= 0 && count < SURVEY_CLASSES &&
           (name = class_name(c, count)) != NULL) {
        sluice_string_free(name);
        count++;
    }
    return count;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_columns(const data_survey *s)
{
    printf("columns\n");
    for (uint32_t i = 0; i < s->column_count; i++) {
        const survey_column *column = &s->columns[i];
        const sluice_column_spec *spec = &column->spec;
        char shape[SLUICE_MAX_RANK * 24 + 8] = "";

        for (uint32_t d = 0; d < spec->rank; d++) {
            const size_t at = strlen(shape);

            snprintf(shape + at, sizeof(shape) - at, "%s%" PRIu64, d > 0 ? ", " : "(",
                     spec->shape[d]);
        }
        printf("  %-16s %-8s %s%s", spec->name, type_name(spec->dtype), shape,
               spec->rank > 0 ? ") " : "");
        if (spec->role != SLUICE_ROLE_PLAIN) {
            printf("%s", role_name(spec));
        }
        if (spec->boxes != NULL) {
            printf("%sof each of %s", spec->role != SLUICE_ROLE_PLAIN ? " " : "", spec->boxes);
        }
        if (column->is_counted && column->low <= column->high) {
            printf("%" PRId64 " to %" PRId64, column->low, column->high);
        }
        printf("\n");
    }
}

static void print_classes(const inspect *c)
{
    const data_survey *s = &c->survey;
    const uint32_t count = count_classes(c);
    uint32_t used = 0;

    if (s->label < 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        used += s->all.classes[i] > 0;
    }
    printf("%" PRIu32 " classes in column %s", count, s->columns[s->label].spec.name);
    if (used < count) {
        printf(", %" PRIu32 " of them without a sample", count - used);
    }
    printf("\n");
    for (uint32_t i = 0; i < count && i < CLASSES_LISTED; i++) {
        char *name = class_name(c, i);

        printf("  %6" PRIu32 " %10" PRIu64 "  ", i, s->all.classes[i]);
        cli_print_name(name != NULL ? name : "");
        printf("\n");
        sluice_string_free(name);
    }
    if (count > CLASSES_LISTED) {
        printf("  and %" PRIu32 " more, in the output of --json\n", count - CLASSES_LISTED);
    }
    finding_print_skew(s, count);
    if (s->all.no_class > 0) {
        printf("  %" PRIu64 " labels are not from 0 to %d\n", s->all.no_class, SURVEY_CLASSES - 1);
    }
}

static void print_sizes(const char *name, const percentiles *p)
{
    printf("  %-8s", name);
    for (int i = 0; i < 5; i++) {
        printf(" %9" PRIu64, p->values[i]);
    }
    printf(" %12.1f\n", p->mean);
}

/* Prints `count`, then the kinds [first, end) that were found. */
static void print_kinds(const data_survey *s, const char *format, uint64_t count, survey_kind first,
                        survey_kind end)
{
    const char *separator = ": ";

    if (count == 0) {
        return;
    }
    printf("  %" PRIu64 " %s", count, format);
    for (survey_kind k = first; k < end; k++) {
        if (s->all.kinds[k] > 0) {
            printf("%s%" PRIu64 " %s", separator, s->all.kinds[k], survey_kind_names[k]);
            separator = ", ";
        }
    }
    printf("\n");
}

static void print_images(data_survey *s)
{
    percentiles sizes[3];

    if (s->image < 0 || s->all.good == 0) {
        return;
    }
    sizes[0] = sort_values(s->widths, s->looked);
    sizes[1] = sort_values(s->heights, s->looked);
    sizes[2] = sort_values(s->bytes, s->looked);
    printf("images of column %s\n  %-8s %9s %9s %9s %9s %9s %12s\n", s->columns[s->image].spec.name,
           "", "min", "5 %", "median", "95 %", "max", "mean");
    print_sizes("width", &sizes[0]);
    print_sizes("height", &sizes[1]);
    print_sizes("bytes", &sizes[2]);
    print_kinds(s, "JPEG", s->all.kinds[KIND_JPEG], KIND_JPEG_GRAY, KIND_PNG_GRAY);
    print_kinds(s, "PNG", s->all.kinds[KIND_PNG], KIND_PNG_GRAY, KIND_PNM_16_BITS);
    print_kinds(s, "PPM", s->all.kinds[KIND_PPM], KINDS, KINDS);
    print_kinds(s, "PGM", s->all.kinds[KIND_PGM], KINDS, KINDS);
    print_kinds(s, "PBM", s->all.kinds[KIND_PBM], KINDS, KINDS);
    print_kinds(s, "BMP", s->all.kinds[KIND_BMP], KINDS, KINDS);
    print_kinds(s, "GIF", s->all.kinds[KIND_GIF], KINDS, KINDS);
    print_kinds(s, "WebP", s->all.kinds[KIND_WEBP], KINDS, KINDS);
    print_kinds(s, "TIFF", s->all.kinds[KIND_TIFF], KIND_TIFF_16_BITS, KIND_JP2_16_BITS);
    print_kinds(s, "JPEG 2000", s->all.kinds[KIND_JP2], KIND_JP2_16_BITS, KIND_ORIENTED);
    print_kinds(
        s, "of 16 bits per channel: decode mode=u16 or u16_rgb keeps them, depth=8 converts them",
        s->all.kinds[KIND_PNG_16_BITS] + s->all.kinds[KIND_PNM_16_BITS] +
            s->all.kinds[KIND_TIFF_16_BITS] + s->all.kinds[KIND_JP2_16_BITS],
        KINDS, KINDS);
    print_kinds(s, "of floats: decode mode=f32 or f32_rgb keeps them",
                s->all.kinds[KIND_TIFF_FLOATS], KINDS, KINDS);
    print_kinds(
        s,
        "with an Exif orientation other than 1, which decode applies (orient=false: pixels as "
        "stored)",
        s->all.kinds[KIND_ORIENTED], KINDS, KINDS);
    print_kinds(s, "with further images or frames: the first one is used",
                s->all.kinds[KIND_FURTHER], KINDS, KINDS);
}

static void print_text(inspect *c)
{
    data_survey *s = &c->survey;
    const uint64_t read = s->all.good + s->all.bad;

    printf("%" PRIu64 " samples", s->samples);
    if (read < s->samples) {
        printf(", %" PRIu64 " of them read", read);
    }
    printf("; %" PRIu64 " cannot be read\n", s->all.bad);
    print_columns(s);
    print_classes(c);
    print_images(s);
    finding_print(s);
    if (s->all.bad > 0) {
        printf("cannot be read\n");
    }
    for (uint32_t i = 0; i < s->all.named_count; i++) {
        printf("  %" PRIu64 " ", s->all.named[i].sample);
        survey_print_name(s, s->all.named[i].sample, false);
        printf(": ");
        cli_print_name(s->all.named[i].why != NULL ? s->all.named[i].why : "");
        printf("\n");
    }
    if (s->all.bad > s->all.named_count) {
        printf("  and %" PRIu64 " more\n", s->all.bad - s->all.named_count);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_columns(const data_survey *s)
{
    printf(",\"columns\":[");
    for (uint32_t i = 0; i < s->column_count; i++) {
        const survey_column *column = &s->columns[i];
        const sluice_column_spec *spec = &column->spec;

        printf("%s{\"name\":", i > 0 ? "," : "");
        cli_json_string(spec->name);
        printf(",\"dtype\":\"%s\",\"role\":\"%s\",\"ragged\":%s,\"boxes\":", type_name(spec->dtype),
               role_name(spec), spec->ragged != 0 ? "true" : "false");
        if (spec->boxes != NULL) {
            cli_json_string(spec->boxes);
        } else {
            printf("null");
        }
        printf(",\"shape\":[");
        for (uint32_t d = 0; d < spec->rank; d++) {
            printf("%s%" PRIu64, d > 0 ? "," : "", spec->shape[d]);
        }
        printf("]");
        if (column->is_counted && column->low <= column->high) {
            printf(",\"min\":%" PRId64 ",\"max\":%" PRId64, column->low, column->high);
        }
        printf("}");
    }
    printf("]");
}

static void json_classes(const inspect *c)
{
    const data_survey *s = &c->survey;
    const uint32_t count = count_classes(c);

    printf(",\"class_column\":");
    if (s->label >= 0) {
        cli_json_string(s->columns[s->label].spec.name);
    } else {
        printf("null");
    }
    printf(",\"other_labels\":%" PRIu64 ",\"classes\":[", s->all.no_class);
    for (uint32_t i = 0; i < count; i++) {
        char *name = class_name(c, i);

        printf("%s{\"label\":%" PRIu32 ",\"count\":%" PRIu64 ",\"name\":", i > 0 ? "," : "", i,
               s->all.classes[i]);
        if (name != NULL) {
            cli_json_string(name);
        } else {
            printf("null");
        }
        printf("}");
        sluice_string_free(name);
    }
    printf("]");
}

static void json_sizes(const char *name, uint64_t *values, uint64_t count)
{
    const percentiles p = sort_values(values, count);

    printf(",\"%s\":{", name);
    for (int i = 0; i < 5; i++) {
        printf("\"%s\":%" PRIu64 ",", percentile_names[i], p.values[i]);
    }
    printf("\"mean\":%.3f}", p.mean);
}

static void json_kinds(const data_survey *s, const char *name, survey_kind first, survey_kind end)
{
    printf(",\"%s\":{", name);
    for (survey_kind k = first; k < end; k++) {
        printf("%s\"%s\":%" PRIu64, k > first ? "," : "", survey_kind_names[k], s->all.kinds[k]);
    }
    printf("}");
}

static void print_json(inspect *c)
{
    data_survey *s = &c->survey;

    printf("{\"schema\":1,\"status\":\"OK\",\"error\":null,\"samples\":%" PRIu64
           ",\"read\":%" PRIu64 ",\"bad\":%" PRIu64,
           s->samples, s->all.good + s->all.bad, s->all.bad);
    json_columns(s);
    json_classes(c);
    if (s->image >= 0) {
        printf(",\"image_column\":");
        cli_json_string(s->columns[s->image].spec.name);
        json_sizes("width", s->widths, s->looked);
        json_sizes("height", s->heights, s->looked);
        json_sizes("bytes", s->bytes, s->looked);
    } else {
        printf(",\"image_column\":null,\"width\":null,\"height\":null,\"bytes\":null");
    }
    json_kinds(s, "formats", KIND_JPEG, KIND_JPEG_GRAY);
    json_kinds(s, "jpeg", KIND_JPEG_GRAY, KIND_PNG_GRAY);
    json_kinds(s, "png", KIND_PNG_GRAY, KIND_PNM_16_BITS);
    json_kinds(s, "pnm", KIND_PNM_16_BITS, KIND_TIFF_16_BITS);
    json_kinds(s, "tiff", KIND_TIFF_16_BITS, KIND_JP2_16_BITS);
    json_kinds(s, "jp2", KIND_JP2_16_BITS, KIND_ORIENTED);
    json_kinds(s, "notes", KIND_ORIENTED, KINDS);
    finding_json(s);
    printf(",\"unreadable\":[");
    for (uint32_t i = 0; i < s->all.named_count; i++) {
        printf("%s{\"sample\":%" PRIu64 ",\"name\":", i > 0 ? "," : "", s->all.named[i].sample);
        survey_print_name(s, s->all.named[i].sample, true);
        printf(",\"why\":");
        cli_json_string(s->all.named[i].why != NULL ? s->all.named[i].why : "");
        printf("}");
    }
    printf("]}\n");
}

/* ---- the command ----------------------------------------------------------------------------- */

static sluice_status run(inspect *c)
{
    sluice_status st = open_data(c, &c->dataset);

    if (st == SLUICE_OK) {
        c->survey.dataset = c->dataset;
        cli_progress_begin(&c->progress);
        st = survey_run(&c->survey, c->most, c->worker_count, &c->progress);
    }
    return st;
}

int cmd_inspect(int argc, char **argv)
{
    inspect c = {.most = UINT64_MAX, .workers = "auto", .json = cli_wants_json(argc, argv)};
    sluice_status st = SLUICE_E_INVALID;
    sluice_stop *stop = NULL;
    int code = parse(&c, argc, argv);

    if (code == EXIT_DONE) {
        st = sluice_stop_create(&stop);
    }
    if (code == EXIT_DONE && st == SLUICE_OK) {
        cli_catch_signals(stop); /* sets cli_signal(), which workers poll; the token is unused */
        st = run(&c);
        cli_catch_signals(NULL);
    }
    if (code == EXIT_DONE) {
        code = st == SLUICE_OK ? cli_exit_code(SLUICE_OK) : cli_refused(st);
    }
    if (code == EXIT_DONE && c.survey.all.bad > 0) {
        code = EXIT_RUNTIME;
    }
    if (st != SLUICE_OK && c.json) {
        cli_json_failure(st, cli_said());
    } else if (st == SLUICE_OK && c.json) {
        print_json(&c);
    } else if (st == SLUICE_OK) {
        print_text(&c);
    }
    survey_free(&c.survey);
    sluice_dataset_destroy(c.dataset);
    sluice_stop_destroy(stop);
    return code;
}
