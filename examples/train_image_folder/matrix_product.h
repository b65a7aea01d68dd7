/* SPDX-License-Identifier: Apache-2.0 */
/* The only arithmetic kernel of convnet.c: a product of matrices, tile by tile. */
#ifndef MATRIX_PRODUCT_H
#define MATRIX_PRODUCT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Define CONVNET_PORTABLE to test the portable code on a processor with AVX2. */
#if defined(__x86_64__) && !defined(CONVNET_PORTABLE)
#define HAVE_AVX2_TILE 1
#include <immintrin.h>
#endif

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
 * The rows are grouped in lines and the sum has two levels, so that an image with a border can be
 * traversed.
 */
typedef struct product {
    size_t panels, lines, rows, outer, inner;
    operand a, b, c;
} product;

/* Computes the next rows of a line of c, up to `left` rows; returns their number. */
typedef size_t tile_fn(const product *p, const float *a, const float *b, float *c, size_t left);

/* A vector of four floats, on any processor. may_alias permits it to access plain floats. */
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
/* Four rows at once, so that each value read from b serves four sums. */
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

/* The fastest tile function for this processor. */
static tile_fn *choose_tile(void)
{
#ifdef HAVE_AVX2_TILE
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return avx2_tile;
    }
#endif
    return portable_tile;
}

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

#endif
