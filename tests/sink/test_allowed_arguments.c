/* SPDX-License-Identifier: Apache-2.0 */
/* A resume that agrees to other arguments by name: multi-scale training by channels that follow one
 * another, and trainings with checkpoint.allow. */
#include "checkpoint_kit.h"
#include "dataset_kit.h"
#include "log_kit.h"
#include "loop_kit.h"
#include "stages_allowed_int.h"
#include "testing.h"

enum { SAMPLES = 22, ROWS = 2, BATCHES = 30 };

/* ---- channels -------------------------------------------------------------------------------- */

typedef struct scale_run {
    uint64_t samples[BATCHES]; /* hashes of the labels of each batch, which name its samples */
    uint32_t heights[BATCHES];
    uint64_t fetched;
    sluice_channel_position position;
} scale_run;

static sluice_dataset *scaled(const char *stages)
{
    return parsedf("synthetic %d 20,30,3 classes=1000000 | %s | batch %d", SAMPLES, stages, ROWS);
}

static void keep_batch(scale_run *run, const sluice_batch *batch)
{
    const kit_step step = loop_kit_step(batch);

    run->samples[run->fetched] = step.samples;
    run->heights[run->fetched++] = (uint32_t)batch->inputs[0].shape[1];
}

/* Fetches `count` batches from the position of the run on, with the stages of a pipeline. */
static sluice_status fetch(scale_run *run, const char *stages, const char *allow, uint64_t count)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_dataset *dataset = scaled(stages);
    sluice_device *device = NULL;
    sluice_channel *channel = NULL;
    sluice_status st;

    config.position = run->fetched > 0 ? &run->position : NULL;
    config.allow = allow;
    T_OK(sluice_device_open("host:0", &device));
    st = sluice_channel_open(device, dataset, &config, &channel);
    if (st == SLUICE_OK) {
        const loop_kit loop = {device, NULL, channel};
        const sluice_batch *batch;

        T_OK(sluice_channel_start(channel));
        for (uint64_t i = 0; i < count; i++) {
            T_OK(loop_kit_next(&loop, &batch));
            keep_batch(run, batch);
        }
        sluice_channel_position_init(&run->position);
        T_OK(sluice_channel_position_get(channel, &run->position));
        sluice_channel_close(channel);
    }
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st;
}

/* Sizes change every three batches, also within a pass; the samples are those of one size. */
static void sizes_change_and_the_order_stays(void)
{
    static scale_run one;
    static scale_run many;
    uint32_t differing = 0;

    memset(&one, 0, sizeof(one));
    memset(&many, 0, sizeof(many));
    T_OK(fetch(&one, "shuffle | letterbox 16", NULL, BATCHES));
    for (uint32_t n = 0; n < BATCHES / 3; n++) {
        char stages[60];

        snprintf(stages, sizeof(stages), "shuffle | letterbox %u", 16 + 8 * (n % 3));
        T_OK(fetch(&many, stages, "letterbox.size", 3));
    }
    for (uint32_t i = 0; i < BATCHES; i++) {
        T_EQ(many.samples[i], one.samples[i]);
        T_EQ(many.heights[i], 16 + 8 * (i / 3 % 3));
        differing += one.samples[i] != one.samples[0];
    }
    T_TRUE(differing > BATCHES / 2);
}

static void only_named_arguments_may_differ(void)
{
    static const struct {
        const char *stages;
        const char *allow;
        const char *words; /* NULL: it goes on */
    } cases[] = {
        {"shuffle | letterbox 24", NULL, "letterbox: size was 16,16 and is 24,24 now"},
        {"shuffle | letterbox 24", "letterbox.size", NULL},
        {"shuffle | letterbox 24", " letterbox.fill , letterbox.size", NULL},
        {"shuffle | letterbox 16", "letterbox.size", NULL},
        {"shuffle | letterbox 24 fill=7", "letterbox.size", "letterbox: fill was 114 and is 7 now"},
        {"shuffle | letterbox 24 fill=7", "letterbox.size,letterbox.fill", NULL},
        {"shuffle | letterbox 24", "letterbox.siz", "the pipeline has no letterbox.siz;"},
        {"shuffle | letterbox 24", "letterbox", "the pipeline has no letterbox;"},
        {"shuffle | letterbox 24", "letterbox.size,resize.size", "has no resize.size;"},
        {"shuffle | letterbox 24", "letterbox.size,shuffle.seed",
         "shuffle.seed cannot be allowed: shuffle decides which samples a pass has"},
        {"shuffle | letterbox 16 | to_chw", "letterbox.size,to_chw.offload",
         "to_chw.offload has no effect"},
        {"shuffle | resize 24", "resize.size", "there was \"letterbox"},
    };
    static scale_run run;

    memset(&run, 0, sizeof(run));
    T_OK(fetch(&run, "shuffle | letterbox 16", NULL, 1));
    for (size_t i = 0; i < COUNT(cases); i++) {
        scale_run next = run;

        T_STATUS(fetch(&next, cases[i].stages, cases[i].allow, 1),
                 cases[i].words == NULL ? SLUICE_OK : SLUICE_E_INVALID);
        if (cases[i].words != NULL) {
            T_CONTAINS(sluice_last_error(), cases[i].words);
        }
    }
}

/* Names are checked before there is a position, too. */
static void a_wrong_name_is_an_error_at_the_beginning(void)
{
    static scale_run run;

    memset(&run, 0, sizeof(run));
    T_STATUS(fetch(&run, "letterbox 16", "letterbox.sise", 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must be STAGE.ARGUMENT of a stage before batch");
    T_OK(fetch(&run, "letterbox 16", "letterbox.size", 1));
}

/* A name that no comparison ever needs is an error, as is one that decides what a pass has. */
static void arguments_of_sources(void)
{
    static const struct {
        const char *name;
        const char *source;
        const char *words; /* NULL: it may be allowed */
    } cases[] = {
        {"coco.max_boxes", "coco file=-", NULL},
        {"image_list.masks", "image_list file=-", NULL},
        {"image_list.fields", "image_list file=-", NULL},
        {"image_list.file", "image_list file=-", "image_list.file has no effect: its value is"},
        {"image_list.root", "image_list file=-", "image_list.root has no effect"},
        {"webdataset.cache", "webdataset shards=-",
         "never compared, but number and names of samples and classes are; leave it out"},
        {"image_folder.recursive", "image_folder dir=-", "image_folder.recursive has no effect"},
        {"synthetic.samples", "synthetic shape=2,2,3", "synthetic.samples has no effect"},
        {"tokens.seq", "tokens files=- seq=4", "cannot be allowed: tokens decides which samples"},
        {"tokens.offload", "tokens files=- seq=4", "tokens.offload has no effect"},
        {"concat.parts", "concat (synthetic 4) (synthetic 4 | take 2)",
         "concat.parts cannot be allowed: concat decides which samples a pass has"},
        {"synthetic.shape", "concat (synthetic 4) (synthetic 4)",
         "the pipeline has no synthetic.shape; each name must be STAGE.ARGUMENT of a stage before "
         "batch, outside of parentheses"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        T_STATUS(sli_stages_check_allowed(cases[i].name, "decode", cases[i].source),
                 cases[i].words == NULL ? SLUICE_OK : SLUICE_E_INVALID);
        if (cases[i].words != NULL) {
            T_CONTAINS(sluice_last_error(), cases[i].words);
        }
    }
}

/* ---- trainings ------------------------------------------------------------------------------- */

static sluice_status train(const char *folder, const char *size, int64_t steps, const char *allow,
                           char error[1024])
{
    char pipeline[200];
    kit k;
    sluice_status st;

    snprintf(pipeline, sizeof(pipeline), "synthetic 40 20,30,3 | shuffle | letterbox %s | batch 4",
             size);
    checkpointed_init(&k, folder);
    k.pipeline = pipeline;
    k.config.sink_size = 1;
    k.config.max_steps = steps;
    k.checkpoint.every_steps = 2;
    k.checkpoint.allow = allow;
    st = kit_run(&k);
    snprintf(error, 1024, "%s", k.error);
    kit_fini(&k);
    return st;
}

static void a_training_agrees_to_another_size(void)
{
    char folder[300];
    char error[1024];

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    T_OK(train(folder, "16", 4, NULL, error));
    T_STATUS(train(folder, "24", 4, NULL, error), SLUICE_E_INVALID);
    T_CONTAINS(error, "letterbox: size was 16,16 and is 24,24 now");
    T_STATUS(train(folder, "24", 4, "letterbox.sise", error), SLUICE_E_INVALID);
    T_OK(train(folder, "24", 4, "letterbox.size", error));
    T_OK(train(folder, "24", 4, NULL, error)); /* its checkpoints have the new size */
    T_STATUS(train(folder, "16", 4, NULL, error), SLUICE_E_INVALID);
}

static void it_needs_a_resume(void)
{
    kit k;

    checkpointed_init(&k, t_path(t_folder(), "c"));
    k.checkpoint.resume = false;
    k.checkpoint.allow = "letterbox.size";
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "checkpoint.allow has no effect");
    kit_fini(&k);
}

const t_test allowed_arguments_tests[] = {
    T_TEST(sizes_change_and_the_order_stays),
    T_TEST(only_named_arguments_may_differ),
    T_TEST(a_wrong_name_is_an_error_at_the_beginning),
    T_TEST(arguments_of_sources),
    T_TEST(a_training_agrees_to_another_size),
    T_TEST(it_needs_a_resume),
    T_END,
};
