/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins with one fault each, chosen by WRONG; test_plugins.sh loads them. */
#include <sluice/plugin.h>

enum { NO_SYMBOL, LATER_INTERFACE, LATER_TABLE, NO_TABLE, ODD_TABLE, NO_INIT, FAILS, TAKEN, TWICE };

#if WRONG == 0
int not_a_plugin(void);
int not_a_plugin(void)
{
    return 0;
}
#elif WRONG == 1
extern SLUICE_API const long sluice_plugin_3[8];
const long sluice_plugin_3[8] = {400};
#else

static sluice_status build(sluice_builder *builder, void *user)
{
    (void)builder;
    (void)user;
    return SLUICE_OK;
}

/* Registers one valid stage first, which must not stay registered. */
static sluice_status init(const sluice_plugin_host *host)
{
    const sluice_stage good = {
        .struct_size = sizeof(good), .name = "left_over", .kind = SLUICE_STAGE_MAP, .build = build};
    sluice_stage taken = good;
    sluice_status st = host->stage_register(&good);

    taken.name = "resize";
    if (st == SLUICE_OK && WRONG == FAILS) {
        st = host->fail(SLUICE_E_UNSUPPORTED, "wants a machine with %d wheels", 3);
    }
    if (st == SLUICE_OK && WRONG == TAKEN) {
        st = host->stage_register(&taken);
    }
    if (st == SLUICE_OK && WRONG == TWICE) {
        st = host->stage_register(&good);
    }
    return st;
}

const sluice_plugin sluice_plugin_1 = {
    WRONG == LATER_TABLE ? sizeof(sluice_plugin_host) + 8
    : WRONG == NO_TABLE  ? 0
    : WRONG == ODD_TABLE ? 77777
                         : sizeof(sluice_plugin_host),
    WRONG == NO_INIT ? 0 : init,
};
#endif
