/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_kit.h"

#include "testing.h"

sli_topology *open_text(const char *synthetic)
{
    const sli_topology_config config = {.synthetic = synthetic};
    sli_topology *topology = NULL;

    T_OK(sli_topology_open(&config, &topology));
    T_TRUE(!topology->this_system); /* hwloc falls back to the real machine on a wrong text */
    return topology;
}
