/* SPDX-License-Identifier: Apache-2.0 */
#include "verdict_kit.h"

#include <string.h>

void facts_base(verdict_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    facts->run = (verdict_run){.steps = 100,
                               .samples = 3200,
                               .batch_size = 32,
                               .seconds = 10,
                               .data_wait = 0.95,
                               .step = 0.01};
    facts->cores = (verdict_cores){.workers = 2, .allowed = 2, .used = 1.9};
    facts->data = (verdict_data){.source = "image_folder", .cached_after = "", .packs = true};
    facts->host.known = true;
    facts->probed = true;
}

verdict_stage *facts_add(verdict_facts *facts, const char *name, uint32_t kind, double busy_s,
                         double cpu, double runqueue)
{
    verdict_stage *stage = &facts->stages[facts->stage_count++];

    *stage = (verdict_stage){.name = name,
                             .kind = kind,
                             .samples = facts->run.samples,
                             .busy_s = busy_s,
                             .p50_s = busy_s / (double)facts->run.samples,
                             .has_shares = true,
                             .has_clock = true,
                             .has_runqueue = true,
                             .cpu = cpu,
                             .runqueue = runqueue,
                             .blocked = 1 - cpu - runqueue};
    return stage;
}

verdict_stage *facts_add_read(verdict_facts *facts, double busy_s, double cpu)
{
    return facts_add(facts, "read", SLI_STAGE_READ, busy_s, cpu, 0);
}

verdict_stage *facts_add_decode(verdict_facts *facts, double busy_s, double runqueue)
{
    return facts_add(facts, "decode", SLI_STAGE_DECODE, busy_s, 1 - runqueue, runqueue);
}

verdict_stage *facts_add_pixels(verdict_facts *facts, double busy_s)
{
    return facts_add(facts, "random_resized_crop+color+convert", SLI_STAGE_PIXELS, busy_s, 1, 0);
}

verdict_stage *facts_add_map(verdict_facts *facts, uint32_t kind, double busy_s, double cpu)
{
    return facts_add(facts, "mymap", SLI_STAGE_USER | kind, busy_s, cpu, 0.01);
}

void facts_of_decode(verdict_facts *f)
{
    facts_add_read(f, 0.5, 0.9);
    facts_add_decode(f, 15, 0.02);
    facts_add_pixels(f, 4);
    f->data.indexes = (sli_index_counts){.lacking = 3200, .above = 100000, .needed = 50000};
}

void facts_of_a_limited_disk(verdict_facts *f)
{
    facts_add_read(f, 17, 0.01);
    facts_add_decode(f, 2, 0);
    f->data.bytes_read = 80000000;
    f->data.ahead_bytes = 79000000;
    f->cores.used = 0.3;
}

void facts_of_a_sleeping_map(verdict_facts *f)
{
    facts_add_decode(f, 1, 0);
    facts_add_map(f, 0, 18.5, 0.01)->waits = (wait_counts){.running = 1, .asleep = 20};
}

void facts_of_too_many_workers(verdict_facts *f)
{
    facts_add_decode(f, 157, 0.87);
    f->cores.workers = 16;
}

void facts_of_hooks(verdict_facts *f)
{
    facts_add_decode(f, 4, 0);
    f->run.data_wait = 0.01;
    f->run.step = 0.01;
    f->host.hooks_s = 9.7;
}

void facts_of_tiny_samples(verdict_facts *f)
{
    facts_add_read(f, 1, 1);
    facts_add_pixels(f, 3);
}

uint32_t count_advice(const report_advice *advice, uint32_t count, const char *change)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        found += strcmp(advice[i].change, change) == 0;
    }
    return found;
}
