/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_registry.h"

#include <pthread.h>
#include <string.h>

#include "alloc_int.h"
#include "stage_names.h"
#include "stage_table.h"
#include "status_int.h"
#include "struct_size_int.h"

/*
 * Tables of all stages. A registration makes new ones; the old ones are never freed, since a parser
 * may use them. Both tables are in `entries`: first those of registry_stages(), then those of
 * registry_stages_with_calls().
 */
typedef struct registry_tables {
    struct registry_tables *older;
    const stage_def *const *stages;
    const stage_def *const *with_calls;
    const stage_def *entries[];
} registry_tables;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registry_tables *newest; /* guarded by lock; NULL: the tables of the library */
static uint32_t registered;     /* number of stages; guarded by lock */
static _Thread_local registry_group *current_group;

static size_t table_length(const stage_def *const *table)
{
    size_t length = 0;

    while (table[length] != NULL) {
        length++;
    }
    return length;
}

static const stage_def *const *stages_locked(void)
{
    return newest != NULL ? newest->stages : stage_table;
}

static const stage_def *const *with_calls_locked(void)
{
    return newest != NULL ? newest->with_calls : stage_table_with_calls;
}

const stage_def *const *registry_stages(void)
{
    const stage_def *const *table;

    pthread_mutex_lock(&lock);
    table = stages_locked();
    pthread_mutex_unlock(&lock);
    return table;
}

const stage_def *const *registry_stages_with_calls(void)
{
    const stage_def *const *table;

    pthread_mutex_lock(&lock);
    table = with_calls_locked();
    pthread_mutex_unlock(&lock);
    return table;
}

/* Copies a table and appends stages to it. */
static void extend_table(const stage_def *const *from, named_stage *const *stages, uint32_t count,
                         const stage_def **to)
{
    const size_t length = table_length(from);

    memcpy(to, from, length * sizeof(*to));
    for (uint32_t i = 0; i < count; i++) {
        to[length + i] = &stages[i]->def;
    }
    to[length + count] = NULL;
}

static sluice_status check_free(const char *name)
{
    const stage_def *taken = stage_find(with_calls_locked(), name);

    if (taken == NULL) {
        return SLUICE_OK;
    }
    if (stage_find(stage_table_with_calls, name) != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_stage_register: %s is a stage of Sluice; choose another name, such "
                        "as my_%.20s",
                        name, name);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "sluice_stage_register: %s is taken by %s; choose another name", name,
                    ((const named_stage *)(const void *)taken)->origin);
}

static sluice_status publish_locked(named_stage *const *stages, uint32_t count)
{
    size_t plain;
    size_t all;
    registry_tables *tables;

    for (uint32_t i = 0; i < count; i++) {
        const sluice_status st = check_free(stages[i]->def.name);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (registered + count > REGISTRY_MOST) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_stage_register: with %s there would be more than %d stages",
                        stages[0]->def.name, REGISTRY_MOST);
    }
    plain = table_length(stages_locked()) + count + 1;
    all = table_length(with_calls_locked()) + count + 1;
    tables = sli_calloc(1, sizeof(*tables) + (plain + all) * sizeof(tables->entries[0]));
    if (tables == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the table of stages");
    }
    extend_table(stages_locked(), stages, count, tables->entries);
    extend_table(with_calls_locked(), stages, count, tables->entries + plain);
    tables->stages = tables->entries;
    tables->with_calls = tables->entries + plain;
    tables->older = newest;
    newest = tables;
    registered += count;
    return SLUICE_OK;
}

static sluice_status publish(named_stage *const *stages, uint32_t count)
{
    sluice_status st;

    if (count == 0) {
        return SLUICE_OK;
    }
    pthread_mutex_lock(&lock);
    st = publish_locked(stages, count);
    pthread_mutex_unlock(&lock);
    return st;
}

bool registry_group_is_open(void)
{
    return current_group != NULL;
}

void registry_group_begin(registry_group *group)
{
    group->count = 0;
    current_group = group;
}

sluice_status registry_group_end(registry_group *group, sluice_status status)
{
    current_group = NULL;
    if (status == SLUICE_OK) {
        status = publish(group->stages, group->count);
    }
    for (uint32_t i = 0; i < group->count && status != SLUICE_OK; i++) {
        named_stage_free(group->stages[i]);
    }
    return status;
}

/* Adds a stage to the group of this thread, if its name is not taken. */
static sluice_status add_to_group(registry_group *group, named_stage *named)
{
    sluice_status st;

    for (uint32_t i = 0; i < group->count; i++) {
        if (strcmp(group->stages[i]->def.name, named->def.name) == 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "sluice_stage_register: %s is taken by %s; choose another name",
                            named->def.name, group->origin);
        }
    }
    if (group->count == REGISTRY_MOST) {
        return sli_fail(SLUICE_E_INVALID, "sluice_stage_register: more than %d stages",
                        REGISTRY_MOST);
    }
    pthread_mutex_lock(&lock);
    st = check_free(named->def.name);
    pthread_mutex_unlock(&lock);
    if (st == SLUICE_OK) {
        group->stages[group->count++] = named;
    }
    return st;
}

static const sli_struct stage_struct = SLI_STRUCT(sluice_stage, user);

sluice_status sluice_stage_register(const sluice_stage *stage)
{
    registry_group *group = current_group;
    named_stage *named = NULL;
    sluice_stage own;
    sluice_status st = sli_struct_read(&stage_struct, "sluice_stage_register", stage, &own);

    if (st == SLUICE_OK) {
        st = named_stage_make(&own, group != NULL ? group->origin : "this program", &named);
    }
    if (st == SLUICE_OK) {
        st = group != NULL ? add_to_group(group, named) : publish(&named, 1);
    }
    if (st != SLUICE_OK) {
        named_stage_free(named);
    }
    return st;
}
