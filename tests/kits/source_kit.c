/* SPDX-License-Identifier: Apache-2.0 */
#include "source_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_kit.h"
#include "testing.h"

const char *other_folder(void)
{
    static char other[300];

    snprintf(other, sizeof(other), "%s", t_folder());
    return other;
}

const char *name_of(const sluice_dataset *dataset, uint64_t index)
{
    static char name[1024];

    dataset_source(dataset)->name(dataset->source, index, name, sizeof(name));
    return name;
}

sluice_status read_sample(const sluice_dataset *dataset, uint64_t index, sample_io *io,
                          int32_t *label, sample_data *data)
{
    void *const row[SLUICE_MAX_COLUMNS] = {NULL, label};

    memset(data, 0, sizeof(*data));
    return dataset_source(dataset)->read(dataset->source, index, io, row, data);
}

int32_t label_of(const sluice_dataset *dataset, uint64_t index)
{
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = -1;

    T_OK(read_sample(dataset, index, &io, &label, &data));
    sample_io_free(&io);
    return label;
}

void check_read_fails(const sluice_dataset *dataset, uint64_t index, sluice_status want,
                      const char *words)
{
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = -1;

    T_STATUS(read_sample(dataset, index, &io, &label, &data), want);
    T_CONTAINS(sluice_last_error(), words);
    sample_io_free(&io);
}

void check_class(sluice_dataset *dataset, int32_t label, const char *want)
{
    char *name = NULL;

    T_OK(sluice_dataset_class_name(dataset, label, &name));
    T_STR(name != NULL ? name : "", want);
    sluice_string_free(name);
}

sluice_status open_pipeline(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    sluice_dataset_info_init(&info);
    st = st == SLUICE_OK ? sluice_dataset_inspect(dataset, &info) : st;
    sluice_dataset_destroy(dataset);
    return st;
}

void check_source_fails(const char *source, const char *path, const char *arguments,
                        sluice_status want, const char *words)
{
    const int before = open_files();
    char text[4000];

    snprintf(text, sizeof(text), "%s %s %s | batch 1", source, path, arguments);
    T_STATUS(open_pipeline(text), want);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(open_files(), before);
}

void check_open_memory(const char *text)
{
    const int before = open_files();
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t n = 0;

    for (; st != SLUICE_OK; n += T_FAULT_STEP) {
        sli_alloc_fail_after(n);
        st = open_pipeline(text);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        T_EQ(open_files(), before);
    }
    T_TRUE(n > 5);
}

bool can_decode_png(void)
{
#ifdef SLI_HAVE_PNG
    return true;
#else
    return false;
#endif
}

const char *log_of_opening(sluice_dataset *dataset)
{
    char *text = NULL;

    kit_log_start(NULL, NULL);
    T_OK(sluice_dataset_explain(dataset, &text));
    sluice_string_free(text);
    return kit_log_stop();
}

bool become_nobody(void)
{
    return geteuid() != 0 || seteuid(65534) == 0;
}

void become_oneself(void)
{
    if (getuid() == 0 && seteuid(0) != 0) {
        T_FAIL_("cannot become root again: %s", strerror(errno));
    }
}

int open_files(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

void check_same_columns(const sluice_dataset *want, const sluice_dataset *got)
{
    const stage_schema *a = &want->source_schema;
    const stage_schema *b = &got->source_schema;

    T_EQ(b->column_count, a->column_count);
    T_EQ(b->image, a->image);
    for (uint32_t i = 0; i < a->column_count; i++) {
        const column_info *x = &a->infos[i];
        const column_info *y = &b->infos[i];

        T_STR(b->columns[i].name, a->columns[i].name);
        T_EQ(b->columns[i].dtype, a->columns[i].dtype);
        T_EQ(b->columns[i].rank, a->columns[i].rank);
        T_EQ(memcmp(b->columns[i].shape, a->columns[i].shape, sizeof(a->columns[i].shape)), 0);
        T_EQ(y->role, x->role);
        T_EQ(y->in_parts, x->in_parts);
        T_EQ(y->is_tied, x->is_tied);
        T_EQ(y->numbers_mask, x->numbers_mask);
        T_EQ(schema_owner(b, i), schema_owner(a, i));
        T_EQ(schema_length_buffer(b, i), schema_length_buffer(a, i));
    }
}
