/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks the network of the examples, without the library and without a test framework: that its
 * gradients are those of its loss, that neither threads nor unused rows leave a trace in the
 * weights, and that it learns. Prints a line per check and exits with 1 if one failed.
 *
 * Build it a second time with -DCONVNET_PORTABLE to check the arithmetic for other processors.
 */

#include "convnet.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "convnet_kit.h"

#define BATCH   20
#define CLASSES 18 /* fills one panel of sixteen and begins a second */

/* A network and a random batch for it. */
typedef struct fixture {
    convnet *net;
    float *images; /* (BATCH, 3, height, width) */
    size_t image_size;
    int32_t labels[BATCH];
} fixture;

static void set_threads(int count)
{
#ifdef _OPENMP
    omp_set_num_threads(count);
#else
    (void)count;
#endif
}

static convnet_config config_of(uint32_t height, uint32_t width)
{
    return (convnet_config){.batch = BATCH,
                            .height = height,
                            .width = width,
                            .classes = CLASSES,
                            .learning_rate = 0.02f,
                            .momentum = 0.9f,
                            .seed = 7};
}

static fixture set_up(const convnet_config *config)
{
    fixture f = {.image_size = 3 * (size_t)config->height * config->width};

    f.net = need(convnet_create(config));
    f.images = need(malloc(BATCH * f.image_size * sizeof(float)));
    for (size_t i = 0; i < BATCH * f.image_size; i++) {
        f.images[i] = next_number();
    }
    for (size_t row = 0; row < BATCH; row++) {
        f.labels[row] = (int32_t)(row % config->classes);
    }
    return f;
}

static void tear_down(fixture *f)
{
    convnet_destroy(f->net);
    free(f->images);
}

static float train(fixture *f, uint32_t rows)
{
    float loss;
    float accuracy;

    convnet_train_step(f->net, f->images, f->labels, rows, &loss, &accuracy);
    return loss;
}

static double mean_loss(fixture *f, uint32_t rows)
{
    double loss = 0.0;
    uint64_t correct = 0;

    convnet_evaluate(f->net, f->images, f->labels, rows, &loss, &correct);
    return loss / rows;
}

/* The slope of the mean loss along one weight, by central differences. */
static double slope(fixture *f, float *weight, uint32_t rows)
{
    const float step = 2e-3f;
    const float before = *weight;
    double above;
    double below;

    *weight = before + step;
    above = mean_loss(f, rows);
    *weight = before - step;
    below = mean_loss(f, rows);
    *weight = before;
    return (above - below) / (2.0 * (double)step);
}

/* A fixture for the two tests below: with a rate of 1 and no momentum. */
static fixture set_up_plain(uint32_t height, uint32_t width)
{
    convnet_config config = config_of(height, width);

    config.learning_rate = 1.0f;
    config.momentum = 0.0f;
    return set_up(&config);
}

/* Returns the gradient, to be freed: it is what a plain step takes off the weights. */
static float *gradient_of(fixture *f, uint32_t rows)
{
    size_t count;
    float *weights = convnet_weights(f->net, &count);
    float *gradient = need(malloc(count * sizeof(float)));

    memcpy(gradient, weights, count * sizeof(float));
    (void)train(f, rows);
    for (size_t i = 0; i < count; i++) {
        const float before = gradient[i];

        gradient[i] = before - weights[i];
        weights[i] = before;
    }
    return gradient;
}

/*
 * We try a sample of the weights and all biases, which we know by their first value, zero. A few
 * differences may be wrong, where a small step crosses the edge of a ReLU or changes the largest of
 * four pixels.
 */
static void gradients_match_differences_of_the_loss(void)
{
    enum { ROWS = 2, STRIDE = 211 };
    fixture f = set_up_plain(8, 16);
    size_t count;
    float *weights = convnet_weights(f.net, &count);
    float *gradient = gradient_of(&f, ROWS);
    size_t tried = 0;
    size_t matching = 0;
    size_t moving = 0;

    for (size_t i = 0; i < count; i++) {
        if (i % STRIDE == 0 || weights[i] == 0.0f) {
            const double expected = slope(&f, &weights[i], ROWS);
            const double error = fabs(expected - (double)gradient[i]);

            tried++;
            matching += error < 2e-4 + 0.01 * fabs(expected) ? 1 : 0;
            moving += fabs(expected) > 2e-3 ? 1 : 0;
        }
    }
    printf("  %zu of %zu gradients match, %zu are well above zero\n", matching, tried, moving);
    check(matching * 100 >= tried * 97 && moving * 4 >= tried,
          "gradients match differences of the loss");
    free(gradient);
    tear_down(&f);
}

/* The mean over a batch of equal rows is what one of them gives. */
static void gradients_add_up_over_the_rows(void)
{
    fixture f = set_up_plain(8, 8);
    size_t count;
    float worst = 0.0f;
    float *one = gradient_of(&f, 1);
    float *all;

    (void)convnet_weights(f.net, &count);
    for (size_t row = 1; row < BATCH; row++) {
        memcpy(f.images + row * f.image_size, f.images, f.image_size * sizeof(float));
        f.labels[row] = f.labels[0];
    }
    all = gradient_of(&f, BATCH);
    for (size_t i = 0; i < count; i++) {
        worst = fmaxf(worst, fabsf(all[i] - one[i]));
    }
    check(worst < 1e-5f, "gradients add up over the rows");
    free(one);
    free(all);
    tear_down(&f);
}

/* The gradient of a batch that `ranks` processes share, each with every ranks-th row; updates the
 * weights by it. Returns the loss. */
static double shared_step(fixture *f, size_t ranks)
{
    float *images = need(malloc(BATCH * f->image_size * sizeof(float)));
    int32_t labels[BATCH] = {0};
    double losses[CONVNET_MAX_CHUNKS] = {0};
    float *sums[CONVNET_MAX_CHUNKS] = {NULL};
    float *gradient = NULL;
    uint64_t correct;
    size_t count = 0;

    for (size_t rank = 0; rank < ranks; rank++) {
        uint32_t rows = 0;

        for (size_t row = rank; row < BATCH; row += ranks) {
            memcpy(images + rows * f->image_size, f->images + row * f->image_size,
                   f->image_size * sizeof(float));
            labels[rows++] = f->labels[row];
        }
        gradient = convnet_train_gradient(f->net, images, labels, rows,
                                          (uint32_t)(CONVNET_MAX_CHUNKS / ranks), &losses[rank],
                                          &correct, &count);
        sums[rank] = need(malloc(count * sizeof(float)));
        memcpy(sums[rank], gradient, count * sizeof(float));
    }
    for (size_t half = ranks / 2; half > 0; half /= 2) {
        for (size_t rank = 0; rank < half; rank++) {
            losses[rank] += losses[half + rank];
            for (size_t i = 0; i < count; i++) {
                sums[rank][i] += sums[half + rank][i];
            }
        }
    }
    memcpy(need(gradient), need(sums[0]), count * sizeof(float));
    convnet_train_update(f->net, 1.0f / BATCH);
    for (size_t rank = 0; rank < ranks; rank++) {
        free(sums[rank]);
    }
    free(images);
    return losses[0] / BATCH;
}

static void processes_that_share_a_batch_update_as_one(void)
{
    const convnet_config config = config_of(8, 8);
    fixture whole = set_up(&config);
    fixture one = set_up(&config);
    const float *expected;
    const float *weights;
    float worst = 0.0f;
    double loss;
    uint64_t digest;
    bool same = true;
    size_t count;

    loss = shared_step(&one, 1);
    digest = convnet_digest(one.net);
    for (size_t ranks = 2; ranks <= CONVNET_MAX_CHUNKS; ranks *= 2) {
        fixture many = set_up(&config);

        memcpy(many.images, one.images, BATCH * one.image_size * sizeof(float));
        same = memcmp(&loss, &(double){shared_step(&many, ranks)}, sizeof(loss)) == 0 && same;
        same = convnet_digest(many.net) == digest && same;
        tear_down(&many);
    }
    check(same, "2, 4, 8 and 16 processes that share a batch have the bits of one");
    memcpy(whole.images, one.images, BATCH * one.image_size * sizeof(float));
    check(fabs(loss - (double)train(&whole, BATCH)) < 1e-6, "... with the loss of a whole step");
    expected = convnet_weights(whole.net, &count);
    weights = convnet_weights(one.net, &count);
    for (size_t i = 0; i < 2 * count; i++) { /* with the momentum, which follows the weights */
        worst = fmaxf(worst, fabsf(weights[i] - expected[i]));
    }
    check(worst < 1e-6f, "... and its update");
    tear_down(&one);
    tear_down(&whole);
}

static void a_step_reports_the_loss_before_it(void)
{
    const convnet_config config = config_of(24, 8);
    fixture f = set_up(&config);
    const double expected = mean_loss(&f, BATCH);

    check(fabs((double)train(&f, BATCH) - expected) < 1e-5, "a step reports the loss before it");
    tear_down(&f);
}

static uint64_t digest_after_steps(const float *images, const int32_t *labels, int threads)
{
    const convnet_config config = config_of(8, 16);
    convnet *net = need(convnet_create(&config));
    uint64_t digest;
    float loss;
    float accuracy;

    set_threads(threads);
    for (int step = 0; step < 5; step++) {
        convnet_train_step(net, images, labels, BATCH, &loss, &accuracy);
    }
    set_threads(1);
    digest = convnet_digest(net);
    convnet_destroy(net);
    return digest;
}

static void threads_leave_no_trace_in_the_weights(void)
{
    const convnet_config config = config_of(8, 16);
    fixture f = set_up(&config);
    const uint64_t one = digest_after_steps(f.images, f.labels, 1);

    check(one != convnet_digest(f.net), "steps change the weights");
    check(digest_after_steps(f.images, f.labels, 2) == one, "two threads compute what one does");
    check(digest_after_steps(f.images, f.labels, 3) == one, "three threads compute what one does");
    check(digest_after_steps(f.images, f.labels, 8) == one, "eight threads compute what one does");
    tear_down(&f);
}

static void rows_that_are_not_valid_are_not_read(void)
{
    enum { ROWS = 7 };
    const convnet_config config = config_of(8, 8);
    fixture f = set_up(&config);
    convnet *clean = need(convnet_create(&config));
    float loss;
    float accuracy;

    convnet_train_step(clean, f.images, f.labels, ROWS, &loss, &accuracy);
    for (size_t i = ROWS * f.image_size; i < BATCH * f.image_size; i++) {
        f.images[i] = NAN;
    }
    for (size_t row = ROWS; row < BATCH; row++) {
        f.labels[row] = -1;
    }
    check(isfinite(train(&f, ROWS)) && convnet_digest(f.net) == convnet_digest(clean),
          "rows that are not valid are not read");
    convnet_destroy(clean);
    tear_down(&f);
}

static void a_step_on_no_rows_changes_nothing(void)
{
    const convnet_config config = config_of(8, 8);
    fixture f = set_up(&config);
    double loss_sum = 1.0;
    uint64_t correct = 1;
    uint64_t digest;
    float loss = 1.0f;
    float accuracy = 1.0f;

    (void)train(&f, BATCH); /* from now on momentum would move the weights */
    digest = convnet_digest(f.net);
    convnet_train_step(f.net, f.images, f.labels, 0, &loss, &accuracy);
    check(convnet_digest(f.net) == digest && !(loss > 0.0f) && !(accuracy > 0.0f),
          "a step on no rows changes nothing");
    convnet_evaluate(f.net, f.images, f.labels, 0, &loss_sum, &correct);
    check(loss_sum >= 1.0 && loss_sum <= 1.0 && correct == 1, "no rows add nothing to the sums");
    convnet_evaluate(f.net, f.images, f.labels, BATCH, &loss_sum, &correct);
    check(convnet_digest(f.net) == digest, "an evaluation leaves the weights alone");
    tear_down(&f);
}

/* Each class is a random image of its own, seen through noise that is new in each step. */
static void the_loss_falls_on_a_task_that_can_be_learnt(void)
{
    const convnet_config config = config_of(8, 8);
    fixture f = set_up(&config);
    const size_t size = BATCH * f.image_size;
    float *classes = need(malloc(size * sizeof(float)));
    float first = 0.0f;
    float loss = 0.0f;
    float accuracy = 0.0f;

    convnet_set_learning_rate(f.net, 0.05f);
    memcpy(classes, f.images, size * sizeof(float));
    for (int step = 0; step < 30; step++) {
        for (size_t i = 0; i < size; i++) {
            const size_t label = (size_t)f.labels[i / f.image_size];

            f.images[i] = classes[label * f.image_size + i % f.image_size] + 0.5f * next_number();
        }
        convnet_train_step(f.net, f.images, f.labels, BATCH, &loss, &accuracy);
        first = step == 0 ? loss : first;
    }
    printf("  the loss fell from %.3f to %.3f, accuracy %.2f\n", (double)first, (double)loss,
           (double)accuracy);
    check(loss < 0.4f * first && accuracy > 0.9f, "the loss falls on a task that can be learnt");
    free(classes);
    tear_down(&f);
}

/* The loss of a row is minus the logarithm of its label's probability. */
static void probabilities_are_those_of_the_loss(void)
{
    const convnet_config config = config_of(8, 16);
    fixture f = set_up(&config);
    float probabilities[CLASSES];
    double worst = 0.0;
    double sum = 0.0;
    uint64_t digest;

    (void)train(&f, BATCH);
    digest = convnet_digest(f.net);
    for (int32_t label = 0; label < CLASSES; label++) {
        f.labels[0] = label;
        convnet_classify(f.net, f.images, probabilities);
        worst = fmax(worst, fabs(exp(-mean_loss(&f, 1)) - (double)probabilities[label]));
        sum += (double)probabilities[label];
    }
    check(worst < 1e-5 && fabs(sum - 1.0) < 1e-5, "probabilities are those of the loss");
    check(convnet_digest(f.net) == digest, "a classification leaves the weights alone");
    tear_down(&f);
}

static void bad_sizes_are_refused(void)
{
    convnet_config height = config_of(12, 8);
    convnet_config width = config_of(8, 0);
    convnet_config classes = config_of(8, 8);

    classes.classes = 0;
    check(convnet_create(&height) == NULL && convnet_create(&width) == NULL &&
              convnet_create(&classes) == NULL,
          "bad sizes are refused");
    convnet_destroy(NULL);
}

int main(void)
{
    set_threads(1); /* the networks are too small for more to pay */
    gradients_match_differences_of_the_loss();
    gradients_add_up_over_the_rows();
    processes_that_share_a_batch_update_as_one();
    a_step_reports_the_loss_before_it();
    threads_leave_no_trace_in_the_weights();
    rows_that_are_not_valid_are_not_read();
    a_step_on_no_rows_changes_nothing();
    the_loss_falls_on_a_task_that_can_be_learnt();
    probabilities_are_those_of_the_loss();
    bad_sizes_are_refused();
    return end_of_checks("convnet");
}
