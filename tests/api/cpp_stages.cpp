// SPDX-License-Identifier: Apache-2.0
// Callables of C++ as sources, streams, maps, filters and maps of batches. tests/test_cpp.sh
// compiles it in several ways and runs it in a folder of its own.
#if defined(__cpp_exceptions)
#include <stdexcept>
#endif

#include "cpp_checks.hpp"

namespace
{

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

        CHECK_OK(dataset.source(
            settings, number_columns, [held](const sluice::sample &sample, std::uint64_t index) {
                CHECK(sample.number() == index);
                CHECK(sample.random(1) != sample.random(2));
                CHECK(sample.worker<int>() == nullptr);
                CHECK(sample.warped({1, 0, 0, 0, 1, 0}) == SLUICE_E_INVALID); // a source
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
    CHECK(contains(sluice::last_error(), "an exception that is not a std::exception"));
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
    CHECK_OK(sluice_dataset_parse("synthetic 10 4,4,3 10", dataset.out()));
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

        CHECK_OK(sluice_dataset_parse("synthetic 10 4,4,3 10", dataset.out()));
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

        CHECK_OK(sluice_dataset_parse("synthetic 8 4,4,3 10", dataset.out()));
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
    a_lambda_is_a_source();
    a_lambda_is_a_stream();
    a_source_that_is_refused_destroys_its_callable_once();
    what_a_source_throws_is_an_error();
    a_lambda_is_a_map();
    a_lambda_is_a_filter();
    a_lambda_is_a_map_of_batches();
    return report_failures();
}
