/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint_kit.h"

#include <unistd.h>

#include "testing.h"

sluice_status kit_save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    T_EQ(rank, 0);
    T_EQ(world, 1);
    return kit_save_state(user, folder);
}

sluice_status kit_load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    T_EQ(rank, 0);
    T_EQ(world, 1);
    return kit_load_state(user, folder);
}

void checkpointed_init(kit *k, const char *folder)
{
    kit_init(k);
    k->model.save = kit_save;
    k->model.load = kit_load;
    k->config.sink_size = 30;
    k->config.epochs = 0;
    k->config.max_steps = 250;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = 20;
    k->checkpoint.resume = true;
}

bool is_there(const char *folder, const char *name)
{
    return access(t_path(folder, name), F_OK) == 0;
}

void begin_checkpoints(char folder[300])
{
    kit k;

    snprintf(folder, 300, "%s/c", t_folder());
    checkpointed_init(&k, folder);
    k.config.max_steps = 50;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.checkpoints, 3); /* 20, 40, and 50 at the end */
    kit_fini(&k);
}
