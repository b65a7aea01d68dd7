/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The network of convnet.h, from single layers to the training step.
 *
 * Every layer is a product of matrices (matrix_product.h). Images are stored as (H, W, C) with a
 * border of zero pixels, so the 3x3 pixels in a convolution's window are three runs of 3 * C
 * adjacent floats. The linear layer is also a convolution: of a one-pixel image with all features
 * as channels. Weights are divided into panels of 16 outputs. The 16 outputs of a panel are
 * adjacent in memory and fill the vector registers.
 *
 * The batch is divided into a fixed number of chunks, each with its own gradient. The gradients are
 * added in a fixed order, so no result depends on the number of threads.
 */

#include "convnet.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "matrix_product.h"

#define LANES  16 /* outputs in a panel */
#define CHUNKS CONVNET_MAX_CHUNKS
#define LAYERS 4 /* three convolutions and, last, the linear layer */
#define LAST   (LAYERS - 1)

/* ThreadSanitizer reports barriers of OpenMP as races, so OpenMP is not used with it. */
#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc: it defines a macro instead */
#endif
#if defined(_OPENMP) && !defined(__SANITIZE_THREAD__) && !__has_feature(thread_sanitizer)
#define OMP(directive) _Pragma(#directive)
#else
#define OMP(directive)
#endif

/* An image in a chunk's scratch memory, (height, width, channels), maybe with a border. */
typedef struct grid {
    size_t height, width, channels;
    size_t row;    /* floats between vertically adjacent pixels */
    size_t size;   /* floats, border included */
    size_t start;  /* offset of the first float, border included */
    size_t origin; /* offset of pixel (0, 0) */
} grid;

typedef struct layer {
    size_t window; /* side of an output's window: 3, or 1 in the linear layer */
    grid input;    /* (H, W, in), with a border if the window is 3 */
    grid output;   /* (H, W, out), with the same border, before bias and ReLU; or the logits */
    grid pooled;   /* (H / 2, W / 2, out), after bias, max-pool and ReLU; not in the linear layer */
    size_t weights; /* offset in the weights of (out / 16, window, window * in, 16) */
    size_t bias;    /* offset in the weights of (out) */
} layer;

/* A part of the batch, processed by one thread. */
typedef struct chunk {
    float *gradient; /* gradient of the weights, summed over the chunk's rows */
    float *scratch;  /* the grids of one image */
    double loss;
    uint64_t correct;
} chunk;

struct convnet {
    convnet_config config;
    tile_fn *tile;
    layer layers[LAYERS];
    size_t weight_count, scratch_count;
    float *weights;  /* weights and biases of all layers; start of the allocation that includes
                        the arrays below */
    float *velocity; /* momentum of the weights */
    float *flipped;  /* each layer's weights as (in / 16, window, window * out, 16) */
    chunk chunks[CHUNKS];
};

/* Convolves x to y, which have the same height, width and border. The forward pass uses it with the
 * weights. The backward pass uses it with the flipped weights, to compute the gradient of a layer's
 * input from the gradient of its output. panels is (y->channels / 16, window, window * x->channels,
 * 16).
 */
static void convolve(tile_fn *tile, float *scratch, size_t window, const grid *x, float *panels,
                     const grid *y)
{
    const size_t run = window * x->channels;
    const operand a = {scratch + x->start, 0, x->row, x->channels, x->row, 1};
    const operand b = {panels, window * run * LANES, 0, 0, run * LANES, LANES};
    const operand c = {scratch + y->origin, LANES, y->row, y->channels, 0, 0};
    const product p = {y->channels / LANES, y->height, y->width, window, run, a, b, c};

    memset(scratch + y->start, 0, y->size * sizeof(float));
    multiply(tile, &p);
}

/*
 * Adds the contribution of one image to the gradient of a layer's weights: for each weight, the sum
 * over the pixels of its input x times the gradient dy of its output.
 */
static void convolve_gradient(tile_fn *tile, float *scratch, size_t window, const grid *x,
                              const grid *dy, float *gradient)
{
    const size_t run = window * x->channels;
    const operand a = {scratch + x->start, 0, x->row, 1, x->row, x->channels};
    const operand b = {scratch + dy->origin, LANES, 0, 0, dy->row, dy->channels};
    const operand c = {gradient, window * run * LANES, run * LANES, LANES, 0, 0};
    const product p = {dy->channels / LANES, window, run, dy->height, dy->width, a, b, c};

    multiply(tile, &p);
}

/* Returns the values where mask is true, else zero. */
static inline quad keep(quad_mask mask, quad values)
{
    return (quad)(mask & (quad_mask)values);
}

static inline quad larger(quad a, quad b)
{
    return keep(a > b, a) + keep(a <= b, b);
}

static inline float *pixel_at(float *scratch, const grid *g, size_t y, size_t x)
{
    return scratch + g->origin + y * g->row + x * g->channels;
}

/* 2 x 2 max pooling of four channels; first is the upper left pixel of the window. */
static inline quad largest(const layer *l, const float *first)
{
    const float *below = first + l->output.row;
    const size_t right = l->output.channels;

    return larger(larger(*(const quad *)first, *(const quad *)(first + right)),
                  larger(*(const quad *)below, *(const quad *)(below + right)));
}

/* Max-pool, bias and ReLU in one pass: the bias does not change the position of the maximum. */
static void pool(const layer *l, float *scratch, const float *bias)
{
    for (size_t y = 0; y < l->pooled.height; y++) {
        for (size_t x = 0; x < l->pooled.width; x++) {
            const float *first = pixel_at(scratch, &l->output, 2 * y, 2 * x);
            float *pooled = pixel_at(scratch, &l->pooled, y, x);

            for (size_t i = 0; i < l->pooled.channels; i += 4) {
                const quad most = largest(l, first + i) + *(const quad *)(bias + i);

                *(quad *)(pooled + i) = keep(most > 0.0f, most);
            }
        }
    }
}

/*
 * The backward pass of pool(): replaces the output's pixels by their gradients. The gradient of a
 * pooled pixel goes to the first maximum of the four, if the ReLU is active.
 */
static void pool_gradient(const layer *l, float *scratch, const float *bias, float *bias_gradient)
{
    const size_t channels = l->pooled.channels;

    for (size_t n = 0; n < l->pooled.height * l->pooled.width; n++) {
        const size_t y = n / l->pooled.width;
        const size_t x = n % l->pooled.width;
        const float *pooled = pixel_at(scratch, &l->pooled, y, x);
        float *first = pixel_at(scratch, &l->output, 2 * y, 2 * x);

        for (size_t i = 0; i < channels; i += 4) {
            const quad most = largest(l, first + i);
            quad left = keep(most + *(const quad *)(bias + i) > 0.0f, *(const quad *)(pooled + i));

            *(quad *)(bias_gradient + i) += left;
            for (size_t k = 0; k < 4; k++) {
                quad *pixel = (quad *)(first + k / 2 * l->output.row + k % 2 * channels + i);

                *pixel = keep(*pixel == most, left);
                left -= *pixel;
            }
        }
    }
}

/* Copies an image from (3, H, W) to the first layer's input, which is (H, W, 3). */
static void load_image(const grid *to, const float *image, float *scratch)
{
    for (size_t y = 0; y < to->height; y++) {
        for (size_t x = 0; x < to->width; x++) {
            for (size_t c = 0; c < 3; c++) {
                pixel_at(scratch, to, y, x)[c] = image[(c * to->height + y) * to->width + x];
            }
        }
    }
}

static void forward(const convnet *net, const float *image, float *scratch)
{
    load_image(&net->layers[0].input, image, scratch);
    for (size_t i = 0; i < LAYERS; i++) {
        const layer *l = &net->layers[i];

        convolve(net->tile, scratch, l->window, &l->input, net->weights + l->weights, &l->output);
        if (i < LAST) {
            pool(l, scratch, net->weights + l->bias);
        }
    }
}

/*
 * Adds the loss and the correctness of an image to the chunk's sums. Replaces the logits by the
 * gradient of the loss, times scale: probability minus truth for softmax cross-entropy.
 */
static void judge(const convnet *net, chunk *part, size_t label, float scale)
{
    const size_t classes = net->config.classes;
    float *logits = part->scratch + net->layers[LAST].output.origin;
    float most = -INFINITY;
    float sum = 0.0f;
    size_t best = 0;

    assert(label < classes);
    for (size_t i = 0; i < classes; i++) {
        logits[i] += net->weights[net->layers[LAST].bias + i];
        best = logits[i] > most ? i : best;
        most = logits[best];
    }
    part->correct += best == label;
    part->loss += (double)(most - logits[label]);
    for (size_t i = 0; i < classes; i++) {
        logits[i] = expf(logits[i] - most);
        sum += logits[i];
    }
    part->loss += (double)logf(sum);
    for (size_t i = 0; i < net->layers[LAST].output.channels; i++) {
        logits[i] = i < classes ? scale * logits[i] / sum : 0.0f;
    }
    logits[label] -= scale;
}

/*
 * Adds one image's gradients to the chunk's, given the gradient of the logits. Each grid is
 * replaced by its own gradient once it is no longer needed; borders stay zero. The gradient of the
 * image is not computed.
 */
static void backward(const convnet *net, chunk *part)
{
    const layer *last = &net->layers[LAST];

    for (size_t i = 0; i < net->config.classes; i++) {
        part->gradient[last->bias + i] += part->scratch[last->output.origin + i];
    }
    for (size_t i = LAYERS; i-- > 0;) {
        const layer *l = &net->layers[i];

        if (i < LAST) {
            pool_gradient(l, part->scratch, net->weights + l->bias, part->gradient + l->bias);
        }
        convolve_gradient(net->tile, part->scratch, l->window, &l->input, &l->output,
                          part->gradient + l->weights);
        if (i > 0) {
            convolve(net->tile, part->scratch, l->window, &l->output, net->flipped + l->weights,
                     &l->input);
        }
    }
}

/* Runs the rows of a batch in chunks: row i in chunk i % chunks. If scale is not 0, computes the
 * gradients of the loss times scale. */
static void run_batch(convnet *net, const float *images, const int32_t *labels, size_t valid_rows,
                      size_t chunks, float scale)
{
    const bool train = scale > 0.0f;
    const size_t image_size = 3 * (size_t)net->config.height * net->config.width;

    assert(valid_rows <= net->config.batch && chunks <= CHUNKS);
    OMP(omp parallel for schedule(dynamic))
    for (size_t i = 0; i < chunks; i++) {
        chunk *part = &net->chunks[i];

        part->loss = 0.0;
        part->correct = 0;
        if (train) {
            memset(part->gradient, 0, net->weight_count * sizeof(float));
        }
        for (size_t row = i; row < valid_rows; row += chunks) {
            forward(net, images + row * image_size, part->scratch);
            judge(net, part, (size_t)labels[row], scale);
            if (train) {
                backward(net, part);
            }
        }
    }
}

/* Adds the losses and the correct answers of all chunks to *loss_sum and *correct. */
static void add_results(const convnet *net, double *loss_sum, uint64_t *correct)
{
    for (size_t i = 0; i < CHUNKS; i++) {
        *loss_sum += net->chunks[i].loss;
        *correct += net->chunks[i].correct;
    }
}

/*
 * Recomputes the flipped weights of a layer: swaps inputs and outputs, and reverses the window in
 * both directions.
 */
static void flip_weights(convnet *net, const layer *l)
{
    const size_t pixels = l->window * l->window;
    const size_t in = l->input.channels;
    const size_t out = l->output.channels;

    for (size_t o = 0; o < out; o++) {
        for (size_t k = 0; k < pixels; k++) {
            for (size_t i = 0; i < in; i++) {
                const size_t from = (o / LANES * pixels + k) * in + i;
                const size_t to = (i / LANES * pixels + pixels - 1 - k) * out + o;

                net->flipped[l->weights + to * LANES + i % LANES] =
                    net->weights[l->weights + from * LANES + o % LANES];
            }
        }
    }
}

static void flip_all_weights(convnet *net)
{
    for (size_t i = 1; i < LAYERS; i++) {
        flip_weights(net, &net->layers[i]);
    }
}

/* Adds the gradients of the first chunks in order, and updates the weights by their sum times
 * scale. */
static void update_weights(convnet *net, size_t chunks, float scale)
{
    OMP(omp parallel for schedule(static))
    for (size_t first = 0; first < net->weight_count; first += LANES) {
        float sum[LANES] = {0};

        for (size_t i = 0; i < chunks; i++) {
            for (size_t n = 0; n < LANES; n++) {
                sum[n] += net->chunks[i].gradient[first + n];
            }
        }
        for (size_t n = first; n < first + LANES; n++) {
            net->velocity[n] = net->config.momentum * net->velocity[n] + scale * sum[n - first];
            net->weights[n] -= net->config.learning_rate * net->velocity[n];
        }
    }
}

void convnet_train_step(convnet *net, const float *images, const int32_t *labels,
                        uint32_t valid_rows, float *loss_out, float *accuracy_out)
{
    const double rows = valid_rows > 0 ? valid_rows : 1.0;
    double loss = 0.0;
    uint64_t correct = 0;

    if (valid_rows > 0) {
        flip_all_weights(net);
        run_batch(net, images, labels, valid_rows, CHUNKS, 1.0f / (float)valid_rows);
        add_results(net, &loss, &correct);
        update_weights(net, CHUNKS, 1.0f);
    }
    *loss_out = (float)(loss / rows);
    *accuracy_out = (float)((double)correct / rows);
}

/* Adds the gradients and results of the upper half of the chunks to those of the lower half. */
static void halve_chunks(convnet *net, size_t half)
{
    OMP(omp parallel for schedule(static))
    for (size_t i = 0; i < half; i++) {
        chunk *lower = &net->chunks[i];
        const chunk *upper = &net->chunks[half + i];

        lower->loss += upper->loss;
        lower->correct += upper->correct;
        for (size_t n = 0; n < net->weight_count; n++) {
            lower->gradient[n] += upper->gradient[n];
        }
    }
}

float *convnet_train_gradient(convnet *net, const float *images, const int32_t *labels,
                              uint32_t valid_rows, uint32_t chunks, double *loss_out,
                              uint64_t *correct_out, size_t *count_out)
{
    const chunk *sum = &net->chunks[0];

    flip_all_weights(net);
    run_batch(net, images, labels, valid_rows, chunks, 1.0f);
    for (size_t half = chunks / 2; half > 0; half /= 2) {
        halve_chunks(net, half);
    }
    *loss_out = sum->loss;
    *correct_out = sum->correct;
    *count_out = net->weight_count;
    return sum->gradient;
}

void convnet_train_update(convnet *net, float scale)
{
    update_weights(net, 1, scale);
}

void convnet_evaluate(convnet *net, const float *images, const int32_t *labels, uint32_t valid_rows,
                      double *loss_sum, uint64_t *correct)
{
    run_batch(net, images, labels, valid_rows, CHUNKS, 0.0f);
    add_results(net, loss_sum, correct);
}

void convnet_classify(convnet *net, const float *image, float *probabilities_out)
{
    chunk *part = &net->chunks[0];

    forward(net, image, part->scratch);
    judge(net, part, 0, 1.0f); /* leaves the probabilities, minus 1 for class 0 */
    memcpy(probabilities_out, part->scratch + net->layers[LAST].output.origin,
           net->config.classes * sizeof(float));
    probabilities_out[0] += 1.0f;
}

/* Reserves count floats at the end of a vector of *total floats, aligned to a cache line. */
static size_t reserve(size_t *total, size_t count)
{
    const size_t offset = *total;

    *total += (count + LANES - 1) / LANES * LANES;
    return offset;
}

static grid make_grid(size_t height, size_t width, size_t channels, size_t border, size_t *total)
{
    grid g = {.height = height, .width = width, .channels = channels};

    g.row = (width + 2 * border) * channels;
    g.size = (height + 2 * border) * g.row;
    g.start = reserve(total, g.size);
    g.origin = g.start + border * (g.row + channels);
    return g;
}

/* Computes the layout of all layers. The linear layer's outputs are padded to whole panels. */
static void make_layers(convnet *net)
{
    const size_t padded_classes = (net->config.classes + LANES - 1U) / LANES * LANES;
    size_t *scratch = &net->scratch_count;
    grid input = make_grid(net->config.height, net->config.width, 3, 1, scratch);

    for (size_t i = 0; i < LAYERS; i++) {
        layer *l = &net->layers[i];
        const size_t border = i < LAST ? 1 : 0;
        const size_t out = i < LAST ? (size_t)16 << i : padded_classes;

        if (i == LAST) { /* flatten: (H, W, C) becomes (1, 1, H * W * C) */
            input.height = input.width = 1;
            input.channels = input.row = input.size;
        }
        l->window = 1 + 2 * border;
        l->input = input;
        l->output = make_grid(input.height, input.width, out, border, scratch);
        l->pooled = make_grid(input.height / 2, input.width / 2, out, i + 1 < LAST, scratch);
        l->weights = reserve(&net->weight_count, l->window * l->window * input.channels * out);
        l->bias = reserve(&net->weight_count, out);
        input = l->pooled;
    }
}

/* Returns the next splitmix64 number in [0, 1). */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Random weights around zero: He's variance, 2 / inputs, divided by 3, the gain of max-pool. */
static void initialise(convnet *net)
{
    uint64_t state = net->config.seed;

    for (size_t i = 0; i < LAYERS; i++) {
        const layer *l = &net->layers[i];
        const size_t inputs = l->window * l->window * l->input.channels;
        const double limit = sqrt(2.0 / (double)inputs);

        for (size_t n = 0; n < inputs * l->output.channels; n++) {
            net->weights[l->weights + n] = (float)(limit * (2.0 * next_random(&state) - 1.0));
        }
    }
}

convnet *convnet_create(const convnet_config *config)
{
    const bool is_valid = config->batch >= 1 && config->classes >= 1 && config->classes <= 65536 &&
                          config->height % 8 == 0 && config->height >= 8 &&
                          config->height <= 1024 && config->width % 8 == 0 && config->width >= 8 &&
                          config->width <= 1024;
    convnet *net = is_valid ? calloc(1, sizeof(*net)) : NULL;
    size_t size;

    if (net == NULL) {
        return NULL;
    }
    net->config = *config;
    net->tile = choose_tile();
    make_layers(net);
    size = (3 + CHUNKS) * net->weight_count + CHUNKS * net->scratch_count;
    net->weights = aligned_alloc(LANES * sizeof(float), size * sizeof(float));
    if (net->weights == NULL) {
        free(net);
        return NULL;
    }
    memset(net->weights, 0, size * sizeof(float));
    net->velocity = net->weights + net->weight_count;
    net->flipped = net->velocity + net->weight_count;
    for (size_t i = 0; i < CHUNKS; i++) {
        net->chunks[i].gradient = net->flipped + (i + 1) * net->weight_count;
        net->chunks[i].scratch = net->weights + size - (i + 1) * net->scratch_count;
    }
    initialise(net);
    return net;
}

void convnet_destroy(convnet *net)
{
    if (net != NULL) {
        free(net->weights);
        free(net);
    }
}

void convnet_set_learning_rate(convnet *net, float learning_rate)
{
    net->config.learning_rate = learning_rate;
}

uint64_t convnet_digest(const convnet *net)
{
    const unsigned char *bytes = (const unsigned char *)net->weights;
    uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (size_t i = 0; i < net->weight_count * sizeof(float); i++) {
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

float *convnet_weights(convnet *net, size_t *count_out)
{
    *count_out = net->weight_count;
    return net->weights;
}
