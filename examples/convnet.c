/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The network of convnet.h, from its one arithmetic kernel up to a training step.
 *
 * Every layer is a product of matrices. Inside, images are (H, W, C) with a border of zero pixels,
 * so that the 3x3 pixels under a convolution's window are just three runs of 3 * C adjacent floats.
 * The linear layer is a convolution too, of a one-pixel image that has all features as channels.
 * Weights are cut into panels of 16 outputs, which lie side by side and fill the vector registers.
 *
 * The batch is cut into a fixed number of chunks, each with its own gradient, and the gradients are
 * added in the order of the chunks: no result depends on how many threads there are.
 */

#include "convnet.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Define CONVNET_PORTABLE to check, on a processor that has AVX2, what the others get. */
#if defined(__x86_64__) && !defined(CONVNET_PORTABLE)
#define HAVE_AVX2_TILE 1
#include <immintrin.h>
#endif

#define LANES  16 /* outputs in a panel */
#define CHUNKS 16 /* parts of a batch; more threads than this would have nothing to do */
#define LAYERS 4  /* three convolutions and, last, the linear layer */
#define LAST   (LAYERS - 1)

/* ThreadSanitizer takes the barriers of OpenMP for races, so there we do without. */
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
    size_t row;    /* floats from a pixel to the one below */
    size_t size;   /* floats, border included */
    size_t start;  /* offset of the first float, in the border if there is one */
    size_t origin; /* offset of pixel (0, 0) */
} grid;

typedef struct layer {
    size_t window; /* pixels that an output sees each way: 3, or 1 in the linear layer */
    grid input;    /* (H, W, in), with a border if the window is 3 */
    grid output;   /* (H, W, out), with the same border, before bias and ReLU; or the logits */
    grid pooled;   /* (H / 2, W / 2, out), after bias, max-pool and ReLU; not in the linear layer */
    size_t weights; /* offset in the weights of (out / 16, window, window * in, 16) */
    size_t bias;    /* offset in the weights of (out) */
} layer;

/* A part of the batch, worked on by one thread at a time. */
typedef struct chunk {
    float *gradient; /* shaped as the weights: the sum over the chunk's rows */
    float *scratch;  /* the grids of one image */
    double loss;
    uint64_t correct;
} chunk;

typedef struct operand {
    float *at;
    size_t panel, line, row, outer, inner; /* strides in floats; 0 where they do not apply */
} operand;

/*
 * A product of matrices, c += a x b: for the 16 columns n of each panel,
 *
 *   c[panel, line, row][n] += sum over j < outer, k < inner of
 *                             a[line, row, j, k] * b[panel, j, k][n]
 *
 * Lines of rows, and a sum in two levels, are what it takes to walk a bordered image.
 */
typedef struct product {
    size_t panels, lines, rows, outer, inner;
    operand a, b, c;
} product;

/* Makes the next few rows of a line of c, at most left, and returns how many. */
typedef size_t tile_fn(const product *p, const float *a, const float *b, float *c, size_t left);

/* Four floats, on any processor. may_alias: we point with it at plain floats. */
typedef float quad __attribute__((vector_size(16), may_alias));
typedef int32_t quad_mask __attribute__((vector_size(16)));

static size_t portable_tile(const product *p, const float *a, const float *b, float *c, size_t left)
{
    quad sum[4];

    (void)left;
    memcpy(sum, c, sizeof(sum));
    for (size_t j = 0; j < p->outer; j++) {
        for (size_t k = 0; k < p->inner; k++) {
            const float factor = a[j * p->a.outer + k * p->a.inner];
            const quad *b_k = (const quad *)(b + j * p->b.outer + k * p->b.inner);

            for (size_t n = 0; n < 4; n++) {
                sum[n] += factor * b_k[n];
            }
        }
    }
    memcpy(c, sum, sizeof(sum));
    return 1;
}

#ifdef HAVE_AVX2_TILE
/* Four rows at once, because then each number that is read from b serves four sums. */
__attribute__((target("avx2,fma"))) static size_t avx2_tile(const product *p, const float *a,
                                                            const float *b, float *c, size_t left)
{
    __m256 sum[4][2];

    if (left < 4) {
        return portable_tile(p, a, b, c, left);
    }
    for (size_t r = 0; r < 4; r++) {
        sum[r][0] = _mm256_loadu_ps(c + r * p->c.row);
        sum[r][1] = _mm256_loadu_ps(c + r * p->c.row + 8);
    }
    for (size_t j = 0; j < p->outer; j++) {
        for (size_t k = 0; k < p->inner; k++) {
            const float *a_k = a + j * p->a.outer + k * p->a.inner;
            const float *b_k = b + j * p->b.outer + k * p->b.inner;
            const __m256 b_0 = _mm256_loadu_ps(b_k);
            const __m256 b_1 = _mm256_loadu_ps(b_k + 8);

            for (size_t r = 0; r < 4; r++) {
                const __m256 factor = _mm256_set1_ps(a_k[r * p->a.row]);

                sum[r][0] = _mm256_fmadd_ps(factor, b_0, sum[r][0]);
                sum[r][1] = _mm256_fmadd_ps(factor, b_1, sum[r][1]);
            }
        }
    }
    for (size_t r = 0; r < 4; r++) {
        _mm256_storeu_ps(c + r * p->c.row, sum[r][0]);
        _mm256_storeu_ps(c + r * p->c.row + 8, sum[r][1]);
    }
    return 4;
}
#endif

static void multiply(tile_fn *tile, const product *p)
{
    for (size_t panel = 0; panel < p->panels; panel++) {
        for (size_t line = 0; line < p->lines; line++) {
            const float *a = p->a.at + line * p->a.line;
            const float *b = p->b.at + panel * p->b.panel;
            float *c = p->c.at + panel * p->c.panel + line * p->c.line;

            for (size_t row = 0; row < p->rows;) {
                row += tile(p, a + row * p->a.row, b, c + row * p->c.row, p->rows - row);
            }
        }
    }
}

struct convnet {
    convnet_config config;
    tile_fn *tile;
    layer layers[LAYERS];
    size_t weight_count, scratch_count;
    float *weights;  /* weights and biases of all layers; the memory of all that follows, too */
    float *velocity; /* shaped as the weights: the momentum */
    float *flipped;  /* each layer's weights as (in / 16, window, window * out, 16) */
    chunk chunks[CHUNKS];
};

/*
 * Convolves x to y, both of the same height, width and border. It serves both ways: forward with
 * the weights, and backward with the flipped weights from the gradient of a layer's output to that
 * of its input. panels is (y->channels / 16, window, window * x->channels, 16).
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
 * Adds an image's share to the gradient of a layer's weights, shaped as they are. Each weight gets,
 * summed over the pixels, the input x that it saw times the gradient dy of what it added to.
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

/* The values where mask is true, and zeros elsewhere. */
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

/* Of four pixels that are pooled, the largest in four channels; first is the upper left one. */
static inline quad largest(const layer *l, const float *first)
{
    const float *below = first + l->output.row;
    const size_t right = l->output.channels;

    return larger(larger(*(const quad *)first, *(const quad *)(first + right)),
                  larger(*(const quad *)below, *(const quad *)(below + right)));
}

/* Max-pool, bias and ReLU at once: the largest stays the largest under a bias. */
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
 * The way back: turns the output's pixels into their gradients. All of a pooled pixel's gradient
 * goes to the first of the four that was the largest, if the ReLU let it pass.
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

/* Copies an image from (3, H, W) to the first layer's (H, W, 3). */
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
 * Adds the loss and the answer to the chunk's, and turns the logits into the gradient of the loss,
 * times scale: for softmax cross-entropy that is simply probability minus truth.
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
 * Adds one image's gradients to the chunk's, starting from that of the logits. Each grid, having
 * served, is overwritten by its own gradient; borders stay zero. Nobody needs that of the image.
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

/* Runs the rows of a batch, adding up loss and right answers and, with train, the gradients. */
static void run_batch(convnet *net, const float *images, const int32_t *labels, size_t valid_rows,
                      bool train, double *loss_sum, uint64_t *correct)
{
    const size_t image_size = 3 * (size_t)net->config.height * net->config.width;

    assert(valid_rows <= net->config.batch);
    OMP(omp parallel for schedule(dynamic))
    for (size_t i = 0; i < CHUNKS; i++) {
        chunk *part = &net->chunks[i];

        part->loss = 0.0;
        part->correct = 0;
        if (train) {
            memset(part->gradient, 0, net->weight_count * sizeof(float));
        }
        for (size_t row = i * valid_rows / CHUNKS; row < (i + 1) * valid_rows / CHUNKS; row++) {
            forward(net, images + row * image_size, part->scratch);
            judge(net, part, (size_t)labels[row], 1.0f / (float)valid_rows);
            if (train) {
                backward(net, part);
            }
        }
    }
    for (size_t i = 0; i < CHUNKS; i++) {
        *loss_sum += net->chunks[i].loss;
        *correct += net->chunks[i].correct;
    }
}

/*
 * Remakes the flipped weights of a layer: inputs and outputs change places, and the window's pixels
 * change sides, because an output sees its inputs opposite to how they see it.
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

/* Adds the chunks' gradients in their order, and moves the weights. */
static void update_weights(convnet *net)
{
    OMP(omp parallel for schedule(static))
    for (size_t first = 0; first < net->weight_count; first += LANES) {
        float sum[LANES] = {0};

        for (size_t i = 0; i < CHUNKS; i++) {
            for (size_t n = 0; n < LANES; n++) {
                sum[n] += net->chunks[i].gradient[first + n];
            }
        }
        for (size_t n = first; n < first + LANES; n++) {
            net->velocity[n] = net->config.momentum * net->velocity[n] + sum[n - first];
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
        for (size_t i = 1; i < LAYERS; i++) {
            flip_weights(net, &net->layers[i]);
        }
        run_batch(net, images, labels, valid_rows, true, &loss, &correct);
        update_weights(net);
    }
    *loss_out = (float)(loss / rows);
    *accuracy_out = (float)((double)correct / rows);
}

void convnet_evaluate(convnet *net, const float *images, const int32_t *labels, uint32_t valid_rows,
                      double *loss_sum, uint64_t *correct)
{
    run_batch(net, images, labels, valid_rows, false, loss_sum, correct);
}

/* Takes count floats at the end of a vector of *total floats, so that each begins a cache line. */
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

/* Lays out all layers. The linear layer's outputs are padded to whole panels. */
static void make_layers(convnet *net)
{
    const size_t padded_classes = (net->config.classes + LANES - 1U) / LANES * LANES;
    size_t *scratch = &net->scratch_count;
    grid input = make_grid(net->config.height, net->config.width, 3, 1, scratch);

    for (size_t i = 0; i < LAYERS; i++) {
        layer *l = &net->layers[i];
        const size_t border = i < LAST ? 1 : 0;
        const size_t out = i < LAST ? (size_t)16 << i : padded_classes;

        if (i == LAST) { /* the pixels become channels of one pixel */
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

/* Returns the next of the splitmix64 numbers, from 0 to below 1. */
static double next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Spreads weights about zero: He's variance, 2 / inputs, less the factor 3 that max-pool gains. */
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
    net->tile = portable_tile;
#ifdef HAVE_AVX2_TILE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        net->tile = avx2_tile;
    }
#endif
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
