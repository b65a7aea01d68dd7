/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner of a test executable: all tests, one suite (-s NAME), or one test (-s NAME -t NAME);
 * -l lists them. A test that takes longer than its limit ends the run, named.
 */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

enum { TIME_LIMIT_S = 120 };

static const char *current_name = "";
static int skipped;
static char skip_reason[256];
static char folder[256];
static unsigned folder_count;

/* A path of t_file(). */
typedef struct own_path {
    struct own_path *before;
    char text[400];
} own_path;

static own_path *last_path;

void t_skip(const char *why)
{
    skipped = 1;
    snprintf(skip_reason, sizeof(skip_reason), "%s", why);
}

static int remove_entry(const char *path, const struct stat *info, int flag, struct FTW *walk)
{
    (void)info;
    (void)flag;
    (void)walk;
    (void)chmod(path, 0700);
    return remove(path);
}

static void remove_folder(void)
{
    if (folder[0] != '\0') {
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    while (last_path != NULL) {
        own_path *before = last_path->before;

        free(last_path);
        last_path = before;
    }
}

const char *t_folder(void)
{
    static char own[300];

    if (folder[0] == '\0') {
        const char *root = getenv("TMPDIR");

        snprintf(folder, sizeof(folder), "%s/sluice-test-XXXXXX", root != NULL ? root : "/tmp");
        if (mkdtemp(folder) == NULL) {
            fprintf(stderr, "cannot make %s: %s\n", folder, strerror(errno));
            exit(2);
        }
        atexit(remove_folder);
    }
    snprintf(own, sizeof(own), "%s/%u", folder, folder_count++);
    mkdir(own, 0700);
    return own;
}

const char *t_file(const char *name)
{
    own_path *path = malloc(sizeof(*path));

    if (path == NULL) {
        fprintf(stderr, "no memory for the path of %s\n", name);
        exit(2);
    }
    path->before = last_path;
    last_path = path;
    snprintf(path->text, sizeof(path->text), "%s/%s", t_folder(), name);
    return path->text;
}

const char *t_path(const char *parent, const char *name)
{
    static char ring[8][1024];
    static unsigned next;
    char *path = ring[next++ % 8];

    snprintf(path, sizeof(ring[0]), "%s/%s", parent, name);
    return path;
}

void t_write_file(const char *path, const void *data, size_t size)
{
    char parents[1024];
    FILE *file;

    snprintf(parents, sizeof(parents), "%s", path);
    for (char *slash = strchr(parents + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(parents, 0700);
        *slash = '/';
    }
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s: %s\n", path, strerror(errno));
        exit(2);
    }
}

static void time_is_up(int signal_number)
{
    static const char text[] = "\ntime limit reached in ";

    (void)signal_number;
    if (write(2, text, sizeof(text) - 1) < 0 || write(2, current_name, strlen(current_name)) < 0 ||
        write(2, "\n", 1) < 0) {
        _exit(3);
    }
    abort(); /* a core shows where */
}

static int left_out(const t_test *test)
{
#if defined(SLI_KIT_ON_CUDA)
    return test->on_host_only;
#else
    (void)test;
    return 0;
#endif
}

static int add_suites(void)
{
    if (CU_initialize_registry() != CUE_SUCCESS) {
        return 0;
    }
    for (const t_suite *suite = t_suites; suite->name != NULL; suite++) {
        CU_pSuite added = CU_add_suite(suite->name, NULL, NULL);

        if (added == NULL) {
            return 0;
        }
        for (const t_test *test = suite->tests; test->name != NULL; test++) {
            if (!left_out(test) && CU_add_test(added, test->name, test->run) == NULL) {
                return 0;
            }
        }
    }
    return 1;
}

/* Runs one test; 1 passed, 0 failed, -1 skipped. */
static int run_test(CU_pSuite suite, CU_pTest test)
{
    static char name[512];

    snprintf(name, sizeof(name), "%s.%s", suite->pName, test->pName);
    current_name = name;
    skipped = 0;
    alarm(TIME_LIMIT_S);
    CU_run_test(suite, test);
    alarm(0);
    if (CU_get_number_of_failures() > 0) {
        for (CU_pFailureRecord record = CU_get_failure_list(); record != NULL;
             record = record->pNext) {
            printf("FAIL %s\n     %s:%u: %s\n", name, record->strFileName, record->uiLineNumber,
                   record->strCondition);
        }
        return 0;
    }
    if (skipped != 0) {
        printf("SKIP %s: %s\n", name, skip_reason);
        return -1;
    }
    return 1;
}

static void list_tests(void)
{
    for (const t_suite *suite = t_suites; suite->name != NULL; suite++) {
        for (const t_test *test = suite->tests; test->name != NULL; test++) {
            printf("%s %s\n", suite->name, test->name);
        }
    }
}

int main(int argc, char **argv)
{
    const char *only_suite = NULL;
    const char *only_test = NULL;
    int counts[3] = {0, 0, 0}; /* skipped, failed, passed */

    for (int option; (option = getopt(argc, argv, "ls:t:")) != -1;) {
        if (option == 'l') {
            list_tests();
            return 0;
        }
        if (option == '?') {
            return 2;
        }
        *(option == 's' ? &only_suite : &only_test) = optarg;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGALRM, time_is_up);
    if (!add_suites()) {
        fprintf(stderr, "CUnit: %s\n", CU_get_error_msg());
        return 2;
    }
    for (CU_pSuite suite = CU_get_registry()->pSuite; suite != NULL; suite = suite->pNext) {
        for (CU_pTest test = suite->pTest; test != NULL; test = test->pNext) {
            if ((only_suite == NULL || strcmp(only_suite, suite->pName) == 0) &&
                (only_test == NULL || strcmp(only_test, test->pName) == 0)) {
                counts[run_test(suite, test) + 1]++;
            }
        }
    }
    CU_cleanup_registry();
    printf("%s: %d passed, %d failed, %d skipped\n", only_suite != NULL ? only_suite : "all",
           counts[2], counts[1], counts[0]);
    if (counts[0] + counts[1] + counts[2] == 0) {
        fprintf(stderr, "no such test; -l lists them\n");
        return 2;
    }
    return counts[1] > 0 ? 1 : 0;
}
