/* SPDX-License-Identifier: Apache-2.0 */
/* The column program: windows of plain columns, widened, on the host and through a queue. */
#include <stdlib.h>

#include "output_int.h"
#include "queue_kit.h"
#include "testing.h"

static const sluice_dtype narrow[] = {SLUICE_U8, SLUICE_U16, SLUICE_U32, SLUICE_I32};
static const sluice_dtype wide[] = {SLUICE_I32, SLUICE_I64};

static sluice_column vector(const char *name, sluice_dtype dtype, uint64_t length)
{
    sluice_column column = {.dtype = dtype, .rank = 1, .shape = {length}};

    snprintf(column.name, sizeof(column.name), "%s", name);
    return column;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Element i, by the definition of its type. */
static int64_t value_at(sluice_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case SLUICE_U8:
        return ((const uint8_t *)data)[i];
    case SLUICE_U16:
        return ((const uint16_t *)data)[i];
    case SLUICE_U32:
        return ((const uint32_t *)data)[i];
    case SLUICE_I64:
        return ((const int64_t *)data)[i];
    default:
        return ((const int32_t *)data)[i];
    }
}

static void every_value_is_widened(void)
{
    enum { COUNT = 1001 };
    uint8_t *in = malloc(COUNT * sizeof(uint32_t));
    int64_t *out = malloc((COUNT + 1) * sizeof(*out));

    for (size_t from = 0; from < 4; from++) {
        for (size_t i = 0; i < COUNT * sizeof(uint32_t); i++) {
            in[i] = (uint8_t)(i * 2654435761U >> 13);
        }
        for (size_t to = 0; to < 2; to++) {
            const size_t size = sluice_dtype_size(wide[to]);

            T_TRUE(sli_widens(narrow[from], wide[to]));
            memset(out, 0x5A, (COUNT + 1) * sizeof(*out));
            sli_widen(narrow[from], in, wide[to], out, COUNT);
            for (size_t i = 0; i < COUNT; i++) {
                const int64_t want = value_at(narrow[from], in, i);

                T_EQ(value_at(wide[to], out, i), to == 0 ? (int32_t)want : want);
            }
            T_EQ(((uint8_t *)out)[COUNT * size], 0x5A);
        }
    }
    free(in);
    free(out);
}

static void what_cannot_be_widened_is_refused(void)
{
    const sluice_column columns[] = {vector("a", SLUICE_U16, 9), vector("b", SLUICE_F32, 4)};
    const struct {
        sli_output output;
        sluice_status want;
    } cases[] = {
        {{vector("x", SLUICE_I32, 8), 0, 0}, SLUICE_OK},
        {{vector("x", SLUICE_I32, 8), 0, 1}, SLUICE_OK},
        {{vector("x", SLUICE_I64, 9), 0, 0}, SLUICE_OK},
        {{vector("x", SLUICE_U16, 9), 0, 0}, SLUICE_OK}, /* a copy */
        {{vector("x", SLUICE_F32, 4), 1, 0}, SLUICE_OK}, /* the same */
        {{vector("x", SLUICE_I32, 8), 0, 2}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, 10), 0, 0}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, 1), 0, UINT64_MAX}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, UINT64_MAX / 4), 0, 1}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, UINT64_MAX / 2), 0, 1}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_U16, 8), 0, 0}, SLUICE_E_INVALID}, /* cut, not widened */
        {{vector("x", SLUICE_F32, 9), 0, 0}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, 4), 1, 0}, SLUICE_E_INVALID},
        {{vector("x", SLUICE_I32, 8), 2, 0}, SLUICE_E_INVALID}, /* no such column */
    };
    sli_layout layout;

    T_OK(sli_layout_make(columns, 2, 3, &layout));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        T_STATUS(sli_output_check(&cases[i].output, &layout), cases[i].want);
    }
}

/* ---- through a queue ------------------------------------------------------------------------- */

enum { SEQ = 7 };

/* A queue of windows of SEQ + 1 tokens, a column without a program between, and labels. */
static const sli_output programs[] = {
    {{.name = "targets", .dtype = SLUICE_I32, .rank = 1, .shape = {SEQ}}, 0, 1},
    {{.name = "label", .dtype = SLUICE_I32}, 1, 0},
    {{.name = "inputs", .dtype = SLUICE_I64, .rank = 1, .shape = {SEQ}}, 0, 0},
};

static void describe_windows(fixture *f, const char *uri)
{
    const sluice_column columns[] = {vector("window", SLUICE_U16, SEQ + 1),
                                     {.name = "label", .dtype = SLUICE_I32}};

    describe(f, uri, false);
    T_OK(sli_layout_make(columns, 2, BATCH, &f->layout));
    f->config.outputs = programs;
    f->config.output_count = 3;
}

static uint16_t token_of(uint64_t seq, uint32_t row, uint32_t i)
{
    return (uint16_t)(65000 + 100 * seq + 10 * row + i);
}

static void produce_windows(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    for (uint32_t row = 0; row < BATCH; row++) {
        const int32_t label = (int32_t)(seq * 100 + row);

        for (uint32_t i = 0; i <= SEQ; i++) {
            const uint16_t token = token_of(seq, row, i);

            memcpy(batch.data + f->layout.offsets[0] + (row * (SEQ + 1) + i) * sizeof(token),
                   &token, sizeof(token));
        }
        memcpy(batch.data + f->layout.offsets[1] + row * sizeof(label), &label, sizeof(label));
        batch.row_flags[row] = 0;
        batch.samples[row] = seq;
        sli_queue_add_rows(f->queue, seq, 1);
    }
    memset(batch.header, 0, sizeof(*batch.header));
    sli_queue_publish(f->queue, seq);
}

static void check_windows(const sli_inputs *inputs, uint64_t seq)
{
    const int32_t *targets = inputs->tensors[0].data;
    const int32_t *labels = inputs->tensors[1].data;
    const int64_t *tokens = inputs->tensors[2].data;

    T_EQ(inputs->count, 3);
    T_EQ(inputs->header->seq, seq);
    for (uint32_t i = 0; i < 3; i++) {
        const bool is_label = i == 1;

        T_STR(inputs->tensors[i].name, programs[i].type.name);
        T_EQ(inputs->tensors[i].dtype, programs[i].type.dtype);
        T_EQ(inputs->tensors[i].rank, is_label ? 1 : 2);
        T_EQ(inputs->tensors[i].shape[0], BATCH);
        T_EQ(inputs->tensors[i].bytes, (size_t)BATCH * (is_label ? 4 : i == 0 ? 4 * SEQ : 8 * SEQ));
    }
    for (uint32_t row = 0; row < BATCH; row++) {
        T_EQ(labels[row], (int32_t)(seq * 100 + row));
        for (uint32_t i = 0; i < SEQ; i++) {
            T_EQ(tokens[row * SEQ + i], token_of(seq, row, i));
            T_EQ(targets[row * SEQ + i], token_of(seq, row, i + 1));
        }
    }
}

static void getnext_makes_several_tensors_of_one_column(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_queue_memory memory;
        sli_inputs inputs;
        fixture f;

        describe_windows(&f, backends[i]);
        f.config.sets = 2;
        sli_queue_memory_of(&f.config, &memory);
        T_OK(sli_queue_create(&f.config, &f.queue));
        T_OK(sli_queue_start(f.queue, NULL));
        T_EQ(f.queue->outputs_bytes, 2 * 3 * SLI_COLUMN_ALIGNMENT);
        T_EQ(memory.slot_bytes, SLOTS * f.layout.slot_bytes + f.queue->outputs_bytes);
        for (uint64_t seq = 1; seq <= 3 * SLOTS; seq++) {
            produce_windows(&f, seq);
            T_OK(sli_queue_wait(f.queue, seq, -1, false));
            T_OK(sli_queue_get_next_into(f.queue, seq, seq % 2, &inputs));
            check_windows(&inputs, seq);
            sli_queue_step_done(f.queue, seq);
        }
        close_queue(&f);
    }
}

static void outputs_that_do_not_fit_are_refused(void)
{
    sli_output bad[3];
    fixture f;

    describe_windows(&f, "host:0");
    memcpy(bad, programs, sizeof(bad));
    bad[2].offset = 2;
    f.config.outputs = bad;
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "inputs (i64) of column 0 of the batch, from element 2");
    bad[2].offset = 0;
    T_TRUE(open_without_memory(&f) >= 7);
    close_queue(&f);
}

/* The image has a program of its own, and GetNext has one of them. */
static void a_conversion_beside_outputs_is_refused(void)
{
    sli_output copies[2] = {{.column = 0}, {.column = 1}};
    fixture f;

    describe(&f, "host:0", true);
    copies[0].type = f.layout.columns[0];
    copies[1].type = f.layout.columns[1];
    f.config.outputs = copies;
    f.config.output_count = 2;
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_INVALID);
    close_queue(&f);
}

const t_test output_tests[] = {
    T_TEST(every_value_is_widened),
    T_TEST(what_cannot_be_widened_is_refused),
    T_TEST(getnext_makes_several_tensors_of_one_column),
    T_TEST(outputs_that_do_not_fit_are_refused),
    T_TEST(a_conversion_beside_outputs_is_refused),
    T_END,
};
