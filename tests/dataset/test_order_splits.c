/* SPDX-License-Identifier: Apache-2.0 */
/* Splits by name: disjoint parts that stay when files come and go. */
#include "order_kit.h"
#include "testing.h"

/* An image folder of empty files; index stages look at names only. */
static void make_files(const char *folder, const char *class, int from, int to)
{
    for (int i = from; i < to; i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s/img_%05d.jpg", class, i);
        t_write_file(t_path(folder, name), "", 0);
    }
}

/* Opens "image_folder FOLDER | STAGES". */
static sluice_dataset *open_folder(const char *folder, const char *stages)
{
    char text[1000];

    snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages);
    return opened(text);
}

static bool has_name(const sluice_dataset *dataset, const char *name)
{
    const split_members *split = &dataset->splits[1];

    for (uint64_t i = 0; i < split->count; i++) {
        char member[256];

        dataset_source(dataset)->name(dataset->source, split->members[i], member, sizeof(member));
        if (strcmp(member, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Parts that are 1 together share nothing and leave nothing, whatever their decimals. */
static void parts_of_a_split_are_disjoint_and_everything(void)
{
    static const struct {
        const char *parts[3];
        double fractions[3];
    } cases[] = {
        {{"split train 0.7", "split val 0.2 test=0.1", "split test 0.1"}, {0.7, 0.2, 0.1}},
        {{"split train 0.8 9", "split val 0.1 9 test=0.1", "split test 0.1 9"}, {0.8, 0.1, 0.1}},
        {{"split train 0.333333333", "split val 0.333333333 test=0.333333334",
          "split test 0.333333334"},
         {1 / 3.0, 1 / 3.0, 1 / 3.0}},
        {{"split train 0.9", "split test 0.1", "take 0"}, {0.9, 0.1, 0}},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        static uint8_t seen[20000];

        memset(seen, 0, sizeof(seen));
        for (int part = 0; part < 3; part++) {
            char text[200];
            sluice_dataset *dataset;
            sample_order order;

            snprintf(text, sizeof(text), "synthetic 20000 1,1,1 | %s", cases[c].parts[part]);
            dataset = opened(text);
            order = order_of(dataset, &(order_settings){.world = 1});
            T_NEAR(order.length, 20000 * cases[c].fractions[part], 350);
            for (uint64_t i = 0; i < order.length; i++) {
                T_EQ(seen[sample_at(&order, 0, i)]++, 0);
                T_TRUE(i == 0 || sample_at(&order, 0, i) > sample_at(&order, 0, i - 1));
            }
            sluice_dataset_destroy(dataset);
        }
        for (size_t i = 0; i < sizeof(seen); i++) {
            T_EQ(seen[i], 1);
        }
    }
}

/* Every possible place of a hash is in one part: the borders of decimal fractions coincide. */
static void shares_of_decimal_fractions_add_up(void)
{
    for (uint32_t thousandths = 1; thousandths < 1000; thousandths++) {
        double part = thousandths / 1000.0;

        T_EQ(split_share(part) + split_share(1 - part), SPLIT_WHOLE);
        T_EQ(split_share(part), (uint64_t)thousandths * (SPLIT_WHOLE / 1000));
    }
    T_EQ(split_share(1), SPLIT_WHOLE);
    T_EQ(split_share(1e-9), 1);
    T_EQ(split_share(1e-10), 0);
}

static void splits_stay_when_files_are_added(void)
{
    const char *folder = t_folder();
    sluice_dataset *before;
    sluice_dataset *after;

    make_files(folder, "cat", 0, 200);
    make_files(folder, "dog", 0, 200);
    before = open_folder(folder, "split train 0.7");
    make_files(folder, "ant", 0, 50); /* every index and class number moves */
    make_files(folder, "cat", 200, 250);
    after = open_folder(folder, "split train 0.7");
    T_EQ(after->source_count, 500);
    T_TRUE(before->splits[1].count > 240 && before->splits[1].count < 320);
    for (uint64_t i = 0; i < before->source_count; i++) {
        char name[256];

        dataset_source(before)->name(before->source, i, name, sizeof(name));
        T_EQ(has_name(after, name), has_name(before, name));
    }
    sluice_dataset_destroy(before);
    sluice_dataset_destroy(after);
}

static void another_seed_splits_in_another_way(void)
{
    sluice_dataset *a = opened("synthetic 1000 1,1,1 | split train 0.5");
    sluice_dataset *b = opened("synthetic 1000 1,1,1 | split train 0.5 seed=1");
    uint32_t both = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        both += expect_kept(a, 1, i) && expect_kept(b, 1, i);
    }
    T_NEAR(both, 250, 80);
    sluice_dataset_destroy(a);
    sluice_dataset_destroy(b);
}

/* A split of a split keeps of the first what the second would keep of all. */
static void splits_of_splits_are_intersections(void)
{
    sluice_dataset *two = opened("synthetic 1000 1,1,1 | split train 0.5 | split test 0.5 seed=1");
    sluice_dataset *a = opened("synthetic 1000 1,1,1 | split train 0.5");
    sluice_dataset *b = opened("synthetic 1000 1,1,1 | split test 0.5 seed=1");
    const sample_order order = order_of(two, &(order_settings){.world = 1});
    uint64_t next = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        if (expect_kept(a, 1, i) && expect_kept(b, 1, i)) {
            T_TRUE(next < order.length);
            T_EQ(sample_at(&order, 0, next++), i);
        }
    }
    T_EQ(order.length, next);
    sluice_dataset_destroy(two);
    sluice_dataset_destroy(a);
    sluice_dataset_destroy(b);
}

const t_test order_splits_tests[] = {
    T_TEST(parts_of_a_split_are_disjoint_and_everything),
    T_TEST(shares_of_decimal_fractions_add_up),
    T_TEST(splits_stay_when_files_are_added),
    T_TEST(another_seed_splits_in_another_way),
    T_TEST(splits_of_splits_are_intersections),
    T_END,
};
