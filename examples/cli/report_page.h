/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of runs as one HTML page, without scripts and without anything from a network. */
#ifndef SLUICE_REPORT_PAGE_H
#define SLUICE_REPORT_PAGE_H

#include <stdio.h>

#include "report_reader.h"

/* Writes the page; runs are side by side. The JSON of each is embedded as it is in its file. */
void report_page_write(FILE *out, const saved_report *reports, size_t count);

/* The style of the page: the contents of its <style>. */
extern const char report_style[];

/* A part of a run's page: of a key of the report. */
typedef struct report_part {
    const char *title;
    const char *key;
    bool rare; /* not every run has it: left out without a word */
    void (*write)(FILE *out, const json_t *run, json_t *value);
} report_part;

void part_verdict(FILE *out, const json_t *run, json_t *bottleneck);
void part_advice(FILE *out, const json_t *run, json_t *advice);
void part_time(FILE *out, const json_t *run, json_t *time);
void part_pipeline(FILE *out, const json_t *run, json_t *stages);
void part_stages(FILE *out, const json_t *run, json_t *stages);
void part_threads(FILE *out, const json_t *run, json_t *threads);
void part_series(FILE *out, const json_t *run, json_t *series);
void part_passes(FILE *out, const json_t *run, json_t *passes);
void part_slowest(FILE *out, const json_t *run, json_t *slowest);
void part_memory(FILE *out, const json_t *run, json_t *memory);
void part_facts(FILE *out, const json_t *run, json_t *object);
void part_errors(FILE *out, const json_t *run, json_t *errors);
void part_ranks(FILE *out, const json_t *run, json_t *merge);

/* Writes a table of objects, a column for each key of the first one; what is left out is said. */
void report_table(FILE *out, json_t *rows, size_t most);

/* Says how many of what a part has are not shown. */
void report_rest(FILE *out, const char *what, size_t shown, size_t all);

/* Writes a value of a report in the unit that the end of its key names, such as "max_us". */
void report_value(FILE *out, const char *key, const json_t *value);

#endif
