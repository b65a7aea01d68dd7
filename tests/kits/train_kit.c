/* SPDX-License-Identifier: Apache-2.0 */
#include "train_kit.h"

#include <stdlib.h>

#include "alloc_int.h"
#include "digest_int.h"
#include "event_int.h"
#include "rng_int.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "testing.h"

/* jpeglib.h wants stdio.h before it. */
#include <jpeglib.h>

static const char *const hook_names[KIT_HOOKS] = {
    "train_begin", "epoch_begin", "step_begin", "records", "step_end", "epoch_end", "train_end"};

/* ---- the model ------------------------------------------------------------------------------- */

/* A float that depends on every batch so far and on their order. */
static sluice_status step(const sluice_step *view, void *user)
{
    kit *k = user;
    const sluice_tensor *image = sluice_step_input(view, "image");
    const sluice_tensor *label = sluice_step_input(view, "label");
    const uint64_t call = atomic_fetch_add(&k->calls, 1);

    k->state =
        0.75F * k->state + (float)(sli_digest_bytes(image->data, image->bytes) >> 40) * 0x1p-24F;
    view->outputs[0] = k->state;
    view->outputs[1] = (float)((const int32_t *)label->data)[0];
    if (k->in_step != NULL) {
        k->in_step(k, view);
    }
    return call == k->step_at ? k->step_answer : SLUICE_OK;
}

sluice_status kit_save_state(const kit *k, const char *folder)
{
    t_write_file(t_path(folder, "inner/state"), &k->state, sizeof(k->state));
    return SLUICE_OK;
}

sluice_status kit_load_state(kit *k, const char *folder)
{
    FILE *file = fopen(t_path(folder, "inner/state"), "rb");
    size_t got = file != NULL ? fread(&k->state, sizeof(k->state), 1, file) : 0;

    if (file != NULL) {
        fclose(file);
    }
    return got == 1 ? SLUICE_OK : SLUICE_E_IO;
}

/* ---- the hooks ------------------------------------------------------------------------------- */

static sluice_status note(kit *k, kit_hook kind, sluice_hook *hook)
{
    const uint64_t call = k->hook_calls[kind]++;

    sli_text_add(&k->events, "%s %llu+%llu\n", hook_names[kind], (unsigned long long)hook->step,
                 (unsigned long long)hook->step_count);
    if (kind != k->act_in || call != k->act_at) {
        return SLUICE_OK;
    }
    if (k->act != NULL) {
        k->act(k);
    }
    hook->stop = k->act_stops;
    return k->act_answer;
}

static sluice_status on_train_begin(sluice_hook *hook, void *user)
{
    kit *k = user;

    snprintf(k->plan, sizeof(k->plan), "%s", hook->plan);
    return note(k, KIT_TRAIN_BEGIN, hook);
}

static sluice_status on_epoch_begin(sluice_hook *hook, void *user)
{
    return note(user, KIT_EPOCH_BEGIN, hook);
}

static sluice_status on_step_begin(sluice_hook *hook, void *user)
{
    return note(user, KIT_STEP_BEGIN, hook);
}

static sluice_status on_records(sluice_hook *hook, void *user)
{
    const uint32_t rows = hook->batch_size * hook->micro_batches;
    kit *k = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);
        kit_step kept = {record->step,       record->epoch,
                         record->pass,       record->first_sample,
                         record->digest,     0,
                         record->valid_rows, {record->outputs[0], record->outputs[1]}};
        kit_step *grown;

        for (uint32_t row = 0; record->samples != NULL && row < rows; row++) {
            kept.samples = sli_mix_in(kept.samples, record->samples[row]);
        }
        grown = sli_grow(k->steps, &k->capacity, k->count + 1, sizeof(*k->steps));
        if (grown == NULL) {
            return SLUICE_E_NO_MEMORY;
        }
        k->steps = grown;
        k->steps[k->count++] = kept;
    }
    return note(k, KIT_RECORDS, hook);
}

static sluice_status on_step_end(sluice_hook *hook, void *user)
{
    kit *k = user;

    k->step_ends += hook->step_count;
    for (uint64_t i = 0; i < hook->record_count; i++) { /* the same as the hook `records` saw */
        const sluice_step_record *record = sluice_hook_record(hook, hook->record_count - 1 - i);
        const kit_step *seen = &k->steps[k->count - 1 - i];

        if (record->step != seen->step || record->digest != seen->digest ||
            memcmp(record->outputs, seen->outputs, sizeof(seen->outputs)) != 0) {
            return SLUICE_E_CORRUPT;
        }
    }
    return note(k, KIT_STEP_END, hook);
}

static sluice_status on_epoch_end(sluice_hook *hook, void *user)
{
    return note(user, KIT_EPOCH_END, hook);
}

static sluice_status on_train_end(sluice_hook *hook, void *user)
{
    return note(user, KIT_TRAIN_END, hook);
}

sluice_status kit_eval(const sluice_step *step, void *user)
{
    const int32_t *labels = sluice_step_input(step, "label")->data;

    (void)user;
    for (uint32_t i = 0; i < *step->valid_rows; i++) {
        step->outputs[0] += (float)labels[i];
        step->outputs[1] += 1;
    }
    return SLUICE_OK;
}

void kit_validate(kit *k, sluice_dataset *dataset)
{
    static const char *const names[] = {"sum", "ones"};

    k->validation.dataset = dataset;
    k->model.eval = kit_eval;
    k->model.result_names = names;
    k->model.result_count = COUNT(names);
    k->model.reads_valid_rows = true;
}

sluice_status kit_ignore(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    return SLUICE_OK;
}

/* ---- where it runs --------------------------------------------------------------------------- */

#if defined(SLI_KIT_ON_CUDA)
#include "cuda_kit.h"
#else
/* On the device that the test names, whose steps are called. */
static void cuda_kit_place(sluice_model *model, const char **device)
{
    (void)model;
    (void)device;
}
#endif

/* ---- a run ----------------------------------------------------------------------------------- */

static const char *const outputs[] = {"loss", "label"};

void kit_init(kit *k)
{
    memset((void *)k, 0, sizeof(*k));
    k->device = "host:0";
    k->pipeline = "synthetic samples=200 shape=4,4,3 | shuffle | random_horizontal_flip | batch 2";
    sluice_train_config_init(&k->config);
    k->config.epochs = 1;
    k->config.dataset_sink_mode = true;
    k->config.digest = true;
    k->config.record_samples = true;
    sluice_model_init(&k->model);
    k->model.step = step;
    k->model.user = k;
    k->model.output_names = outputs;
    k->model.output_count = 2;
    k->act_in = KIT_HOOKS;
    k->step_at = UINT64_MAX;
}

static void forget(kit *k)
{
    sluice_report_destroy(k->report);
    sli_text_free(&k->events);
    sli_free(k->steps);
    k->report = NULL;
    k->steps = NULL;
    k->count = 0;
    k->capacity = 0;
    k->step_ends = 0;
    memset(k->hook_calls, 0, sizeof(k->hook_calls));
    atomic_store(&k->calls, 0);
    k->state = 0;
}

enum { CALLBACKS_MOST = 8 };

/* Settings as kit_run() gives them to sluice_train(). */
typedef struct kit_settings {
    sluice_callback callbacks[CALLBACKS_MOST];
    sluice_callback *pointers[CALLBACKS_MOST];
    sluice_train_config config;
} kit_settings;

static void make_settings(kit *k, kit_settings *s)
{
    const sluice_callback own = {.user = k,
                                 .train_begin = on_train_begin,
                                 .epoch_begin = on_epoch_begin,
                                 .step_begin = on_step_begin,
                                 .records = on_records,
                                 .step_end = on_step_end,
                                 .epoch_end = on_epoch_end,
                                 .train_end = on_train_end};
    const sluice_callback *callbacks = k->callbacks != NULL ? k->callbacks : &own;

    s->config = k->config;
    s->config.callback_count = k->callbacks != NULL ? k->callback_count : 1;
    T_TRUE(s->config.callback_count <= CALLBACKS_MOST);
    for (uint32_t i = 0; i < s->config.callback_count; i++) {
        s->callbacks[i] = callbacks[i];
        s->callbacks[i].struct_size = sizeof(s->callbacks[i]);
        s->pointers[i] = &s->callbacks[i];
    }
    s->config.callbacks = s->pointers;
    k->learning_rate.struct_size = sizeof(k->learning_rate);
    k->checkpoint.struct_size = sizeof(k->checkpoint);
    k->validation.struct_size = sizeof(k->validation);
    s->config.learning_rate = &k->learning_rate;
    s->config.checkpoint = &k->checkpoint;
    s->config.validation = &k->validation;
}

sluice_status kit_run(kit *k)
{
    kit_settings settings;
    const char *name = k->device;
    sluice_model model = k->model;
    sluice_device *device = NULL;
    sluice_dataset *own = NULL;

    forget(k);
    cuda_kit_place(&model, &name);
    make_settings(k, &settings);
    k->status = sluice_device_open(name, &device);
    if (k->status == SLUICE_OK && k->dataset == NULL) {
        k->status = sluice_dataset_parse(k->pipeline, &own);
    }
    if (k->status == SLUICE_OK) {
        k->status = sluice_train(device, &model, k->dataset != NULL ? k->dataset : own,
                                 &settings.config, &k->report);
    }
    snprintf(k->error, sizeof(k->error), "%s", k->status < 0 ? sluice_last_error() : "");
    sluice_dataset_destroy(own);
    sluice_device_close(device);
    return k->status;
}

void kit_fini(kit *k)
{
    forget(k);
}

void kit_check(const kit *k)
{
    const sluice_report *report = k->report;
    const uint64_t micro = k->config.micro_batches > 0 ? k->config.micro_batches : 1;
    uint64_t samples = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    T_EQ(report->stats.status, k->status);
    T_TRUE(strcmp(report->error, k->error) == 0);
    T_EQ(report->stats.steps, k->count);
    T_EQ(report->stats.steps * micro, atomic_load(&k->calls));
    T_EQ(report->consumed, k->count * micro);
    T_TRUE(report->produced >= report->consumed);
    if (report->ran) {
        T_TRUE(report->produced - report->consumed <= 2 * report->queues[0].capacity);
    }
    T_EQ(k->hook_calls[KIT_TRAIN_END], k->hook_calls[KIT_TRAIN_BEGIN]);
    if (k->status >= 0) {
        T_EQ(k->step_ends, k->count);
    }
    for (size_t i = 0; i < k->count; i++) {
        samples += k->steps[i].valid_rows;
        T_EQ(k->steps[i].step, k->steps[0].step + i);
    }
    T_EQ(report->stats.samples, samples);
}

void kit_check_columns(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        if (length > SLI_COLUMNS) {
            T_FAIL_("%zu columns: %.*s", length, (int)length, text);
        }
        text += length + (text[length] == '\n');
    }
}

void kit_check_same(const kit *a, const kit *b, size_t from, size_t count)
{
    T_TRUE(from + count <= a->count);
    T_EQ(b->count, count);
    for (size_t i = 0; i < count; i++) {
        const kit_step *x = &a->steps[from + i];
        const kit_step *y = &b->steps[i];

        T_EQ(y->step, x->step);
        T_EQ(y->pass, x->pass);
        T_EQ(y->first_sample, x->first_sample);
        T_EQ(y->samples, x->samples);
        T_EQ(y->valid_rows, x->valid_rows);
        T_EQ(y->digest, x->digest);
        T_TRUE(from > 0 || memcmp(y->outputs, x->outputs, sizeof(y->outputs)) == 0);
    }
}

/* ---- a source that does as it is told ------------------------------------------------------ */

typedef struct kit_source_args {
    kit_source *source;
} kit_source_args;

enum { KIT_SIDE = 4, KIT_CHANNELS = 3, KIT_BYTES = KIT_SIDE * KIT_SIDE * KIT_CHANNELS };

static sluice_status kit_source_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema->column_count = 2;
    schema->columns[0] = (sluice_column){.name = "image",
                                         .dtype = SLUICE_U8,
                                         .rank = 3,
                                         .shape = {KIT_SIDE, KIT_SIDE, KIT_CHANNELS}};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static sluice_status kit_source_open(const void *args, void **source_out)
{
    *source_out = ((const kit_source_args *)args)->source;
    return SLUICE_OK;
}

static void kit_source_close(void *source)
{
    (void)source;
}

static uint64_t kit_source_count(const void *source)
{
    return ((const kit_source *)source)->samples;
}

static uint64_t kit_source_memory(const void *source)
{
    (void)source;
    return 0;
}

static void kit_source_name(const void *source, uint64_t index, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "kit/%llu", (unsigned long long)index);
}

static sli_event released;

static bool is_released(void *arg)
{
    return atomic_load(&((kit_source *)arg)->released);
}

static sluice_status kit_source_read(const void *opaque, uint64_t index, sample_io *io,
                                     void *const *row, sample_data *data_out)
{
    kit_source *source = (kit_source *)(uintptr_t)opaque;

    atomic_fetch_add(&source->reads[index], 1);
    if (index == source->block_at) {
        atomic_store(&source->blocks, true);
        (void)sli_event_await(&released, is_released, source, -1);
    }
    if (index == source->fail_at) {
        return sli_fail(source->fail_with, "told to fail");
    }
    if (image_buffer_reserve(&io->bytes, KIT_BYTES) != SLUICE_OK) {
        return SLUICE_E_NO_MEMORY;
    }
    memset(io->bytes.data, (int)(index % 251), KIT_BYTES);
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t)index;
    }
    data_out->image = (image_view){
        io->bytes.data, KIT_SIDE * KIT_CHANNELS, KIT_SIDE, KIT_SIDE, KIT_CHANNELS, IMAGE_U8};
    return SLUICE_OK;
}

static const source_ops kit_source_ops = {
    .open = kit_source_open,
    .close = kit_source_close,
    .count = kit_source_count,
    .name = kit_source_name,
    .read = kit_source_read,
    .memory = kit_source_memory,
};

static const stage_def kit_source_def = {
    .name = "kit_source",
    .summary = "A source that does as it is told.",
    .gives = "image u8 (4, 4, 3), label i32",
    .kind = STAGE_SOURCE,
    .args_size = sizeof(kit_source_args),
    .infer = kit_source_infer,
    .source =
        &(const source_stage_ops){
            .ops = &kit_source_ops,
        },
};

void kit_source_init(kit_source *source, uint64_t samples)
{
    memset((void *)source, 0, sizeof(*source));
    source->samples = samples;
    source->fail_at = UINT64_MAX;
    source->fail_with = SLUICE_E_CORRUPT;
    source->block_at = UINT64_MAX;
}

sluice_dataset *kit_source_dataset(kit_source *source, uint32_t batch_size)
{
    const kit_source_args args = {source};
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&kit_source_def, &args, &dataset));
    if (batch_size > 0) {
        T_OK(sluice_dataset_addf(dataset, "batch %u", batch_size));
    }
    return dataset;
}

void kit_source_release(kit_source *source)
{
    atomic_store(&source->released, true);
    sli_event_notify(&released);
}

uint64_t kit_source_end(const kit_source *source)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < source->samples; i++) {
        end = atomic_load(&source->reads[i]) > 0 ? i + 1 : end;
    }
    return end;
}

/* ---- folders of JPEG files ------------------------------------------------------------------- */

/* A picture with something in every block, from malloc(). */
static unsigned char *make_jpeg(uint32_t seed, uint32_t side, unsigned long *size_out)
{
    struct jpeg_compress_struct compress;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    JSAMPLE *line = calloc(side, 3);
    JSAMPROW rows[] = {line};

    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    compress.err = jpeg_std_error(&errors);
    jpeg_create_compress(&compress);
    *size_out = 0;
    jpeg_mem_dest(&compress, &bytes, size_out);
    compress.image_width = side;
    compress.image_height = side;
    compress.input_components = 3;
    compress.in_color_space = JCS_RGB;
    jpeg_set_defaults(&compress);
    jpeg_start_compress(&compress, TRUE);
    for (uint32_t y = 0; y < side; y++) {
        for (uint32_t i = 0; i < 3 * side; i++) {
            line[i] = (JSAMPLE)(sli_mix64(seed * UINT64_C(1000003) + y * 3 * side + i) % 256);
        }
        jpeg_write_scanlines(&compress, rows, 1);
    }
    jpeg_finish_compress(&compress);
    jpeg_destroy_compress(&compress);
    free(line);
    return bytes;
}

void kit_write_folder(const char *folder, uint32_t per_class, uint32_t side)
{
    for (uint32_t i = 0; i < 2 * per_class; i++) {
        unsigned long size;
        unsigned char *bytes = make_jpeg(i, side, &size);
        char name[32];

        snprintf(name, sizeof(name), "%c/%03u.jpg", i < per_class ? 'a' : 'b', i % per_class);
        t_write_file(t_path(folder, name), bytes, size);
        free(bytes);
    }
}
