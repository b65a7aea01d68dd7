/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks the arithmetic of the network's CUDA kernels, without CUDA: runs what each thread does in
 * loops, in the order of a step, and compares loss, accuracy, all weights and the momentum with
 * what convnet.c makes of the same batches. Prints a line per check and exits with 1 if one failed.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convnet.h"
#include "convnet_kernels.h"
#include "convnet_kit.h"

#define TOLERANCE 2e-5

/* The same network twice, and a random batch for both. */
typedef struct fixture {
    convnet *net; /* the reference */
    convnet_job job;
    void *memory; /* of the job */
    float *images;
    int32_t *labels;
    size_t image_size;
    uint32_t valid_rows;
    float learning_rate;
    float loss, correct; /* what the kernels say */
} fixture;

static void fill_batch(fixture *f)
{
    for (size_t i = 0; i < f->job.batch * f->image_size; i++) {
        f->images[i] = next_number();
    }
    for (uint32_t row = 0; row < f->job.batch; row++) {
        f->labels[row] = (int32_t)((row * 7 + 3) % f->job.classes);
    }
}

/* Garbage in all memory, so that a kernel that reads what no other has written shows. */
static void set_up(fixture *f, uint32_t batch, uint32_t height, uint32_t width, uint32_t classes)
{
    const convnet_config config = {.batch = batch,
                                   .height = height,
                                   .width = width,
                                   .classes = classes,
                                   .learning_rate = 0.05f,
                                   .momentum = 0.9f,
                                   .seed = 7};
    size_t count;
    size_t bytes;

    memset(f, 0, sizeof(*f));
    f->net = need(convnet_create(&config));
    bytes = convnet_lay_out(&f->job, &config, NULL);
    f->memory = need(malloc(bytes));
    memset(f->memory, 0xff, bytes);
    (void)convnet_lay_out(&f->job, &config, f->memory);
    f->learning_rate = config.learning_rate;
    f->image_size = 3 * (size_t)height * width;
    f->images = need(malloc(batch * f->image_size * sizeof(float)));
    f->labels = need(malloc(batch * sizeof(int32_t)));
    memcpy(f->job.weights, convnet_weights(f->net, &count),
           2 * f->job.weight_count * sizeof(float));
    if (count != f->job.weight_count) {
        fprintf(stderr, "the networks have %zu and %zu weights\n", count, f->job.weight_count);
        exit(1);
    }
    fill_batch(f);
    f->job.images = f->images;
    f->job.labels = f->labels;
    f->job.valid_rows = &f->valid_rows;
    f->job.learning_rate = &f->learning_rate;
    f->job.loss_out = &f->loss;
    f->job.correct_out = &f->correct;
    f->job.means = true;
    f->valid_rows = batch;
}

static void tear_down(fixture *f)
{
    convnet_destroy(f->net);
    free(f->memory);
    free(f->images);
    free(f->labels);
}

#define RUN(kernel, block)                                                                         \
    for (uint64_t t = convnet_##kernel##_threads(&f->job, block); t-- > 0;) {                      \
        convnet_##kernel(&f->job, block, (uint32_t)t);                                             \
    }

/* Threads in the wrong order: none may depend on another of its kernel. */
static void run_forward(fixture *f)
{
    CONVNET_FORWARD(RUN)
}

static void run_step(fixture *f)
{
    CONVNET_FORWARD(RUN)
    CONVNET_BACKWARD(RUN)
    CONVNET_UPDATE(RUN)
}

/* The first half of a step that devices share: afterwards job.sums has the sums of these rows. */
static void run_sums(fixture *f)
{
    const convnet_job job = f->job;

    f->job.means = false;
    f->job.loss_out = &job.sums[job.weight_count + CONVNET_LOSS];
    f->job.correct_out = &job.sums[job.weight_count + CONVNET_CORRECT];
    CONVNET_FORWARD(RUN)
    CONVNET_BACKWARD(RUN)
    CONVNET_SUMS(RUN)
    f->job = job;
}

static void run_sums_update(fixture *f)
{
    CONVNET_SUMS_UPDATE(RUN)
}

static double difference(const float *a, const float *b, size_t count)
{
    double worst = 0.0;

    for (size_t i = 0; i < count; i++) {
        const double d = fabs((double)a[i] - (double)b[i]);

        worst = d > worst || isnan(d) ? d : worst;
    }
    return worst;
}

/* One step of both from the same weights; the worst difference of anything that comes out. */
static double step_difference(fixture *f)
{
    size_t count;
    float loss;
    float accuracy;
    double worst;

    convnet_set_learning_rate(f->net, f->learning_rate);
    convnet_train_step(f->net, f->images, f->labels, f->valid_rows, &loss, &accuracy);
    run_step(f);
    worst = difference(f->job.weights, convnet_weights(f->net, &count), 2 * f->job.weight_count);
    worst = fmax(worst, fabs((double)f->loss - (double)loss));
    return fmax(worst, fabs((double)f->correct - (double)accuracy));
}

/* The second step has momentum; the rates differ, and so do the rows that count. */
static void steps_are_those_of_the_cpu(uint32_t batch, uint32_t height, uint32_t width,
                                       uint32_t classes)
{
    char what[100];
    double worst = 0.0;
    fixture f;

    set_up(&f, batch, height, width, classes);
    for (uint32_t step = 0; step < 3; step++) {
        f.valid_rows = batch - (step == 1 ? batch / 3 : 0);
        f.learning_rate = 0.05f / (float)(1 + step);
        worst = fmax(worst, step_difference(&f));
        fill_batch(&f);
    }
    snprintf(what, sizeof(what), "%u images of %ux%u, %u classes: within %.1e of the CPU", batch,
             height, width, classes, worst);
    check(worst < TOLERANCE, what);
    tear_down(&f);
}

/* Weights that are zero make all four pixels equal, whatever they saw. */
static void of_equal_pixels_the_first_wins(void)
{
    fixture f;
    float *weights;
    size_t count;

    set_up(&f, 4, 16, 16, 5);
    weights = convnet_weights(f.net, &count);
    for (size_t i = 0; i < convnet_block_weights(&f.job.blocks[0]) + f.job.blocks[0].out; i++) {
        weights[i] = i < convnet_block_weights(&f.job.blocks[0]) ? 0.0f : 0.1f;
        f.job.weights[i] = weights[i];
    }
    check(step_difference(&f) < TOLERANCE, "of equal pixels the first wins");
    tear_down(&f);
}

static void rows_that_are_not_valid_are_not_touched(void)
{
    const unsigned char *bytes;
    bool touched = false;
    size_t size;
    fixture f;

    set_up(&f, 9, 8, 8, 5);
    f.valid_rows = 5;
    for (size_t i = 5 * f.image_size; i < 9 * f.image_size; i++) {
        f.images[i] = NAN;
    }
    for (size_t row = 5; row < 9; row++) {
        f.labels[row] = -1;
    }
    check(step_difference(&f) < TOLERANCE, "rows that are not valid are not read");
    for (size_t i = 0; i < CONVNET_BLOCKS; i++) { /* (9, side, side, out) */
        const size_t side = 4U >> i;

        size = side * side * f.job.blocks[i].out * sizeof(float);
        bytes = (const unsigned char *)f.job.blocks[i].output;
        for (size_t at = 5 * size; at < 9 * size; at++) {
            touched |= bytes[at] != 0xff;
        }
    }
    check(!touched, "rows that are not valid are not computed");
    tear_down(&f);
}

static void a_step_on_no_rows_changes_nothing(void)
{
    fixture f;
    float *before;

    set_up(&f, 4, 8, 8, 5);
    run_step(&f); /* from now on momentum would move the weights */
    before = need(malloc(2 * f.job.weight_count * sizeof(float)));
    memcpy(before, f.job.weights, 2 * f.job.weight_count * sizeof(float));
    f.valid_rows = 0;
    run_step(&f);
    check(memcmp(before, f.job.weights, 2 * f.job.weight_count * sizeof(float)) == 0 &&
              fabsf(f.loss) + fabsf(f.correct) <= 0.0f,
          "a step on no rows changes nothing");
    free(before);
    tear_down(&f);
}

/* Two devices share a batch of 20 rows, 7 and 13, or 20 and none. */
static void devices_that_share_a_batch_update_as_one(uint32_t first)
{
    enum { BATCH = 20 };
    const size_t bytes = 3 * 8 * 16 * sizeof(float);
    float *sums;
    size_t count;
    fixture f;
    float loss;
    float accuracy;
    double worst;

    set_up(&f, BATCH, 8, 16, 18);
    count = f.job.weight_count + CONVNET_TOTALS;
    sums = need(malloc(count * sizeof(float)));
    convnet_train_step(f.net, f.images, f.labels, BATCH, &loss, &accuracy);
    f.valid_rows = first;
    run_sums(&f);
    memcpy(sums, f.job.sums, count * sizeof(float));
    f.valid_rows = BATCH - first;
    memmove(f.images, (char *)f.images + first * bytes, f.valid_rows * bytes);
    memmove(f.labels, f.labels + first, f.valid_rows * sizeof(int32_t));
    run_sums(&f);
    for (size_t i = 0; i < count; i++) {
        f.job.sums[i] += sums[i];
    }
    run_sums_update(&f);
    worst = difference(f.job.weights, convnet_weights(f.net, &count), 2 * f.job.weight_count);
    worst = fmax(worst, fabs((double)f.loss - (double)loss));
    worst = fmax(worst, fabs((double)f.correct - (double)accuracy));
    check(worst < TOLERANCE, "devices that share a batch update as one");
    free(sums);
    tear_down(&f);
}

static void an_update_by_no_rows_changes_nothing(void)
{
    float *before;
    fixture f;

    set_up(&f, 4, 8, 8, 5);
    run_step(&f);
    before = need(malloc(2 * f.job.weight_count * sizeof(float)));
    memcpy(before, f.job.weights, 2 * f.job.weight_count * sizeof(float));
    f.valid_rows = 0;
    run_sums(&f);
    run_sums_update(&f);
    check(memcmp(before, f.job.weights, 2 * f.job.weight_count * sizeof(float)) == 0 &&
              fabsf(f.loss) + fabsf(f.correct) <= 0.0f,
          "an update by no rows changes nothing");
    free(before);
    tear_down(&f);
}

static void a_label_that_is_no_class_makes_the_loss_no_number(void)
{
    fixture f;

    set_up(&f, 4, 8, 8, 5);
    f.labels[2] = 5;
    run_step(&f);
    check(isnan(f.loss), "a label that is no class makes the loss no number");
    tear_down(&f);
}

static void an_evaluation_gives_sums(void)
{
    double loss = 0.0;
    uint64_t correct = 0;
    fixture f;

    set_up(&f, 6, 8, 16, 5);
    f.valid_rows = 5;
    f.job.means = false;
    convnet_evaluate(f.net, f.images, f.labels, f.valid_rows, &loss, &correct);
    run_forward(&f);
    check(fabs((double)f.loss - loss) < TOLERANCE &&
              fabs((double)f.correct - (double)correct) < 0.1,
          "an evaluation gives sums");
    tear_down(&f);
}

int main(void)
{
    steps_are_those_of_the_cpu(3, 8, 8, 1);
    steps_are_those_of_the_cpu(20, 8, 16, 18);
    steps_are_those_of_the_cpu(7, 24, 16, 10);
    steps_are_those_of_the_cpu(70, 8, 8, 40); /* more rows than parts */
    steps_are_those_of_the_cpu(2, 64, 64, 10);
    of_equal_pixels_the_first_wins();
    rows_that_are_not_valid_are_not_touched();
    a_step_on_no_rows_changes_nothing();
    devices_that_share_a_batch_update_as_one(7);
    devices_that_share_a_batch_update_as_one(20);
    an_update_by_no_rows_changes_nothing();
    a_label_that_is_no_class_makes_the_loss_no_number();
    an_evaluation_gives_sums();
    return end_of_checks("convnet_kernels");
}
