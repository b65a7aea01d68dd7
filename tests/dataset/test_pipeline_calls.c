/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines by calls: the first error of building stays; what is refused. */
#include <sluice/transforms.h>

#include "dataset_kit.h"
#include "stage.h"
#include "stage_calls.h"
#include "status_int.h"
#include "testing.h"

static sluice_status crop_by(sluice_dataset *d, const char *filter, bool no_antialias)
{
    sluice_random_resized_crop_config config;

    sluice_random_resized_crop_config_init(&config);
    config.filter = filter;
    config.no_antialias = no_antialias;
    return sluice_dataset_random_resized_crop(d, 3, 4, &config);
}

static sluice_status decode_by(sluice_dataset *d, const char *mode)
{
    sluice_decode_config config;

    sluice_decode_config_init(&config);
    config.mode = mode;
    return sluice_dataset_decode(d, &config);
}

/* A call that adds a stage is refused. */
static void check_call_refused(const stage_call *c, sluice_dataset *dataset, const char *words)
{
    if (c->call != NULL) {
        T_STATUS(c->call(dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words);
    }
}

/* ---- errors of calls ------------------------------------------------------------------------- */

static sluice_status bad_decode(sluice_dataset *d)
{
    return decode_by(d, "rgba");
}
static sluice_status bad_decode_size(sluice_dataset *d)
{
    const sluice_decode_config config = {.struct_size = 0};

    return sluice_dataset_decode(d, &config);
}
static sluice_status bad_rrc_size(sluice_dataset *d)
{
    const sluice_random_resized_crop_config config = {.struct_size = 0};

    return sluice_dataset_random_resized_crop(d, 3, 3, &config);
}
static sluice_status bad_decode_place(sluice_dataset *d)
{
    return sluice_dataset_decode(d, NULL);
}
static sluice_status bad_resize(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 0, 3, NULL, true);
}
static sluice_status bad_resize_huge(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 3, 70000, NULL, true);
}
static sluice_status bad_resize_filter(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 3, 3, "cubic", true);
}
static sluice_status bad_resize_area(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 3, 3, "area", false);
}
static sluice_status bad_rrc_filter(sluice_dataset *d)
{
    return crop_by(d, "lanczos", false);
}
static sluice_status bad_rrc_area(sluice_dataset *d)
{
    return crop_by(d, "area", true);
}
static sluice_status bad_rrc(sluice_dataset *d)
{
    sluice_random_resized_crop_config config;

    sluice_random_resized_crop_config_init(&config);
    config.scale[0] = 0.5;
    config.scale[1] = (double)NAN;
    return sluice_dataset_random_resized_crop(d, 3, 3, &config);
}
static sluice_status bad_flip(sluice_dataset *d)
{
    return sluice_dataset_random_horizontal_flip(d, (double)NAN);
}
static sluice_status bad_normalize_null(sluice_dataset *d)
{
    return sluice_dataset_normalize(d, NULL, NULL, 3, 1, SLUICE_F32);
}
static sluice_status bad_normalize_many(sluice_dataset *d)
{
    const double five[] = {1, 1, 1, 1, 1};

    return sluice_dataset_normalize(d, five, five, 5, 1, SLUICE_F32);
}
static sluice_status bad_normalize_none(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 0, 1, SLUICE_F32);
}
static sluice_status bad_normalize_inf(sluice_dataset *d)
{
    const double mean[] = {(double)INFINITY};
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, mean, 1, 1, SLUICE_F32);
}
static sluice_status bad_normalize_range(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 1, (double)NAN, SLUICE_F32);
}
static sluice_status bad_normalize_dtype(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 1, 1, SLUICE_I32);
}
static sluice_status bad_to_dtype(sluice_dataset *d)
{
    return sluice_dataset_to_dtype(d, (sluice_dtype)77, false);
}
static sluice_status bad_offload_place(sluice_dataset *d)
{
    return sluice_dataset_offload(d, "host");
}
static sluice_status bad_offload(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "moon") : st;
}
static sluice_status bad_offload_null(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, NULL) : st;
}

static const struct {
    sluice_status (*build)(sluice_dataset *dataset);
    const char *words;
} bad_calls[] = {
    {bad_decode, "decode: mode=rgba: want one of rgb gray"},
    {bad_decode_size, "call sluice_decode_config_init() first"},
    {bad_rrc_size, "call sluice_random_resized_crop_config_init() first"},
    {bad_decode_place, "there is no encoded image"},
    {bad_resize, "resize: size=0"},
    {bad_resize_huge, "resize: size=70000"},
    {bad_resize_filter, "resize: filter=cubic: want one of bilinear bicubic nearest area"},
    {bad_resize_area, "resize: filter=area"},
    {bad_rrc_filter, "random_resized_crop: filter=lanczos"},
    {bad_rrc_area, "random_resized_crop: filter=area"},
    {bad_rrc, "random_resized_crop: scale: nan"},
    {bad_flip, "random_horizontal_flip: p=nan"},
    {bad_normalize_null, "normalize: mean must not be NULL"},
    {bad_normalize_many, "channels is 5, and must be 1 to 4"},
    {bad_normalize_none, "as many numbers in std as in mean"},
    {bad_normalize_inf, "std: inf"},
    {bad_normalize_range, "range=nan"},
    {bad_normalize_dtype, "dtype=i32"},
    {bad_to_dtype, "to_dtype ?"},
    {bad_offload_place, "not after synthetic"},
    {bad_offload, "to_chw: offload=moon: want one of auto host device"},
    {bad_offload_null, "offload=NULL"},
};

/* The first error stays, whatever is called after it, and nothing is added any more. */
static void the_first_error_of_building_is_kept(void)
{
    for (size_t i = 0; i < sizeof(bad_calls) / sizeof(bad_calls[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_dataset_info info = {.struct_size = sizeof(info)};
        char *text = NULL;

        T_OK(sluice_dataset_parse("synthetic 10 4,4,3 2", &dataset));
        T_STATUS(bad_calls[i].build(dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        for (size_t k = 0; stage_call_at(k) != NULL; k++) {
            const stage_call *c = stage_call_at(k);

            sli_fail(SLUICE_E_IO, "another error in between");
            check_call_refused(c, dataset, bad_calls[i].words);
        }
        for (size_t k = 0; k < sizeof(bad_calls) / sizeof(bad_calls[0]); k++) {
            T_STATUS(bad_calls[k].build(dataset), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        }
        T_STATUS(sluice_dataset_describe(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        CU_ASSERT_PTR_NULL(text);
        sluice_dataset_destroy(dataset);
    }
}

/* A run that goes on sees the stages it began with, and no error of a call after that. */
static void a_dataset_that_was_used_takes_no_stages(void)
{
    sluice_dataset *dataset = parsed("synthetic 10 4,4,3 | to_chw | batch 2");
    sluice_dataset_info info = {.struct_size = sizeof(info)};

    T_OK(sluice_dataset_inspect(dataset, &info));
    for (size_t k = 0; stage_call_at(k) != NULL; k++) {
        const stage_call *c = stage_call_at(k);

        check_call_refused(c, dataset, "the dataset was used already; add all stages before");
    }
    T_STATUS(bad_decode(dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_offload(dataset, "host"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_dataset_offload: the dataset was used already");
    T_STATUS(sluice_dataset_add(dataset, "take 3"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_dataset_add: the dataset was used already");
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.batches, 5);
    sluice_dataset_destroy(dataset);
}

static void null_arguments_are_refused(void)
{
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    char *text = NULL;

    T_STATUS(sluice_dataset_parse(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse("synthetic", NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_describe(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(NULL, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_offload(NULL, "auto"), SLUICE_E_INVALID);
    T_STATUS(sluice_stage_help(NULL, NULL), SLUICE_E_INVALID);
    for (size_t k = 0; stage_call_at(k) != NULL; k++) {
        const stage_call *c = stage_call_at(k);

        check_call_refused(c, NULL, "dataset is NULL");
    }
    T_STATUS(bad_decode(NULL), SLUICE_E_INVALID);
    T_STATUS(bad_normalize_null(NULL), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
    CU_ASSERT_PTR_NULL(text);
    sluice_dataset_destroy(NULL);
    dataset = parsed("synthetic | batch 1");
    T_STATUS(sluice_dataset_describe(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(dataset, NULL), SLUICE_E_INVALID);
    info.struct_size = 0;
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

const t_test pipeline_calls_tests[] = {
    T_TEST(the_first_error_of_building_is_kept),
    T_TEST(a_dataset_that_was_used_takes_no_stages),
    T_TEST(null_arguments_are_refused),
    T_END,
};
