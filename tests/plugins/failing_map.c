/* SPDX-License-Identifier: Apache-2.0 */
/* A map that fails from its call number N + 1 on, over all runs of the process, for
 * test_compare.sh: `fail_after N`. */
#include <stdatomic.h>
#include <stdlib.h>

#include <sluice/plugin.h>

static const sluice_plugin_host *sluice;
static atomic_llong calls;

static sluice_status count_call(sluice_sample *sample, void *user)
{
    const int64_t most = *(const int64_t *)user;
    void *room;
    sluice_status st = sluice->sample_room(sample, "count", NULL, &room);

    if (st >= 0) {
        *(float *)room = 0;
        st = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) < most
                 ? SLUICE_OK
                 : sluice->fail(SLUICE_E_IO, "fail_after: call %lld fails", (long long)most + 1);
    }
    return st;
}

static sluice_status build(sluice_builder *builder, void *user)
{
    static const sluice_column_spec outputs[] = {
        {"count", SLUICE_F32, 0, {0}, SLUICE_ROLE_PLAIN, 0, NULL}};
    int64_t *most = malloc(sizeof(*most));
    sluice_map map = {.struct_size = sizeof(map), .map = count_call, .user = most};
    sluice_status st = most != NULL ? sluice->builder_int(builder, "calls", most)
                                    : sluice->fail(SLUICE_E_NO_MEMORY, "no memory");

    (void)user;
    map.outputs = outputs;
    map.output_count = 1;
    map.close = free;
    st = st < 0 ? st : sluice->builder_map(builder, &map);
    if (st < 0) {
        free(most);
    }
    return st;
}

static sluice_status init(const sluice_plugin_host *host)
{
    static const sluice_parameter parameters[] = {
        {"calls", SLUICE_PARAMETER_INT, 0, 0, 1000000, NULL, "calls that do not fail"}};
    sluice_stage stage = {.struct_size = sizeof(stage), .name = "fail_after", .build = build};

    sluice = host;
    stage.summary = "Fails after so many calls.";
    stage.kind = SLUICE_STAGE_MAP;
    stage.version = 1;
    stage.parameters = parameters;
    stage.parameter_count = 1;
    return host->stage_register(&stage);
}

const sluice_plugin sluice_plugin_1 = {sizeof(sluice_plugin_host), init};
