/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_kit.h"

#include <stdio.h>
#include <string.h>

#include "testing.h"

static const char mark[] = "=== ";

const char *const machine_kit_names[MACHINE_KIT_MACHINES] = {"v2_quota", "v1_quota", "v2_parent",
                                                             "neighbours", "container"};

/* Adds the file whose line "=== start PATH" begins at `at`. Returns the next such line, or NULL. */
static char *add_file(machine_kit *machine, char *at)
{
    machine_kit_file *file = &machine->files[machine->count++];
    char *line = at + sizeof(mark) - 1;
    char *end = strchr(line, '\n');
    char *next;

    T_TRUE(end != NULL && machine->count <= MACHINE_KIT_FILES);
    next = strstr(end, mark);
    file->is_end = strncmp(line, "end ", 4) == 0;
    file->path = strchr(line, ' ') + 1;
    file->text = end + 1;
    file->size = next != NULL ? (size_t)(next - file->text) : strlen(file->text);
    *end = '\0';
    return next;
}

void machine_kit_open(machine_kit *machine, const char *name)
{
    char path[512];
    FILE *file;

    memset(machine, 0, sizeof(*machine));
    snprintf(machine->root, sizeof(machine->root), "%s", t_folder());
    snprintf(path, sizeof(path), "%s/machines/%s.txt", SLUICE_TEST_DATA, name);
    file = fopen(path, "rb");
    if (file == NULL || fread(machine->text, 1, sizeof(machine->text) - 1, file) == 0) {
        T_FAIL_("%s cannot be read", path);
    }
    fclose(file);
    for (char *at = strstr(machine->text, mark); at != NULL;) {
        at = add_file(machine, at);
    }
    machine_kit_write(machine, false);
}

void machine_kit_write(const machine_kit *machine, bool is_end)
{
    for (size_t i = 0; i < machine->count; i++) {
        const machine_kit_file *file = &machine->files[i];

        if (file->is_end == is_end) {
            t_write_file(t_path(machine->root, file->path), file->text, file->size);
        }
    }
}

sli_machine_load machine_kit_load(const machine_kit *machine)
{
    sli_cpus cpus = {{0}};
    sli_machine_load load;
    double uptime = 0;
    FILE *file = fopen(t_path(machine->root, "proc/uptime"), "r");

    for (uint32_t i = 0; i < MACHINE_KIT_CPUS; i++) {
        sli_cpus_add(&cpus, i);
    }
    sli_machine_load_read(machine->root, &cpus, &load);
    if (file != NULL && fscanf(file, "%lf", &uptime) != 1) {
        uptime = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    load.at_ns = uptime < 1e9 ? (int64_t)(uptime * 1e9) : INT64_MAX; /* NaN is not smaller */
    return load;
}

sli_load_change machine_kit_change(const machine_kit *machine)
{
    sli_machine_load start;
    sli_machine_load end;
    sli_load_change change;

    machine_kit_write(machine, false);
    start = machine_kit_load(machine);
    machine_kit_write(machine, true);
    end = machine_kit_load(machine);
    sli_machine_load_change(&start, &end, &change);
    return change;
}
