// SPDX-License-Identifier: Apache-2.0
// The C++ wrapper, sluice/sluice.hpp: ownership, datasets, loops and models. tests/test_cpp.sh
// compiles it in several ways and runs it in a folder of its own.
#include <set>
#include <string>

#if defined(__cpp_exceptions)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "cpp_checks.hpp"

namespace
{

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

void texts_take_values()
{
    const std::string folder = "a | 'b'";
    const char *const filter = "area";
    sluice::dataset dataset;
    sluice::dataset same;
    sluice::text described;
    sluice::text again;

    CHECK_OK(dataset.parse("image_folder {} {} | take {}", folder, "png", std::size_t{9}));
    CHECK_OK(dataset.add("decode fast_scale={}", true));
    CHECK_OK(dataset.add("resize {},{} filter={} | random_invert {}", 8, 6U, filter, 0.25F));
    CHECK_OK(dataset.describe(described));
    CHECK_OK(same.parse("image_folder \"a | 'b'\" png | take 9 | decode fast_scale=true | "
                        "resize 8,6 filter=area | random_invert 0.25"));
    CHECK_OK(same.describe(again));
    CHECK(std::strcmp(described.c_str(), again.c_str()) == 0);
    CHECK(dataset.add("resize '{}'", 3) == SLUICE_E_INVALID);
    CHECK(contains(sluice::last_error(), "must not be in quotes"));
    CHECK(sluice::dataset().parse("synthetic {}", 3, 4) == SLUICE_E_INVALID);
}

void stages_are_added_as_texts()
{
    sluice::dataset by_calls;
    sluice::dataset by_text;
    sluice::text called;
    sluice::text parsed;

    CHECK_OK(sluice_dataset_parse("synthetic 50 9,9,3 10", by_calls.out()));
    CHECK_OK(by_calls.add("shuffle"));
    CHECK_OK(by_calls.add("center_crop {},{} | device | random_invert {}", 8, 6, 1));
    CHECK_OK(by_calls.add("random_rotation {}", 10));
    CHECK_OK(by_calls.add("random_vertical_flip | normalize {} {}", 0.5, 0.5F));
    CHECK_OK(by_calls.add("batch {}", 4));
    CHECK_OK(by_calls.describe(called));
    CHECK_OK(
        by_text.parse("synthetic 50 9,9,3 | shuffle | center_crop 8,6 | device | random_invert 1 "
                      "| random_rotation 10 | random_vertical_flip | normalize 0.5 0.5 | batch 4"));
    CHECK_OK(by_text.describe(parsed));
    CHECK(std::strcmp(called.c_str(), parsed.c_str()) == 0);
    CHECK(by_calls.add("take {}", 3) == SLUICE_E_INVALID);
    CHECK(contains(sluice::last_error(), "take must come before batch"));
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
    CHECK_OK(l.channel.step_time(0.5));
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
} // namespace

int main()
{
    statuses_are_true_where_ok();
    what_is_owned_is_freed_once();
    datasets_are_built_from_texts();
    texts_take_values();
    stages_are_added_as_texts();
    errors_leave_objects_empty();
    a_loop_reads_each_label_once_and_rewinds();
    batches_are_released_by_their_destructor();
    a_stale_batch_releases_no_other();
    a_lambda_trains();
    every_function_of_a_model_is_a_callable();
    a_callable_that_throws_terminates();
    return report_failures();
}
