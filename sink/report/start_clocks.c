/* SPDX-License-Identifier: Apache-2.0 */
#include "start_clocks.h"

#include <string.h>

#include "clock_int.h"

static void add_thread(start_clocks *start, const sli_thread *thread)
{
    sli_thread_place place;

    if (thread != NULL) {
        sli_thread_place_get(thread, &place);
        start->threads[start->thread_count++] = place.times;
    }
}

void start_clocks_read(start_clocks *start, const sli_topology *topology,
                       const sink_program *program, const sli_thread *watchdog)
{
    memset(start, 0, sizeof(*start));
    sli_thread_times_own(&start->threads[start->thread_count++]);
    if (program != NULL && program->ops->thread != NULL) {
        add_thread(start, program->ops->thread(program));
    }
    add_thread(start, watchdog);
    sli_machine_load_read("", &topology->allowed, &start->load);
    start->cpu_ns = sli_process_cpu_ns();
    start->ns = sli_now_ns();
}
