/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of record files: stored ones, and those of other tools. */
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tfrecord_kit.h"

/* Opens a dataset of a file, and returns what was logged. */
static const char *log_of(const char *path, const char *arguments)
{
    char text[1200];

    kit_log_start(NULL, NULL);
    sluice_log_set_level(SLUICE_LOG_INFO);
    snprintf(text, sizeof(text), "tfrecord %s %s | batch 1", path, arguments);
    T_OK(open_pipeline(text));
    sluice_log_set_level(SLUICE_LOG_WARN);
    return kit_log_stop();
}

static void an_index_is_kept_in_a_folder(void)
{
    const char *path = tfrecord_write(t_folder(), "a.tfrecord", 0, 3);
    char arguments[400];
    const char *log;
    char *at;

    snprintf(arguments, sizeof(arguments), TFRECORD_ALL " index=%s | decode",
             t_path(t_folder(), "more/cache"));
    log = log_of(path, arguments);
    T_CONTAINS(log, "3 records, is kept in ");
    at = strdup(strstr(log, "is kept in ") + strlen("is kept in "));
    T_TRUE(at != NULL);
    at[strcspn(at, "\n")] = '\0';
    T_TRUE(strstr(log_of(path, arguments), "index") == NULL); /* it is used */
    change_byte(at, 60);
    T_CONTAINS(log_of(path, arguments), "is not used: it is corrupt");
    T_TRUE(strstr(log_of(path, arguments), "index") == NULL); /* it was rebuilt */
    T_EQ(truncate(at, 20), 0);
    T_CONTAINS(log_of(path, arguments), "is not an index");
    free(at);
}

/* Of a large file the user's cache has the index, unless index=none. */
static void the_cache_of_the_user_keeps_indexes_of_large_files(void)
{
    const char *folder = t_folder();
    const char *path = tfrecord_write(folder, "small.tfrecord", 0, 3);
    const char *was = getenv("XDG_CACHE_HOME");
    char *home = was != NULL ? strdup(was) : NULL;
    record_bytes file = {NULL, 0, 0};
    record_maker maker = {.names = {.count = 0}};
    uint8_t *bytes = calloc(1, 1 << 24);
    char log[2][300];

    T_TRUE(bytes != NULL);
    T_EQ(setenv("XDG_CACHE_HOME", folder, 1), 0);
    T_TRUE(strstr(log_of(path, TFRECORD_ALL " | decode"), "is kept in") == NULL);
    maker_bytes(&maker, "x", bytes, 1 << 24);
    maker_end(&maker, &file);
    free(bytes);
    path = t_path(folder, "large.tfrecord");
    write_records(&file, path);
    snprintf(log[0], sizeof(log[0]), "%s", log_of(path, "fields=x:x@bytes[9] index=none"));
    snprintf(log[1], sizeof(log[1]), "%s", log_of(path, "fields=x:x@bytes[9]"));
    T_EQ(home != NULL ? setenv("XDG_CACHE_HOME", home, 1) : unsetenv("XDG_CACHE_HOME"), 0);
    free(home);
    T_STR(log[0], "");
    T_CONTAINS(log[1], "is kept in");
}

/* An index of tfrecord2idx finds records although the length of one has a wrong checksum. */
static void an_index_of_another_tool_is_read(void)
{
    const char *folder = t_folder();
    const char *path = tfrecord_write(folder, "a.tfrecord", 0, 2);
    record_bytes file = {NULL, 0, 0};
    size_t first;
    char lines[100];
    sluice_dataset *dataset;
    int32_t label = 0;
    void *columns[] = {&label};

    tfrecord_add(&file, 0);
    first = file.size;
    tfrecord_add(&file, 1);
    snprintf(lines, sizeof(lines), "0 %zu\n%zu %zu\n", first, first, file.size - first);
    t_write_file(t_path(folder, "a.idx"), lines, strlen(lines));
    change_byte(path, (long)first + 8);
    dataset = parsedf("tfrecord %s fields=y:image/class/label@i32 | batch 1", path);
    T_OK(sluice_dataset_get(dataset, 1, 0, 0, columns, NULL));
    T_STATUS(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "no record begins there");
    sluice_dataset_destroy(dataset);
    change_byte(path, (long)first + 8);
    snprintf(lines, sizeof(lines), "0 %zu\n%zu %zu\n", first, first + 1, file.size - first - 1);
    t_write_file(t_path(folder, "a.tfrecord.idx"), lines, strlen(lines));
    T_CONTAINS(log_of(path, TFRECORD_ALL " | decode"), "a.tfrecord.idx: record 1, of ");
    snprintf(lines, sizeof(lines), "0 %zu\n", first);
    t_write_file(t_path(folder, "a.tfrecord.idx"), lines, strlen(lines));
    T_CONTAINS(log_of(path, TFRECORD_ALL " | decode"),
               "a.tfrecord.idx: its last record ends at byte");
    snprintf(lines, sizeof(lines), "0 %zu\n%zu", first, first);
    t_write_file(t_path(folder, "a.tfrecord.idx"), lines, strlen(lines));
    T_CONTAINS(log_of(path, TFRECORD_ALL " | decode"),
               "a.tfrecord.idx: line 2 must be the offset and the size of a record; it is not "
               "used, and the file is scanned");
    record_bytes_free(&file);
}

const t_test record_indexes_tests[] = {
    T_TEST(an_index_is_kept_in_a_folder),
    T_TEST(the_cache_of_the_user_keeps_indexes_of_large_files),
    T_TEST(an_index_of_another_tool_is_read),
    T_END,
};
