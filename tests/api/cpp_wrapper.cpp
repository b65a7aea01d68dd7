// SPDX-License-Identifier: Apache-2.0
// The C++ wrapper, sluice/sluice.hpp. tests/test_cpp.sh compiles it in several ways and runs it in
// a folder of its own. A line for each check that fails; the exit status says whether one did.
#include <cstdio>
#include <cstring>
#include <set>

#if defined(__cpp_exceptions)
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <sluice/sluice.hpp>

namespace
{

int failures = 0;

void check(bool condition, const char *what, int line)
{
    if (!condition) {
        std::printf("line %d: %s; last error: %s\n", line, what, sluice::last_error());
        failures++;
    }
}

#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_OK(call)   check(static_cast<bool>(sluice::status(call)), #call, __LINE__)

bool contains(const char *text, const char *part)
{
    return std::strstr(text, part) != nullptr;
}

// ---- statuses and ownership ---------------------------------------------------------------------

void statuses_are_true_where_ok()
{
    const sluice::status timeout = SLUICE_TIMEOUT;
    const sluice::status invalid = SLUICE_E_INVALID;

    CHECK(static_cast<bool>(sluice::status()) && !sluice::status().failed());
    CHECK(!timeout && !timeout.failed());
    CHECK(!invalid && invalid.failed());
    CHECK(timeout == SLUICE_TIMEOUT && timeout != invalid);
    CHECK(std::strcmp(invalid.name(), "E_INVALID") == 0 && invalid.get() == SLUICE_E_INVALID);
}

int freed = 0;

void count_freed(int *)
{
    freed++;
}

using counted = sluice::owner<int, count_freed>;
static_assert(!std::is_copy_constructible_v<counted> && !std::is_copy_assignable_v<counted>);
static_assert(!std::is_copy_constructible_v<sluice::batch>);
static_assert(std::is_nothrow_move_constructible_v<sluice::channel>);
static_assert(!std::is_constructible_v<sluice::step_ref, int>);

void what_is_owned_is_freed_once()
{
    int handles[3] = {};

    freed = 0;
    {
        counted a(&handles[0]);
        counted b(std::move(a));
        counted &same = b;

        CHECK(!a && b.get() == &handles[0]);
        b = std::move(same);
        CHECK(b && freed == 0);
        a = counted(&handles[1]);
        a = std::move(b);
        CHECK(freed == 1 && a.get() == &handles[0]);
        *b.out() = &handles[2];
        CHECK(b.get() == &handles[2] && a.release() == &handles[0]);
        CHECK(freed == 1 && !a);
    }
    CHECK(freed == 2);
    CHECK(*counted(&handles[0]).out() == nullptr);
    CHECK(freed == 3);
}

// ---- datasets -----------------------------------------------------------------------------------

void datasets_are_built_from_texts()
{
    sluice::dataset dataset;
    sluice::dataset other;
    sluice::dataset_info info;
    sluice::text described;
    sluice::text again;
    std::FILE *file = std::fopen("images.pipe", "w");

    CHECK_OK(dataset.parse("synthetic ${N} ${SHAPE}", {{"N", "50"}, {"SHAPE", "4,4,3"}}));
    CHECK_OK(dataset.add("shuffle | batch 4"));
    CHECK_OK(dataset.inspect(info));
    CHECK(info.source_samples == 50 && info.batch_size == 4);
    CHECK_OK(dataset.describe(described));
    if (file != nullptr) {
        std::fputs("synthetic ${N} 4,4,3 |\nshuffle | batch 4\n", file);
        std::fclose(file);
    }
    CHECK_OK(other.parse_file("images.pipe", {{"N", "50"}}));
    CHECK_OK(other.describe(again));
    CHECK(std::strcmp(described.c_str(), again.c_str()) == 0);
    CHECK_OK(other.explain(again));
    CHECK(contains(again.c_str(), "batch"));
    other = std::move(dataset);
    CHECK(!dataset && other);
    CHECK_OK(sluice_dataset_class_name(other.get(), 0, again.out()) == SLUICE_E_UNSUPPORTED
                 ? SLUICE_OK
                 : SLUICE_E_INVALID);
}

void errors_leave_objects_empty()
{
    sluice::dataset dataset;
    sluice::device device;
    sluice::channel channel;
    sluice::text text;

    CHECK_OK(dataset.parse("synthetic 10 2,2,1 | batch 2"));
    CHECK(dataset.parse("synthetic | shufle") == SLUICE_E_INVALID);
    CHECK(!dataset && contains(sluice::last_error(), "nearest is shuffle"));
    CHECK(dataset.parse("synthetic", {{"N", "5"}}) == SLUICE_E_INVALID);
    CHECK(dataset.parse_file("nowhere.pipe").failed());
    CHECK(device.open("tpu:0") == SLUICE_E_INVALID && !device);
    CHECK(channel.open(device, dataset, sluice::channel_config()) == SLUICE_E_INVALID && !channel);
    CHECK(dataset.describe(text) == SLUICE_E_INVALID && text.c_str()[0] == '\0');
}

// ---- a loop of one's own ------------------------------------------------------------------------

struct loop {
    sluice::device device;
    sluice::dataset dataset;
    sluice::channel channel;

    explicit loop(const sluice::channel_config &config)
    {
        CHECK_OK(device.open("host:0"));
        CHECK_OK(dataset.parse("synthetic samples=20 classes=20 shape=4,4,3 | shuffle | batch 4"));
        CHECK_OK(channel.open(device, dataset, config));
        CHECK_OK(channel.start());
    }
};

void add_labels(const sluice::batch &batch, std::multiset<std::int32_t> &labels)
{
    const auto *data = static_cast<const std::int32_t *>(batch.input("label")->data);

    labels.insert(data, data + batch->valid_rows);
}

void a_loop_reads_each_label_once_and_rewinds()
{
    sluice::channel_config config;
    sluice::channel_info info;
    sluice::channel_stats stats;
    sluice::channel_position position;
    sluice::report report;
    sluice::text text;

    config.end_of_pass = true;
    loop l(config);
    for (int pass = 0; pass < 2; pass++) {
        std::multiset<std::int32_t> labels;
        sluice::batch batch;
        sluice::status st;

        while ((st = l.channel.get_next(batch))) {
            add_labels(batch, labels);
        }
        CHECK(st == SLUICE_END_OF_PASS && !batch);
        CHECK(labels.size() == 20 && labels.count(0) == 1 && labels.count(19) == 1);
        CHECK_OK(l.channel.position(position));
        CHECK(position.batch == 5);
        CHECK_OK(l.channel.rewind());
    }
    CHECK_OK(l.channel.inspect(info));
    CHECK(info.batches == 5 && info.batch_size == 4);
    CHECK_OK(l.channel.stats(stats));
    CHECK(stats.batches == 10 && stats.samples == 40);
    CHECK_OK(l.channel.report_to(report));
    CHECK_OK(report.as_text(text));
    CHECK(contains(text.c_str(), "10 steps, 40 samples"));
    CHECK_OK(l.channel.pause());
    CHECK_OK(l.channel.resume());
    l.channel.stop();
    sluice::batch none;
    CHECK(l.channel.get_next(none, nullptr, 0) == SLUICE_CLOSED);
}

void batches_are_released_by_their_destructor()
{
    sluice::channel_config config;
    sluice::batch third;

    config.held = 2;
    loop l(config);
    for (int i = 0; i < 30; i++) {
        sluice::batch first;
        sluice::batch second;

        CHECK_OK(l.channel.get_next(first));
        CHECK_OK(l.channel.get_next(second));
        CHECK(l.channel.get_next(third) == SLUICE_E_INVALID && !third);
        CHECK(second->number == first->number + 1 && &*second == second.get());
        if (i % 3 == 0) {
            CHECK_OK(second.release());
            CHECK_OK(second.release()); // it holds none
        } else if (i % 3 == 1) {
            first = std::move(second); // releases the first
            CHECK(!second && first);
        }
    }
    CHECK_OK(l.channel.rewind()); // none is held
    CHECK_OK(l.channel.get_next(third));
    sluice::batch moved(std::move(third));
    CHECK(!third && moved->number == 0);
}

// Where one batch is held at a time the next call releases it, and its object must not do so again.
void a_stale_batch_releases_no_other()
{
    sluice::channel_config config;

    config.slots = 3;
    loop l(config);
    sluice::batch current;
    {
        sluice::batch stale;

        CHECK_OK(l.channel.get_next(stale));
        for (int i = 0; i < 6; i++) {
            CHECK_OK(l.channel.get_next(current));
        }
    }
    CHECK(current->number == 6);
    CHECK(l.channel.rewind() == SLUICE_E_INVALID); // the current one is held
    CHECK_OK(current.release());
    CHECK_OK(l.channel.rewind());
}

// ---- training -----------------------------------------------------------------------------------

void a_lambda_trains()
{
    sluice::device device;
    sluice::dataset dataset;
    sluice::train_config config;
    sluice::report report;
    sluice::report_stats stats;
    sluice::text json;
    double sum = 0;
    auto step = [&sum](const sluice_step &s) {
        const auto *pixels =
            static_cast<const unsigned char *>(sluice_step_input(&s, "image")->data);

        sum += pixels[0];
        s.outputs[0] = static_cast<float>(sum);
    };

    config.epochs = 2;
    config.dataset_sink_mode = true;
    CHECK_OK(device.open("host:0"));
    CHECK_OK(dataset.parse("synthetic 40 4,4,3 | batch 4"));
    CHECK_OK(sluice::train(device, step, dataset, config, &report));
    CHECK(sum > 0);
    CHECK_OK(report.stats(stats));
    CHECK(stats.steps == 20 && stats.epochs == 2);
    CHECK_OK(report.as_json(json));
    CHECK(json.c_str()[0] == '{');
    const sluice::status st = sluice::train(
        device, [](const sluice_step &) { return sluice_fail(SLUICE_E_IO, "no more ink"); },
        dataset, config);
    CHECK(st == SLUICE_E_IO && contains(sluice::last_error(), "no more ink"));
}

void every_function_of_a_model_is_a_callable()
{
    sluice::device device;
    sluice::dataset dataset;
    sluice::stop stop;
    sluice::callback monitor;
    sluice::checkpointing checkpoint;
    sluice::validating validation;
    sluice::train_config config;
    sluice::model model;
    sluice::hooks hooks;
    std::uint64_t weight = 0;
    int evals = 0;
    int saves = 0;
    int loads = 0;
    std::uint64_t records = 0;
    int ends = 0;
    auto step = [&weight](const sluice_step &) -> sluice::status {
        weight++;
        return SLUICE_OK;
    };
    auto eval = [&evals](const sluice_step &s) {
        s.outputs[0] = static_cast<float>(*s.valid_rows);
        evals++;
    };
    auto save = [&saves](const char *, std::uint32_t, std::uint32_t) { saves++; };
    auto load = [&loads](const char *, std::uint32_t, std::uint32_t) { loads++; };
    auto count = [&records](const sluice_hook &hook) { records += hook.record_count; };
    auto halt = [&ends, &stop](sluice_hook &hook) {
        ends++;
        if (hook.step == 20) {
            stop.request();
        }
        return SLUICE_OK;
    };
    sluice_callback *callbacks[2] = {};

    model.step = step;
    model.eval = eval;
    model.save = save;
    model.load = load;
    hooks.records = count;
    hooks.epoch_end = halt;
    CHECK_OK(stop.create());
    CHECK_OK(device.open("host:0"));
    CHECK_OK(dataset.parse("synthetic 40 4,4,3 | batch 4"));
    CHECK_OK(sluice_time_monitor(stderr, monitor.out()));
    callbacks[0] = hooks.get();
    callbacks[1] = monitor.get();
    checkpoint.folder = "checkpoints";
    checkpoint.resume = true;
    validation.dataset = dataset.get();
    config.checkpoint = &checkpoint;
    config.validation = &validation;
    config.callbacks = callbacks;
    config.callback_count = 2;
    config.epochs = 3;
    config.stop = stop.get();
    CHECK(sluice::train(device, model, dataset, config) == SLUICE_STOPPED);
    CHECK(weight == 20 && records == 20 && ends == 2 && evals == 20 && saves > 0 && loads == 0);
    stop.clear();
    CHECK_OK(sluice::train(device, model, dataset, config));
    CHECK(weight == 30 && ends == 3 && loads == 1);
}

// An exception cannot pass through C, and ends the program.
void a_callable_that_throws_terminates()
{
#if defined(__cpp_exceptions)
    const pid_t child = fork();
    int how = 0;

    if (child == 0) {
        auto thrower = [](const sluice_step &) { throw 1; };
        const sluice_step step = {};

        std::set_terminate([] { _exit(42); });
        _exit(static_cast<int>(sluice::step_ref(thrower)(step)));
    }
    CHECK(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 42);
#endif
}

// ---- sources of callables -----------------------------------------------------------------------

constexpr sluice_column_spec number_columns[] = {
    {"number", SLUICE_I64, 0, {}, SLUICE_ROLE_PLAIN, 0, nullptr},
    {"tags", SLUICE_U8, 1, {4}, SLUICE_ROLE_PLAIN, 1, nullptr},
};

// What a lambda holds; counts those that live.
class resource
{
  public:
    resource() noexcept
    {
        living++;
    }
    resource(const resource &) noexcept
    {
        living++;
    }
    resource(resource &&) noexcept
    {
        living++;
    }
    ~resource()
    {
        living--;
    }
    resource &operator=(const resource &) = delete;

    static int living;
};
int resource::living = 0;

sluice::status give_sample(const sluice::sample &sample, std::uint64_t index)
{
    static const unsigned char tags[] = {1, 2, 3, 4};
    std::int64_t *number = nullptr;
    sluice::status st = sample.room("number", number);

    if (st) {
        *number = static_cast<std::int64_t>(index * index);
        st = sample.lend("tags", tags, index % 5, {index % 5});
    }
    return st;
}

sluice_status name_twice(std::uint64_t index, char *text, std::size_t size, void *user)
{
    std::snprintf(text, size, "%s-%d", static_cast<const char *>(user), static_cast<int>(index));
    return SLUICE_OK;
}

void a_lambda_is_a_source()
{
    char name[] = "mine";
    sluice::source_settings settings;
    sluice::text sample_name;

    settings.name = "lambda";
    settings.count = 20;
    settings.name_of = name_twice;
    settings.user = name;
    {
        sluice::dataset dataset;
        resource held;
        std::uint64_t picked = 0;
        std::int64_t number = 0;
        unsigned char tags[4] = {};
        std::int32_t length = 0;
        void *const columns[] = {&number, tags, &length};

        CHECK_OK(dataset.source(settings, number_columns,
                                [held](const sluice::sample &sample, std::uint64_t index) {
                                    CHECK(sample.number() == index);
                                    CHECK(sample.random(1) != sample.random(2));
                                    CHECK(sample.worker<int>() == nullptr);
                                    return give_sample(sample, index);
                                }));
        CHECK(resource::living == 2);
        CHECK_OK(dataset.add("shuffle 1 | batch 4"));
        CHECK_OK(sluice_dataset_get(dataset.get(), 0, 0, 3, columns, &picked));
        CHECK(number == static_cast<std::int64_t>(picked * picked));
        CHECK(length == static_cast<std::int32_t>(picked % 5));
        CHECK_OK(sluice_dataset_sample_name(dataset.get(), 7, sample_name.out()));
        CHECK(std::strcmp(sample_name.c_str(), "mine-7") == 0);
    }
    CHECK(resource::living == 0);
}

// Begins to count at 10 in each pass.
sluice_status open_counter(std::uint64_t, void *user, void **pass_out)
{
    auto *const count = static_cast<std::int64_t *>(user);

    *count = 10;
    *pass_out = count;
    return SLUICE_OK;
}

void close_counter(void *pass, void *user)
{
    CHECK(pass == user);
    *static_cast<std::int64_t *>(user) = -1;
}

void a_lambda_is_a_stream()
{
    static const sluice_column_spec columns[] = {
        {"number", SLUICE_I64, 0, {}, SLUICE_ROLE_PLAIN, 0, nullptr}};
    std::int64_t count = 0;
    std::int64_t sum = 0;
    sluice::source_settings settings;
    resource held;

    settings.name = "counter";
    settings.open_pass = open_counter;
    settings.close_pass = close_counter;
    settings.user = &count;
    {
        sluice::device device;
        sluice::dataset dataset;
        sluice::train_config config;

        CHECK_OK(device.open("host:0"));
        CHECK_OK(
            dataset.source(settings, columns, [held](sluice::sample &sample) -> sluice::status {
                std::int64_t *const next = sample.worker<std::int64_t>();
                std::int64_t *number = nullptr;
                sluice::status st = SLUICE_END_OF_DATA;

                if (*next < 14) {
                    st = sample.room("number", number);
                }
                if (number != nullptr) {
                    CHECK(sample.stop_fd() >= 0);
                    *number = (*next)++;
                }
                return st;
            }));
        CHECK_OK(dataset.add("batch 4 drop_remainder=true"));
        config.epochs = 1;
        config.workers = 1;
        auto step = [&sum](const sluice_step &s) {
            const auto *numbers =
                static_cast<const std::int64_t *>(sluice_step_input(&s, "number")->data);

            for (int i = 0; i < 4; i++) {
                sum += numbers[i];
            }
        };
        CHECK_OK(sluice::train(device, step, dataset, config));
    }
    CHECK(sum == 10 + 11 + 12 + 13);
    CHECK(count == -1);
    CHECK(resource::living == 1);
}

void a_source_that_is_refused_destroys_its_callable_once()
{
    sluice::source_settings settings;
    sluice::dataset dataset;
    resource held;

    CHECK(dataset.source(settings, number_columns,
                         [held](const sluice::sample &, std::uint64_t) {}) == SLUICE_E_INVALID);
    CHECK(contains(sluice::last_error(), "name is NULL") && !dataset);
    settings.struct_size = 0;
    CHECK(dataset.source(settings, number_columns,
                         [held](const sluice::sample &, std::uint64_t) {}) == SLUICE_E_INVALID);
    CHECK(resource::living == 1);
}

// Reads sample 0 of a source of this callable.
template <typename Read> sluice::status read_first(Read read)
{
    static const sluice_column_spec columns[] = {
        {"number", SLUICE_I64, 0, {}, SLUICE_ROLE_PLAIN, 0, nullptr}};
    sluice::source_settings settings;
    sluice::dataset dataset;
    std::int64_t number = 0;
    void *const row[] = {&number};

    settings.name = "thrower";
    settings.count = 1;
    CHECK_OK(dataset.source(settings, columns, read));
    CHECK_OK(dataset.add("batch 1"));
    return sluice_dataset_get(dataset.get(), 0, 0, 0, row, nullptr);
}

void what_a_source_throws_is_an_error()
{
    CHECK(read_first([](const sluice::sample &, std::uint64_t) { return SLUICE_E_CORRUPT; }) ==
          SLUICE_E_CORRUPT);
#if defined(__cpp_exceptions)
    CHECK(read_first([](const sluice::sample &, std::uint64_t) {
              throw std::runtime_error("the server is down");
          }) == SLUICE_E_CALLBACK);
    CHECK(contains(sluice::last_error(), "thrower: read() returned E_CALLBACK: an exception: the "
                                         "server is down"));
    CHECK(read_first([](const sluice::sample &, std::uint64_t) { throw 1; }) == SLUICE_E_CALLBACK);
    CHECK(contains(sluice::last_error(), "an exception that is no std::exception"));
    CHECK(read_first([](const sluice::sample &, std::uint64_t) { throw std::bad_alloc(); }) ==
          SLUICE_E_NO_MEMORY);
#endif
}

// Adds the negated label of a sample, and what the callable says, to a dataset of ten samples.
template <typename Map> sluice::status map_first(Map map, std::int64_t &negated)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {
        {"negated", SLUICE_I64, 0, {}, SLUICE_ROLE_PLAIN, 0, nullptr}};
    sluice::map_settings settings;
    sluice::dataset dataset;
    std::int32_t label = 0;
    void *const row[] = {nullptr, &label, &negated};

    settings.name = "negate";
    CHECK_OK(sluice_dataset_synthetic(10, 4, 4, 3, 10, dataset.out()));
    CHECK_OK(dataset.map(settings, inputs, outputs, std::move(map)));
    CHECK_OK(dataset.add("batch 1"));
    const sluice::status st = sluice_dataset_get(dataset.get(), 0, 0, 7, row, nullptr);
    CHECK(!st || negated == -static_cast<std::int64_t>(label));
    return st;
}

void a_lambda_is_a_map()
{
    std::int64_t negated = 1;
    resource held;

    CHECK_OK(map_first(
        [held](const sluice::sample &sample) {
            sluice_sample_view label;
            std::int64_t *room = nullptr;
            sluice::status st = sample.get("label", label);

            if (st) {
                st = sample.room("negated", room);
            }
            if (st) {
                *room = -static_cast<std::int64_t>(*static_cast<const std::int32_t *>(label.data));
            }
            return st;
        },
        negated));
    CHECK(resource::living == 1);
    CHECK(map_first([](const sluice::sample &) { return SLUICE_E_CORRUPT; }, negated) ==
          SLUICE_E_CORRUPT);
#if defined(__cpp_exceptions)
    CHECK(map_first([](const sluice::sample &) { throw std::runtime_error("no luck"); }, negated) ==
          SLUICE_E_CALLBACK);
    CHECK(
        contains(sluice::last_error(), "negate: map() returned E_CALLBACK: an exception: no luck"));
#endif
}

void a_lambda_is_a_filter()
{
    static const char *const inputs[] = {"label"};
    sluice::filter_settings settings;
    resource held;

    settings.name = "even";
    for (int throws = 0; throws < 2; throws++) {
        sluice::dataset dataset;

        CHECK_OK(sluice_dataset_synthetic(10, 4, 4, 3, 10, dataset.out()));
        CHECK_OK(dataset.filter(settings, inputs, [held](const sluice::sample &sample, bool &keep) {
            sluice_sample_view label;
            const sluice::status st = sample.get("label", label);

            keep = st && *static_cast<const std::int32_t *>(label.data) % 2 == 0;
            return st;
        }));
        CHECK_OK(dataset.add("batch 1"));
        CHECK(sluice_dataset_get(dataset.get(), 0, 0, 7, nullptr, nullptr) == SLUICE_E_INVALID);
        CHECK(resource::living == 2);
    }
    CHECK(resource::living == 1);
}

void a_lambda_is_a_map_of_batches()
{
    static const char *const changes[] = {"label"};
    sluice::map_batch_settings settings;
    resource held;

    settings.name = "zero";
    {
        sluice::dataset dataset;
        sluice::device device;
        sluice::train_config config;
        std::int32_t first = -1;

        CHECK_OK(sluice_dataset_synthetic(8, 4, 4, 3, 10, dataset.out()));
        CHECK_OK(dataset.add("project label | batch 4"));
        CHECK_OK(dataset.map_batch(settings, changes, [held](const sluice::host_batch &rows) {
            sluice_host_column label;
            const sluice::status st = rows.column("label", label);

            for (std::uint32_t i = 0; st && i < rows.valid_rows(); i++) {
                static_cast<std::int32_t *>(label.data)[i] = static_cast<std::int32_t>(
                    rows.samples()[i] + (rows.random(0) == rows.random(1)) + rows.rows());
            }
            return rows.worker<int>() == nullptr && rows.get() != nullptr
                       ? st
                       : sluice::status(SLUICE_E_INVALID);
        }));
        CHECK(resource::living == 2);
        config.epochs = 1;
        CHECK_OK(device.open("host:0"));
        CHECK_OK(sluice::train(
            device,
            [&first](const sluice_step &s) {
                if (first < 0) {
                    first =
                        *static_cast<const std::int32_t *>(sluice_step_input(&s, "label")->data);
                }
            },
            dataset, config));
        CHECK(first == 4);
    }
    CHECK(resource::living == 1);
}

} // namespace

int main()
{
    statuses_are_true_where_ok();
    what_is_owned_is_freed_once();
    datasets_are_built_from_texts();
    errors_leave_objects_empty();
    a_loop_reads_each_label_once_and_rewinds();
    batches_are_released_by_their_destructor();
    a_stale_batch_releases_no_other();
    a_lambda_trains();
    every_function_of_a_model_is_a_callable();
    a_callable_that_throws_terminates();
    a_lambda_is_a_source();
    a_lambda_is_a_stream();
    a_source_that_is_refused_destroys_its_callable_once();
    what_a_source_throws_is_an_error();
    a_lambda_is_a_map();
    a_lambda_is_a_filter();
    a_lambda_is_a_map_of_batches();
    std::printf("%d checks failed\n", failures);
    return failures == 0 ? 0 : 1;
}
