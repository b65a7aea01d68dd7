/* SPDX-License-Identifier: Apache-2.0 */
/* gaussian_noise: torchvision's arithmetic, the distribution of the noise, and what is refused. */
#include <math.h>
#include <stdlib.h>

#include "dataset_kit.h"
#include "fixture_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* Without a deviation there is nothing random. */
static void sums_are_those_of_torchvision(void)
{
    fixture_check("gaussian_noise -0.3 0", "noise-clipped", 0);
    fixture_check("gaussian_noise 0.4 sigma=0 clip=false", "noise-wrapped", 0);
}

/* The noise of 2520 values: mean 0.1 and deviation 0.08 of 255, within five standard errors. */
static void noise_has_its_mean_and_deviation(void)
{
    picture from = picture_read("torchvision", "rgb-70x12.ppm");
    picture got = fixture_run("gaussian_noise 0.1 0.08 clip=false", 3);
    const double count = (double)picture_size(&from);
    double sum = 0;
    double squares = 0;
    double products = 0; /* of neighbours, which are independent */

    for (size_t i = 0; i < picture_size(&from); i++) {
        const double noise = (uint8_t)(got.pixels[i] - from.pixels[i] + 100) - 100 - 25.0;
        const double before =
            i == 0 ? 0 : (uint8_t)(got.pixels[i - 1] - from.pixels[i - 1] + 100) - 100 - 25.0;

        sum += noise;
        squares += noise * noise;
        products += noise * before;
    }
    T_NEAR(sum / count, 0, 2.1);
    T_NEAR(sqrt(squares / count), 20.4, 1.5);
    T_NEAR(products / squares, 0, 0.1);
    free(from.pixels);
    free(got.pixels);
}

static void wrong_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | gaussian_noise 2", "mean=2 must be from -1 to 1");
    check_refused("synthetic 4 8,8,3 | gaussian_noise 0 -1", "sigma=-1 must be from 0 to 10");
    check_refused("synthetic 4 8,8,4 | gaussian_noise", "must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,3 | device | gaussian_noise", "put it before device");
    check_refused("synthetic 4 8,8,3 | GaussianNoise", "is called gaussian_noise here");
    check_workers_and_devices("synthetic 12 9,200,1", "gaussian_noise | random_horizontal_flip");
}

const t_test gaussian_noise_tests[] = {
    T_TEST(sums_are_those_of_torchvision),
    T_TEST(noise_has_its_mean_and_deviation),
    T_TEST(wrong_arguments_are_refused),
    T_END,
};
