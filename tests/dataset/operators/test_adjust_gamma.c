/* SPDX-License-Identifier: Apache-2.0 */
/* adjust_gamma: torchvision's values, and what it refuses. */
#include "dataset_kit.h"
#include "fixture_kit.h"
#include "stage_runs.h"
#include "testing.h"

static void values_are_those_of_torchvision(void)
{
    fixture_check("adjust_gamma 2.2", "gamma-2.2", 0);
    fixture_check("adjust_gamma 0.4 gain=1.5", "gamma-0.4-1.5", 0);
}

static void a_gamma_of_one_changes_nothing(void)
{
    check_stages("synthetic 12 9,8,3", "adjust_gamma 1", "adjust_gamma 1 columns=image", true);
    check_stages("synthetic 12 9,8,3", "adjust_gamma 1", "random_invert 0", true);
    check_stages("synthetic 12 9,8,1", "adjust_gamma 0", "adjust_gamma 3 gain=1000", false);
}

static void wrong_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | adjust_gamma", "gamma");
    check_refused("synthetic 4 8,8,3 | adjust_gamma -1",
                  "adjust_gamma: gamma=-1 must be from 0 to 1000");
    check_refused("synthetic 4 8,8,3 | adjust_gamma 1 gain=-1",
                  "adjust_gamma: gain=-1 must be from 0 to 1000");
    check_refused("synthetic 4 8,8,4 | adjust_gamma 2", "must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,3 | device | adjust_gamma 2", "adjust_gamma");
}

const t_test adjust_gamma_tests[] = {
    T_TEST(values_are_those_of_torchvision),
    T_TEST(a_gamma_of_one_changes_nothing),
    T_TEST(wrong_arguments_are_refused),
    T_END,
};
