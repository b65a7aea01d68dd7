/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the machine while a pack is made: no sample is lost by them. */
#include <stdlib.h>
#include <string.h>

#include <sluice/pack.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "fault_kit.h"
#include "pack_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { SAMPLES = 40, LIMIT_S = 2 };

/* A pack of the script's samples beside one without any fault. */
typedef struct fault_pack {
    const char *whole;
    const char *folder;
    sluice_pack_config config;
    sluice_pack_stats stats;
} fault_pack;

static sluice_status pack(fault_pack *p)
{
    p->stats = (sluice_pack_stats){.struct_size = sizeof(p->stats)};
    return sluice_pack(&p->config, &p->stats);
}

/* The folders are below `top`; back-off does not sleep. */
static void begin(fault_pack *p, const char *top)
{
    sluice_dataset *dataset = NULL;

    fault_pauses_begin();
    script_reset(SAMPLES, GOOD);
    T_OK(dataset_begin(&stage_script, "", &dataset));
    p->whole = folder_named(top, "whole");
    p->folder = folder_named(top, "pack");
    p->config = config_of(dataset, p->whole);
    p->config.workers = 2;
    p->config.quality = 90; /* files, whose checksums are in indexes */
    T_OK(pack(p));
    T_TRUE(p->stats.shards > 3);
    p->config.folder = p->folder;
}

static void end(fault_pack *p)
{
    sluice_dataset_destroy(p->config.dataset);
    fault_pauses_end();
}

static sluice_status verify(const char *folder, uint64_t *problems_out)
{
    sluice_verify_config config;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};
    sluice_status st;

    sluice_verify_config_init(&config);
    config.path = folder;
    st = sluice_pack_verify(&config, &stats);
    *problems_out = stats.problems;
    return st;
}

static void a_fault_ends_a_pack_that_then_comes_to_the_same_bytes(void)
{
    static const struct {
        behaviour what;
        sluice_status status;
        const char *text;
    } cases[] = {
        {BAD_SECTOR, SLUICE_E_IO, "cannot pack script/13: cannot open: Input/output error; run"},
        {NO_DESCRIPTORS, SLUICE_E_IO, "cannot pack script/13: cannot open: Too many open files"},
        {NO_MEMORY, SLUICE_E_NO_MEMORY, "out of memory: cannot pack script/13: no memory"},
    };
    fault_pack p;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_empty(p.folder);
        atomic_store(&pauses.slept_ns, 0);
        script.behaviours[13] = (uint8_t)cases[i].what;
        T_STATUS(pack(&p), cases[i].status);
        T_CONTAINS(sluice_last_error(), cases[i].text);
        T_TRUE(!p.stats.complete && p.stats.done == 13);
        T_EQ(p.stats.fates[SLUICE_PACK_LEFT_UNREADABLE] + p.stats.fates[SLUICE_PACK_LEFT_FAULT], 0);
        T_EQ(pauses.slept_ns,
             cases[i].what == NO_DESCRIPTORS ? 0 /* opening waits */ : LIMIT_S * 1000000000LL);
        script.behaviours[13] = GOOD;
        T_OK(pack(&p));
        T_TRUE(p.stats.resumed > 0);
        T_TRUE(same_folders(p.whole, p.folder));
    }
    end(&p);
}

static void heal(void *arg)
{
    if (atomic_load(&pauses.count) == 3) {
        script.behaviours[*(int *)arg] = GOOD;
    }
}

static void a_fault_that_passes_is_retried(void)
{
    fault_pack p;
    int sample = 13;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    script.behaviours[sample] = BAD_SECTOR;
    pauses.also = heal;
    pauses.arg = &sample;
    p.config.workers = 1;
    T_OK(pack(&p));
    T_EQ(pauses.count, 3);
    T_TRUE(same_folders(p.whole, p.folder));
    end(&p);
}

static void request_stop(void *arg)
{
    sluice_stop_request(arg);
}

static void a_stop_ends_the_wait_for_a_fault_to_pass(void)
{
    fault_pack p;
    sluice_stop *stop = NULL;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_stop_create(&stop));
    begin(&p, t_folder());
    script.behaviours[13] = BAD_SECTOR;
    p.config.stop = stop;
    p.config.workers = 1;
    pauses.also = request_stop;
    pauses.arg = stop;
    T_STATUS(pack(&p), SLUICE_STOPPED);
    T_EQ(pauses.count, 1);
    end(&p);
    sluice_stop_destroy(stop);
}

static void unreadable_files_are_left_out_where_that_is_asked_for(void)
{
    fault_pack p;
    uint64_t problems;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    script.behaviours[3] = BAD_SECTOR;
    script.behaviours[13] = BAD_SECTOR;
    p.config.leave_out_unreadable = true;
    T_STATUS(pack(&p), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "complete but for 2 samples that could not be read, the first: "
                                    "script/3: cannot open: Input/output error");
    T_TRUE(p.stats.complete);
    T_EQ(p.stats.done, SAMPLES);
    T_EQ(p.stats.written, SAMPLES - 2);
    T_EQ(p.stats.fates[SLUICE_PACK_LEFT_FAULT], 2);
    shell(
        "grep -qP '^000000003\t-\t0\tleft_fault\t0\t0\tscript/3\tcannot open: Input/output error$' "
        "%s/shard-000000.tsv",
        p.folder);
    T_STATUS(verify(p.folder, &problems), SLUICE_E_CORRUPT);
    T_EQ(problems, 2);

    /* Again: they are read once more, and the rest stays. */
    T_STATUS(pack(&p), SLUICE_E_IO);
    T_TRUE(p.stats.complete && p.stats.resumed == SAMPLES);
    p.config.leave_out_unreadable = false;
    T_STATUS(pack(&p), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "cannot pack script/3: cannot open: Input/output error");
    T_TRUE(!p.stats.complete);

    /* One can be read again, then the other. */
    script.behaviours[13] = GOOD;
    p.config.leave_out_unreadable = true;
    T_STATUS(pack(&p), SLUICE_E_IO);
    T_EQ(p.stats.fates[SLUICE_PACK_LEFT_FAULT], 1);
    T_TRUE(p.stats.complete && p.stats.resumed > 3 && p.stats.resumed <= 13);
    script.behaviours[3] = GOOD;
    p.config.leave_out_unreadable = false;
    T_OK(pack(&p));
    T_EQ(p.stats.resumed, 0);
    T_TRUE(same_folders(p.whole, p.folder));
    T_OK(verify(p.folder, &problems));
    end(&p);
}

/* What the process lacks would leave out every file. */
static void a_process_without_descriptors_leaves_nothing_out(void)
{
    fault_pack p;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    script.behaviours[13] = NO_DESCRIPTORS;
    p.config.leave_out_unreadable = true;
    T_STATUS(pack(&p), SLUICE_E_IO);
    T_TRUE(!p.stats.complete);
    T_EQ(p.stats.fates[SLUICE_PACK_LEFT_FAULT], 0);
    end(&p);
}

/* As they were before faults ended a pack. */
static void samples_that_older_versions_left_out_for_a_fault_are_read_again(void)
{
    static const char *const reasons[] = {"Too many open files", "Input/output error",
                                          "Stale file handle", "No such file or directory"};
    uint64_t problems;

    T_NEEDS(can_pack(), "no libarchive");
    for (int i = 0; i < 4; i++) {
        fault_pack p;

        begin(&p, t_folder());
        script.behaviours[13] = BAD_SECTOR;
        p.config.leave_out_unreadable = true;
        T_STATUS(pack(&p), SLUICE_E_IO);
        p.config.leave_out_unreadable = false;
        script.behaviours[13] = GOOD;
        shell("sed -i 's|left_fault\\(.*\\)Input.*|left_unreadable\\1%s|' %s/*.tsv", reasons[i],
              p.folder);
        T_STATUS(verify(p.folder, &problems), i < 3 ? SLUICE_E_CORRUPT : SLUICE_OK);
        T_OK(pack(&p));
        T_EQ(p.stats.fates[SLUICE_PACK_LEFT_UNREADABLE], i == 3);
        T_EQ(p.stats.resumed == SAMPLES, i == 3);
        T_EQ(same_folders(p.whole, p.folder), i < 3);
        end(&p);
    }
}

/* Killed after a shard was made anew: the next one begins elsewhere now. */
static void a_shard_that_does_not_follow_is_made_anew(void)
{
    fault_pack p;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    script.behaviours[3] = BAD_SECTOR;
    p.config.leave_out_unreadable = true;
    T_STATUS(pack(&p), SLUICE_E_IO);
    script.behaviours[3] = GOOD;
    shell("cp %s/shard-000000.* %s", p.whole, p.folder);
    T_OK(pack(&p));
    T_TRUE(p.stats.resumed > 0);
    T_TRUE(same_folders(p.whole, p.folder));
    end(&p);
}

static void shards_beyond_the_last_are_removed(void)
{
    fault_pack p;
    uint64_t problems;

    T_NEEDS(can_pack(), "no libarchive");
    begin(&p, t_folder());
    T_OK(pack(&p));
    memset(script.behaviours + 4, BAD, SAMPLES - 8);
    shell("rm %s/shard-000000.tsv", p.folder);
    T_OK(pack(&p));
    T_EQ(p.stats.shards, 1);
    T_EQ(p.stats.written, 8);
    shell("test $(ls %s | wc -l) -eq 5", p.folder);
    T_OK(verify(p.folder, &problems));
    end(&p);
}

/* Of large PPM images other readers take the first bytes, and lines as they need them. */
static void a_pack_of_pixels_can_be_packed_again(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_pack_config config;
    char text[600];

    T_NEEDS(can_pack(), "no libarchive");
    config = config_of(pictures(folder_named(top, "src")), folder_named(top, "raw"));
    config.raw = true;
    T_OK(sluice_pack(&config, &stats));
    T_EQ(stats.fates[SLUICE_PACK_RAW], PACK_SAMPLES - 2);
    sluice_dataset_destroy(config.dataset);
    snprintf(text, sizeof(text), "webdataset %s", folder_named(top, "raw"));
    config = config_of(parsed(text), folder_named(top, "again"));
    T_OK(sluice_pack(&config, &stats));
    T_EQ(stats.fates[SLUICE_PACK_KEPT_FORMAT], PACK_SAMPLES - 2);
    T_EQ(stats.written, PACK_SAMPLES - 2);
    sluice_dataset_destroy(config.dataset);
}

const t_test pack_faults_tests[] = {
    T_TEST(a_fault_ends_a_pack_that_then_comes_to_the_same_bytes),
    T_TEST(a_fault_that_passes_is_retried),
    T_TEST(a_stop_ends_the_wait_for_a_fault_to_pass),
    T_TEST(unreadable_files_are_left_out_where_that_is_asked_for),
    T_TEST(a_process_without_descriptors_leaves_nothing_out),
    T_TEST(samples_that_older_versions_left_out_for_a_fault_are_read_again),
    T_TEST(a_shard_that_does_not_follow_is_made_anew),
    T_TEST(shards_beyond_the_last_are_removed),
    T_TEST(a_pack_of_pixels_can_be_packed_again),
    T_END,
};
