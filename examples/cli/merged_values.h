/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the reports of several ranks as one value, by a rule for each key. */
#ifndef SLUICE_MERGED_VALUES_H
#define SLUICE_MERGED_VALUES_H

#include <stddef.h>

#include <jansson.h>

typedef enum merge_rule {
    MERGE_SUM,
    MERGE_MAX,
    MERGE_MIN,
    MERGE_MEAN,
    MERGE_BY_SAMPLES, /* mean, weighted by the samples of the stage, or of the run */
    MERGE_BY_THREADS, /* mean, weighted by the threads of the stage and the run's seconds */
    MERGE_BY_BUSY,    /* mean, weighted by the busy time of the stage */
    MERGE_SAME        /* the value that all have; else null */
} merge_rule;

typedef struct merged_key {
    const char *key;
    merge_rule rule;
} merged_key;

/* What one rank has of a part of the report. */
typedef struct rank_part {
    const json_t *object; /* NULL: this rank does not have the part */
    const json_t *stage;  /* that holds the part or is it; NULL: none */
    const json_t *run;
} rank_part;

/* Merges the values of a key; null if it is not known of any rank. NULL: out of memory. */
json_t *merged_value(const rank_part *parts, size_t count, const merged_key *key);

/* Sets the keys of a table that a part has; it ends with a NULL key. Returns 0, or -1 if out of
 * memory. */
int merged_set(json_t *object, const rank_part *parts, size_t count, const merged_key *keys);

/* Sets p50_us, p99_us and histogram of a stage from the histograms of all ranks that have the
 * stage; null if one of them has none. Returns 0, or -1 if out of memory. */
int merged_set_histogram(json_t *stage, const rank_part *parts, size_t count);

#endif
