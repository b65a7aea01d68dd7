/* SPDX-License-Identifier: Apache-2.0 */
#include "checked_run.h"

#include <dirent.h>
#include <stdlib.h>

#include "testing.h"

static checked_run *of(kit *k)
{
    return k->user;
}

sluice_status checked_save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    kit *k = user;

    if (of(k)->saves++ == of(k)->fails_at || rank != 0 || world != 1) {
        return sluice_fail(SLUICE_E_CALLBACK, "no room");
    }
    return kit_save_state(k, folder);
}

sluice_status checked_load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    kit *k = user;
    const sluice_status st = kit_load_state(k, folder);

    if (of(k)->loads++ == of(k)->fails_at || rank != 0 || world != 1) {
        return sluice_fail(SLUICE_E_CALLBACK, "no weights");
    }
    return st;
}

void checked_init(checked_run *s)
{
    const char *before = getenv("TMPDIR");

    memset((void *)s, 0, sizeof(*s));
    snprintf(s->before, sizeof(s->before), "%s", before != NULL ? before : "");
    snprintf(s->folder, sizeof(s->folder), "%s", t_folder());
    T_EQ(setenv("TMPDIR", s->folder, 1), 0);
    kit_init(&s->kit);
    s->kit.user = s;
    s->kit.model.save = checked_save;
    s->kit.model.load = checked_load;
    s->kit.config.sink_size = 30;
    s->kit.config.epochs = 3;
    s->kit.config.check = true;
    s->fails_at = UINT64_MAX;
}

void checked_fini(checked_run *s)
{
    DIR *entries = opendir(s->folder);
    int count = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(entries);
    while (readdir(entries) != NULL) {
        count++;
    }
    closedir(entries);
    if (s->before[0] != '\0') {
        setenv("TMPDIR", s->before, 1);
    } else {
        unsetenv("TMPDIR");
    }
    T_EQ(count, 2); /* . and .. */
    kit_fini(&s->kit);
}
