/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_names.h"

#include <string.h>

const stage_def *stage_find(const stage_def *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (strcmp(table[i]->name, name) == 0) {
            return table[i];
        }
    }
    return NULL;
}

/* Returns whether the name is one of `names`, which blanks separate. */
static bool is_among(const char *name, const char *names)
{
    const size_t length = strlen(name);

    while (names != NULL && *names != '\0') {
        const size_t next = strcspn(names, " ");

        if (next == length && strncmp(name, names, length) == 0) {
            return true;
        }
        names += next + (names[next] == ' ');
    }
    return false;
}

const stage_def *stage_find_elsewhere(const stage_def *const *table, const char *name)
{
    for (size_t i = 0; table[i] != NULL; i++) {
        if (is_among(name, table[i]->elsewhere)) {
            return table[i];
        }
    }
    return NULL;
}

/* Names in DALI, MindSpore, torch, tf.data and FFCV that are not those of one stage of ours. */
static const struct {
    const char *theirs;
    const char *ours;
} elsewhere[] = {
    {"RandomCropDecodeResize", "decode | random_resized_crop H,W"},
    {"num_classes", "classes"},
    {"labels_getter", "label, the name of a column"},
    {"padding_mode", "mode"},
    {"ToTensor", "to_dtype f32 scale=true | to_chw"},
    {"Rescale", "to_dtype f32 scale=true"},
    {"crop_mirror_normalize",
     "center_crop H,W | random_horizontal_flip P | normalize MEAN STD | to_chw"},
    {"image_random_crop", "decode | random_resized_crop H,W"},
    {"readers.file", "image_folder DIR"},
    {"file_root", "the first argument of image_folder"},
    {"dataset_dir", "the first argument of the source"},
    {"random_shuffle", "the stage shuffle"},
    {"num_parallel_workers", "workers, an option of the run (--workers)"},
    {"num_workers", "workers, an option of the run (--workers)"},
    {"num_threads", "workers, an option of the run (--workers)"},
    {"num_parallel_calls", "workers, an option of the run (--workers)"},
    {"prefetch", "slots, an option of the run (--slots)"},
    {"prefetch_queue_depth", "slots, an option of the run (--slots)"},
    {"prefetch_factor", "slots, an option of the run (--slots)"},
    {"prefetch_size", "slots, an option of the run (--slots)"},
    {"num_shards", "world, of the stage shard or an option of the run (--world)"},
    {"shard_id", "rank, of the stage shard or an option of the run (--rank)"},
    {"batch_size", "the stage batch N"},
    {"interpolation", "filter"},
    {"interp_type", "filter"},
    {"drop_last", "drop_remainder"},
    {"last_batch_policy", "drop_remainder"},
    {"map", "the transforms themselves, one after another"},
};

const char *stage_name_from_elsewhere(const char *name)
{
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        if (strcmp(name, elsewhere[i].theirs) == 0) {
            return elsewhere[i].ours;
        }
    }
    return NULL;
}

/* Returns the Levenshtein distance of two names; LONGEST if a name is too long for the table. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    size_t length = strlen(b);

    if (strlen(a) > LONGEST || length > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            size_t shorter = row[j] < row[j + 1] ? row[j] : row[j + 1];

            diagonal = row[j + 1];
            row[j + 1] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[length];
}

/*
 * Returns the candidate if its edit distance is smaller than *best_distance, which is then updated;
 * otherwise `best`.
 */
static const char *nearer(const char *name, const char *candidate, const char *best,
                          size_t *best_distance)
{
    size_t d = edit_distance(name, candidate);

    if (d < *best_distance) {
        *best_distance = d;
        return candidate;
    }
    return best;
}

/* Returns the edit distance from which on names are not suggested. */
static size_t too_far(const char *name)
{
    return strlen(name) / 3 + 2;
}

const char *stage_find_nearest(const stage_def *const *table, const char *name)
{
    size_t best_distance = too_far(name);
    const char *best = NULL;

    for (size_t i = 0; table[i] != NULL; i++) {
        best = nearer(name, table[i]->name, best, &best_distance);
    }
    return best;
}

const char *stage_param_nearest(const stage_def *def, const char *name)
{
    size_t best_distance = too_far(name);
    const char *best = NULL;

    for (uint32_t i = 0; i < def->param_count; i++) {
        best = nearer(name, def->params[i].name, best, &best_distance);
    }
    return best;
}

const char *stage_param_name(const stage_def *def, const char *name)
{
    /* Arguments that version 0.2 calls by another name. */
    static const struct {
        const char *stage;
        const char *before;
        const char *now;
    } renamed[] = {{"mnist", "part", "split"}};

    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
        if (strcmp(def->name, renamed[i].stage) == 0 && strcmp(name, renamed[i].before) == 0) {
            return renamed[i].now;
        }
    }
    return name;
}
