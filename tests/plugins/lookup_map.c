/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin with the stage `lookup`, which asks a server for each sample: it sleeps for 2 ms. */
#include <time.h>

#include <sluice/plugin.h>

static const sluice_plugin_host *sluice;

static sluice_status look_up(sluice_sample *sample, void *user)
{
    const struct timespec answer = {0, 2000000};
    void *room;
    sluice_status st = sluice->sample_room(sample, "price", NULL, &room);

    (void)user;
    if (st >= 0) {
        (void)nanosleep(&answer, NULL);
        *(float *)room = 0;
    }
    return st;
}

static sluice_status build(sluice_builder *builder, void *user)
{
    static const sluice_column_spec outputs[] = {
        {"price", SLUICE_F32, 0, {0}, SLUICE_ROLE_PLAIN, 0, NULL}};
    const sluice_map map = {
        .struct_size = sizeof(map), .map = look_up, .outputs = outputs, .output_count = 1};

    (void)user;
    return sluice->builder_map(builder, &map);
}

static sluice_status init(const sluice_plugin_host *host)
{
    const sluice_stage stage = {.struct_size = sizeof(stage),
                                .name = "lookup",
                                .summary = "Asks a server.",
                                .gives = "price f32 ()",
                                .kind = SLUICE_STAGE_MAP,
                                .version = 1,
                                .build = build};

    sluice = host;
    return host->stage_register(&stage);
}

const sluice_plugin sluice_plugin_1 = {sizeof(sluice_plugin_host), init};
