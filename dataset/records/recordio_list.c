/* SPDX-License-Identifier: Apache-2.0 */
#include "recordio_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "error_int.h"
#include "plain_file.h"
#include "status_int.h"
#include "text_int.h"

struct recordio_list {
    pthread_mutex_t lock; /* of `is_read`, and of what follows until it is set */
    bool is_read;
    sli_error error; /* why the list could not be read */
    char *path;
    char *text; /* whose tabs and line breaks are zeros */
    float *labels;
    size_t label_capacity;
    size_t label_count;
    recordio_line *lines; /* by their ids */
    size_t line_capacity;
    size_t line_count;
};

sluice_status recordio_list_create(const char *records, recordio_list **list_out)
{
    recordio_list *list = sli_calloc(1, sizeof(*list));
    const size_t length = strlen(records);

    if (list != NULL) {
        list->path = sli_calloc(1, length + 5);
    }
    if (list == NULL || list->path == NULL) {
        sli_free(list);
        return sli_fail(SLUICE_E_NO_MEMORY, "a list");
    }
    memcpy(list->path, records, length);
    memcpy(list->path + length - (length >= 4 && strcmp(records + length - 4, ".rec") == 0 ? 4 : 0),
           ".lst", 5);
    pthread_mutex_init(&list->lock, NULL);
    *list_out = list;
    return SLUICE_OK;
}

void recordio_list_free(recordio_list *list)
{
    if (list != NULL) {
        pthread_mutex_destroy(&list->lock);
        sli_free(list->path);
        sli_free(list->text);
        sli_free(list->labels);
        sli_free(list->lines);
        sli_free(list);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the file. END_OF_DATA: there is none. */
static sluice_status read_text(recordio_list *list, size_t *size_out)
{
    uint64_t size = 0;
    int fd = -1;
    sluice_status st = plain_file_open(list->path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return sli_last_errno() == ENOENT ? SLUICE_END_OF_DATA : st;
    }
    list->text = sli_calloc(1, (size_t)size + 1);
    st = list->text != NULL
             ? plain_file_read(fd, 0, list->text, (size_t)size, size_out)
             : sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu bytes", (unsigned long long)size);
    close(fd);
    return st;
}

static bool parse_id(const char *text, uint64_t *id_out)
{
    uint64_t id = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || id > (UINT64_MAX - 9) / 10) {
            return false;
        }
        id = 10 * id + (uint64_t)(*at - '0');
    }
    *id_out = id;
    return *text != '\0';
}

static sluice_status add_label(recordio_list *list, const char *text, recordio_line *line)
{
    float *labels =
        sli_grow(list->labels, &list->label_capacity, list->label_count + 1, sizeof(*labels));
    double label;

    if (labels == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu labels", list->label_count);
    }
    list->labels = labels;
    if (!sli_parse_real(text, &label)) {
        return sli_fail(SLUICE_E_CORRUPT, "the label '%.100s' must be a number", text);
    }
    labels[list->label_count++] = (float)label;
    line->label_count++;
    return SLUICE_OK;
}

/* Adds a line, which ends with a zero; its labels are found when all lines are there. */
static sluice_status add_line(recordio_list *list, char *text)
{
    recordio_line *lines =
        sli_grow(list->lines, &list->line_capacity, list->line_count + 1, sizeof(*lines));
    recordio_line line = {.label_count = 0};
    char *path = strrchr(text, '\t');
    char *end = NULL;
    sluice_status st = SLUICE_OK;

    if (lines == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu lines", list->line_count);
    }
    list->lines = lines;
    if (path != NULL) {
        *path = '\0';
        line.path = path + 1;
        end = strchr(text, '\t');
    }
    if (end == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "it must be an id, labels and a path, with tabs between "
                                          "them");
    }
    *end = '\0';
    if (!parse_id(text, &line.id)) {
        return sli_fail(SLUICE_E_CORRUPT, "the id '%.100s' must be a whole number", text);
    }
    while (st == SLUICE_OK && end != NULL) {
        text = end + 1;
        end = strchr(text, '\t');
        if (end != NULL) {
            *end = '\0';
        }
        st = add_label(list, text, &line);
    }
    lines[list->line_count++] = line;
    return st;
}

static int compare_lines(const void *a, const void *b)
{
    const uint64_t first = ((const recordio_line *)a)->id;
    const uint64_t second = ((const recordio_line *)b)->id;

    return first < second ? -1 : first > second;
}

/* Points the lines to their labels, and sorts them. */
static sluice_status finish(recordio_list *list)
{
    const float *labels = list->labels;

    for (size_t i = 0; i < list->line_count; i++) {
        list->lines[i].labels = labels;
        labels += list->lines[i].label_count;
    }
    if (list->line_count > 0) {
        qsort(list->lines, list->line_count, sizeof(*list->lines), compare_lines);
    }
    for (size_t i = 1; i < list->line_count; i++) {
        if (list->lines[i].id == list->lines[i - 1].id) {
            return sli_fail(SLUICE_E_CORRUPT, "%.400s: the id %llu appears twice", list->path,
                            (unsigned long long)list->lines[i].id);
        }
    }
    return SLUICE_OK;
}

static sluice_status read_list(recordio_list *list)
{
    size_t size = 0;
    uint64_t number = 0;
    sluice_status st = read_text(list, &size);
    char *line = list->text;

    while (st == SLUICE_OK && line < list->text + size) {
        const size_t length = strcspn(line, "\n");

        number++;
        line[length] = '\0';
        if (length > 0 && line[length - 1] == '\r') {
            line[length - 1] = '\0';
        }
        st = line[0] != '\0' ? add_line(list, line) : SLUICE_OK;
        line += length + 1;
    }
    if (st == SLUICE_END_OF_DATA) {
        return SLUICE_OK;
    }
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "line %llu of %.400s: %.300s", (unsigned long long)number,
                                list->path, sluice_last_error());
    }
    return finish(list);
}

sluice_status recordio_list_find(recordio_list *list, uint64_t id, const recordio_line **line_out)
{
    const recordio_line key = {.id = id};

    pthread_mutex_lock(&list->lock);
    if (!list->is_read) {
        sli_error_take(read_list(list), &list->error);
        list->is_read = true;
    }
    pthread_mutex_unlock(&list->lock);
    if (list->error.status != SLUICE_OK) {
        return sli_error_raise(&list->error);
    }
    *line_out = list->line_count > 0 ? bsearch(&key, list->lines, list->line_count,
                                               sizeof(*list->lines), compare_lines)
                                     : NULL;
    return SLUICE_OK;
}
