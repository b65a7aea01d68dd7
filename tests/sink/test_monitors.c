/* SPDX-License-Identifier: Apache-2.0 */
/* The ready-made callbacks: losses, times, the bar on a terminal. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "alloc_int.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static sluice_status halve(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = 1.0F / (float)(1 + *step->step);
    step->outputs[1] = (float)*step->step;
    return SLUICE_OK;
}

static sluice_status halve_alone(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = 1.0F / (float)(1 + *step->step);
    return SLUICE_OK;
}

/* Four batches a pass, two passes. */
static void init_run(kit *k, sluice_mode mode, const sluice_callback *callback)
{
    kit_init(k);
    k->pipeline = "synthetic samples=8 shape=4,4,3 | batch 2";
    k->model.step = halve;
    k->config.mode = mode;
    k->config.epochs = 2;
    k->callbacks = callback;
    k->callback_count = 1;
}

/* A run whose monitor prints into memory. */
typedef struct printed {
    char *text;
    size_t size;
    FILE *file;
    sluice_callback *callback;
    kit k;
} printed;

/* The file for the monitor, which is to be p->callback. */
static FILE *open_printed(printed *p)
{
    p->text = NULL;
    p->file = open_memstream(&p->text, &p->size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p->file);
    return p->file;
}

/* Then p->text is all that was printed. */
static void run_printed(printed *p)
{
    T_OK(kit_run(&p->k));
    fclose(p->file);
}

static void close_printed(printed *p)
{
    free(p->text);
    sluice_callback_destroy(p->callback);
    kit_fini(&p->k);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void losses_are_printed_every_so_many_steps_in_every_mode(void)
{
    static const struct {
        uint64_t every;
        uint64_t start_step;
        const char *text;
    } cases[] = {
        {3, 0,
         "epoch: 1 step: 3, loss is 0.333333, label is 2\n"
         "epoch: 2 step: 6, loss is 0.166667, label is 5\n"},
        {3, 3, "epoch: 2 step: 6, loss is 0.166667, label is 5\n"},
        {100, 0, ""},
        {1, 6,
         "epoch: 2 step: 7, loss is 0.142857, label is 6\n"
         "epoch: 2 step: 8, loss is 0.125, label is 7\n"},
    };

    for (size_t i = 0; i < COUNT(cases) * COUNT(modes); i++) {
        printed p;

        T_OK(sluice_loss_monitor(open_printed(&p), cases[i % COUNT(cases)].every, &p.callback));
        init_run(&p.k, modes[i / COUNT(cases)], p.callback);
        p.k.config.start_step = cases[i % COUNT(cases)].start_step;
        run_printed(&p);
        T_STR(p.text, cases[i % COUNT(cases)].text);
        close_printed(&p);
    }
}

static void a_model_without_names_has_one_output_called_loss(void)
{
    printed p;

    T_OK(sluice_loss_monitor(open_printed(&p), 8, &p.callback));
    init_run(&p.k, SLUICE_MODE_LOOP, p.callback);
    p.k.model.output_names = NULL;
    p.k.model.output_count = 0;
    p.k.model.step = halve_alone;
    run_printed(&p);
    T_STR(p.text, "epoch: 2 step: 8, loss is 0.125\n");
    close_printed(&p);
}

/* ---- times ----------------------------------------------------------------------------------- */

static void times_are_printed_after_each_epoch_in_every_mode(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        const char *line;
        int lines = 0;
        printed p;

        T_OK(sluice_time_monitor(open_printed(&p), &p.callback));
        init_run(&p.k, modes[m], p.callback);
        run_printed(&p);
        for (line = p.text; *line != '\0'; line = strchr(line, '\n') + 1, lines++) {
            double epoch = -1;
            double step = -1;
            double wait = -1;
            int used = 0;

            T_EQ(sscanf(line, "epoch time: %lf ms, per step time: %lf ms (data wait: %lf %%)%n",
                        &epoch, &step, &wait, &used),
                 3);
            T_EQ(line[used], '\n');
            T_NEAR(step, epoch / 4, 0.001); /* of four steps, both rounded */
            T_TRUE(epoch > 0 && wait >= 0 && wait <= 100);
        }
        T_EQ(lines, 2);
        close_printed(&p);
    }
}

/* ---- the bar --------------------------------------------------------------------------------- */

static void the_bar_is_silent_where_there_is_no_terminal(void)
{
    printed p;

    T_OK(sluice_progress_bar(open_printed(&p), &p.callback));
    init_run(&p.k, SLUICE_MODE_LOOP, p.callback);
    run_printed(&p);
    T_STR(p.text, "");
    close_printed(&p);
}

/* A terminal: what is written to it is read from `master`. */
static FILE *open_terminal(int *master)
{
    struct termios raw;
    const char *name;
    FILE *file;

    setenv("TERM", "xterm", 1); /* whatever runs the tests */
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0 || grantpt(*master) != 0 || unlockpt(*master) != 0) {
        return NULL;
    }
    name = ptsname(*master);
    file = name != NULL ? fopen(name, "w") : NULL;
    if (file != NULL && tcgetattr(fileno(file), &raw) == 0) {
        raw.c_oflag &= ~(tcflag_t)OPOST; /* no \r of its own */
        tcsetattr(fileno(file), TCSANOW, &raw);
    }
    return file;
}

/* All that was drawn; the terminal is closed. */
static void read_terminal(int master, FILE *file, char *text, size_t size)
{
    size_t used = 0;
    ssize_t more = 0;

    fflush(file);
    fcntl(master, F_SETFL, O_NONBLOCK);
    do {
        used += (size_t)more;
        more = read(master, text + used, size - 1 - used);
    } while (more > 0);
    text[used] = '\0';
    fclose(file);
    close(master);
}

static void the_bar_tells_on_a_terminal_how_far_the_run_is(void)
{
    char text[1400];
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;
    kit k;

    T_NEEDS(file != NULL, "no pseudo terminal can be opened");
    T_OK(sluice_progress_bar(file, &callback));
    init_run(&k, SLUICE_MODE_DIRECT, callback);
    k.config.start_step = 1;
    T_OK(kit_run(&k));
    read_terminal(master, file, text, sizeof(text));
    /* The first step is drawn, then every tenth of a second, and the last. */
    T_EQ(strncmp(text, "\r[###.....................] 1/7, ", 32), 0);
    T_CONTAINS(text, " s left, epoch 1, loss ");
    T_CONTAINS(text,
               "\r[########################] 7/7, 0 s left, epoch 2, loss 0.1250, data wait ");
    T_CONTAINS(text, " samples/s, ");
    T_CONTAINS(text, " steps/s\033[K\n");
    T_STR(text + strlen(text) - 1, "\n");
    sluice_callback_destroy(callback);
    kit_fini(&k);
}

/* What a run's bar shows last on a terminal of that width, behind the return to its begin; names
 * are the outputs', NULL none. In a static buffer; NULL: no terminal can be opened. */
static const char *last_bar(unsigned short width, const char *const *names)
{
    static char text[1400];
    const struct winsize window = {.ws_row = 24, .ws_col = width};
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;
    const char *last;
    kit k;

    if (file == NULL || ioctl(master, TIOCSWINSZ, &window) != 0) {
        return NULL;
    }
    T_OK(sluice_progress_bar(file, &callback));
    init_run(&k, SLUICE_MODE_DIRECT, callback);
    k.config.start_step = 1;
    if (names != NULL) {
        k.model.output_names = names;
    }
    T_OK(kit_run(&k));
    read_terminal(master, file, text, sizeof(text));
    last = strrchr(text, '\r');
    CU_ASSERT_PTR_NOT_NULL_FATAL(last);
    sluice_callback_destroy(callback);
    kit_fini(&k);
    return last + 1;
}

/* The bar of rank 0 after 10 s, of which it waited `late_s` for rank 3; NULL: no terminal. */
static const char *bar_of_rank_0(double late_s, uint64_t late_rank)
{
    static char text[400];
    static const char *const names[] = {"loss"};
    sluice_hook hook = {.struct_size = sizeof(hook),
                        .last_step = 2,
                        .step_count = 1,
                        .batch_size = 4,
                        .output_names = names,
                        .seconds = 10,
                        .world = 4,
                        .late_rank = late_rank,
                        .late_seconds = late_s};
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;

    if (file == NULL) {
        return NULL;
    }
    T_OK(sluice_progress_bar(file, &callback));
    T_OK(callback->train_begin(&hook, callback->user));
    T_OK(callback->records(&hook, callback->user));
    read_terminal(master, file, text, sizeof(text));
    sluice_callback_destroy(callback);
    return text;
}

static void the_bar_names_the_rank_that_it_waits_for(void)
{
    const char *text = bar_of_rank_0(4.1, 3);

    T_NEEDS(text != NULL, "no pseudo terminal can be opened");
    T_CONTAINS(text, " 1/2, 10 s left, epoch 1, data wait 0.0 %, 0 samples/s, 0.1 steps/s, "
                     "waits for rank 3: 41 %\033[K");
    T_CONTAINS(bar_of_rank_0(0.09, 3), " steps/s\033[K"); /* too little */
    T_CONTAINS(bar_of_rank_0(0, UINT64_MAX), " steps/s\033[K");
}

/* Without escape sequences the line that was drawn last cannot be drawn over. */
static void the_bar_is_silent_on_a_dumb_terminal(void)
{
    char text[400];
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;
    kit k;

    T_NEEDS(file != NULL, "no pseudo terminal can be opened");
    setenv("TERM", "dumb", 1);
    T_OK(sluice_progress_bar(file, &callback));
    init_run(&k, SLUICE_MODE_DIRECT, callback);
    T_OK(kit_run(&k));
    read_terminal(master, file, text, sizeof(text));
    T_STR(text, "");
    sluice_callback_destroy(callback);
    kit_fini(&k);
}

static void the_bar_leaves_out_an_output_without_a_name(void)
{
    static const char *const names[] = {"", "label"};
    const char *last = last_bar(0, names);

    T_NEEDS(last != NULL, "no pseudo terminal can be opened");
    T_CONTAINS(last, "7/7, 0 s left, epoch 2, data wait ");
}

/* A line that wrapped would stay where it is, and the next be drawn below it. */
static void the_bar_stays_on_one_line_of_a_narrow_terminal(void)
{
    static const unsigned short widths[] = {1, 12, 33, 34, 35, 60};
    static const char *const whole = "[########################] 7/7, 0 s left, epoch 2, loss 0.12";

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        const char *last = last_bar(widths[i], NULL);

        T_NEEDS(last != NULL, "no pseudo terminal can be opened");
        T_EQ(strncmp(last, whole, widths[i] - 1U), 0);
        T_STR(last + widths[i] - 1, "\033[K\n");
    }
}

/* A character of several bytes is left out whole. */
static void the_bar_is_not_cut_off_within_a_character(void)
{
    static const char *const names[] = {"\xC3\xA4", "label"}; /* an a with two dots */
    static const char *const before = "[########################] 7/7, 0 s left, epoch 2, ";
    const char *last = last_bar((unsigned short)(strlen(before) + 2), names);

    T_NEEDS(last != NULL, "no pseudo terminal can be opened");
    T_EQ(strncmp(last, before, strlen(before)), 0);
    T_STR(last + strlen(before), "\033[K\n");
}

static void the_bar_counts_steps_where_no_end_is_known(void)
{
    char text[1400];
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;
    kit k;

    T_NEEDS(file != NULL, "no pseudo terminal can be opened");
    T_OK(sluice_progress_bar(file, &callback));
    init_run(&k, SLUICE_MODE_DIRECT, callback);
    k.config.epochs = 0;
    k.config.max_seconds = 0.01;
    T_OK(kit_run(&k));
    read_terminal(master, file, text, sizeof(text));
    if (k.report->stats.steps == 0) { /* so slow a machine: nothing was drawn, not even a line */
        T_STR(text, "");
    } else {
        T_EQ(strncmp(text, "\r1 steps, epoch 1, ", 19), 0);
        CU_ASSERT_PTR_NULL(strstr(text, " left"));
    }
    sluice_callback_destroy(callback);
    kit_fini(&k);
}

static void a_bar_of_a_run_without_steps_draws_nothing(void)
{
    char text[400];
    int master;
    FILE *file = open_terminal(&master);
    sluice_callback *callback = NULL;
    sluice_stop *stop = NULL;
    kit k;

    T_NEEDS(file != NULL, "no pseudo terminal can be opened");
    T_OK(sluice_stop_create(&stop));
    sluice_stop_request(stop);
    T_OK(sluice_progress_bar(file, &callback));
    init_run(&k, SLUICE_MODE_LOOP, callback);
    k.config.stop = stop;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    read_terminal(master, file, text, sizeof(text));
    T_STR(text, "");
    sluice_callback_destroy(callback);
    sluice_stop_destroy(stop);
    kit_fini(&k);
}

/* ---- several ranks --------------------------------------------------------------------------- */

static sluice_status count_rows(const sluice_step *step, void *user)
{
    (void)user;
    step->outputs[0] = (float)*step->valid_rows;
    return SLUICE_OK;
}

/* Two passes of two batches, with two validations, as this rank of two. */
static void run_as_rank(uint32_t rank, const sluice_callback *callback)
{
    sluice_dataset *dataset = NULL;
    kit k;

    T_OK(sluice_dataset_parse("synthetic samples=8 shape=4,4,3 | batch 2", &dataset));
    init_run(&k, SLUICE_MODE_LOOP, callback);
    k.config.rank = rank;
    k.config.world = 2;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    k.validation.dataset = dataset;
    k.model.eval = count_rows;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.steps, 4);
    T_EQ(k.report->stats.validations, 2);
    sluice_dataset_destroy(dataset);
    kit_fini(&k);
}

static sluice_status make_loss_monitor(FILE *file, sluice_callback **callback_out)
{
    return sluice_loss_monitor(file, 1, callback_out);
}

static void of_several_ranks_the_first_alone_prints(void)
{
    static const struct {
        sluice_status (*make)(FILE *file, sluice_callback **callback_out);
        const char *begins;
        int lines; /* of rank 0 */
    } monitors[] = {
        {make_loss_monitor, "epoch: 1 step: 1, loss is 1, label is 0\n", 4},
        {sluice_time_monitor, "epoch time: ", 2},
        {sluice_validation_monitor, "validation: step 2, loss 1.0000 (4 samples)\n", 2}};

    for (size_t i = 0; i < COUNT(monitors) * 2; i++) {
        const char *begins = monitors[i / 2].begins;
        sluice_callback *callback = NULL;
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        int lines = 0;

        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        T_OK(monitors[i / 2].make(file, &callback));
        run_as_rank(i % 2, callback);
        fclose(file);
        for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
            lines++;
        }
        T_EQ(lines, i % 2 == 0 ? monitors[i / 2].lines : 0);
        T_TRUE(i % 2 == 1 || strncmp(text, begins, strlen(begins)) == 0);
        free(text);
        sluice_callback_destroy(callback);
    }
}

static void of_several_ranks_the_first_alone_draws(void)
{
    for (uint32_t rank = 0; rank < 2; rank++) {
        char text[1400];
        int master;
        FILE *file = open_terminal(&master);
        sluice_callback *callback = NULL;

        T_NEEDS(file != NULL, "no pseudo terminal can be opened");
        T_OK(sluice_progress_bar(file, &callback));
        run_as_rank(rank, callback);
        read_terminal(master, file, text, sizeof(text));
        if (rank == 0) {
            T_CONTAINS(text, "] 4/4, 0 s left, epoch 2, ");
        } else {
            T_STR(text, "");
        }
        sluice_callback_destroy(callback);
    }
}

/* ---- making them ----------------------------------------------------------------------------- */

static void monitors_want_a_file_and_a_place(void)
{
    sluice_callback *callback = NULL;

    T_STATUS(sluice_loss_monitor(NULL, 1, &callback), SLUICE_E_INVALID);
    T_STATUS(sluice_loss_monitor(stderr, 0, &callback), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "every is 0, and must be at least 1");
    T_STATUS(sluice_loss_monitor(stderr, 1, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_time_monitor(NULL, &callback), SLUICE_E_INVALID);
    T_STATUS(sluice_progress_bar(stderr, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_progress_bar: file or callback_out is NULL");
    for (int64_t i = 0; i < 2; i++) { /* of its state, of the struct */
        sli_alloc_fail_after(i);
        T_EQ(sluice_loss_monitor(stderr, 1, &callback), SLUICE_E_NO_MEMORY);
        sli_alloc_fail_after(i);
        T_EQ(sluice_time_monitor(stderr, &callback), SLUICE_E_NO_MEMORY);
        sli_alloc_fail_after(i);
        T_EQ(sluice_progress_bar(stderr, &callback), SLUICE_E_NO_MEMORY);
        sli_alloc_fail_after(-1);
    }
    CU_ASSERT_PTR_NULL(callback); /* outputs are set only on OK */
    sluice_callback_destroy(NULL);
}

const t_test monitors_tests[] = {
    T_TEST(losses_are_printed_every_so_many_steps_in_every_mode),
    T_TEST(a_model_without_names_has_one_output_called_loss),
    T_TEST(times_are_printed_after_each_epoch_in_every_mode),
    T_TEST(the_bar_is_silent_where_there_is_no_terminal),
    T_TEST(the_bar_tells_on_a_terminal_how_far_the_run_is),
    T_TEST(the_bar_names_the_rank_that_it_waits_for),
    T_TEST(the_bar_is_silent_on_a_dumb_terminal),
    T_TEST(the_bar_leaves_out_an_output_without_a_name),
    T_TEST(the_bar_stays_on_one_line_of_a_narrow_terminal),
    T_TEST(the_bar_is_not_cut_off_within_a_character),
    T_TEST(the_bar_counts_steps_where_no_end_is_known),
    T_TEST(a_bar_of_a_run_without_steps_draws_nothing),
    T_TEST(of_several_ranks_the_first_alone_prints),
    T_TEST(of_several_ranks_the_first_alone_draws),
    T_TEST(monitors_want_a_file_and_a_place),
    T_END,
};
