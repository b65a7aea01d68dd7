/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Datasets as C++ objects, with callables as sources, maps, filters and maps of whole batches.
 * Included by sluice.hpp.
 */
#ifndef SLUICE_DATASET_HPP
#define SLUICE_DATASET_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <sluice/custom.hpp>
#include <sluice/owner.hpp>

namespace sluice
{

/** An argument of a pipeline text, which refers to it as ${NAME}. */
struct argument {
    const char *name;  /**< letters, digits and _ */
    const char *value; /**< any text: it is not parsed */
};

namespace detail
{

/** A value of a pipeline text: an integer, a floating-point number, a bool ("true" or "false"), a
 * C string, or an object with c_str(). */
template <typename Type> sluice_value value_of(const Type &value) noexcept
{
    sluice_value made = {};

    if constexpr (std::is_same_v<Type, bool>) {
        made.type = SLUICE_VALUE_TEXT;
        made.text = value ? "true" : "false";
    } else if constexpr (std::is_floating_point_v<Type>) {
        made.type = SLUICE_VALUE_REAL;
        made.real = static_cast<double>(value);
    } else if constexpr (std::is_integral_v<Type> && std::is_unsigned_v<Type>) {
        made.type = SLUICE_VALUE_UINT;
        made.count = value;
    } else if constexpr (std::is_integral_v<Type>) {
        made.type = SLUICE_VALUE_INT;
        made.number = value;
    } else if constexpr (std::is_convertible_v<const Type &, const char *>) {
        made.type = SLUICE_VALUE_TEXT;
        made.text = value;
    } else {
        made.type = SLUICE_VALUE_TEXT;
        made.text = value.c_str();
    }
    return made;
}

} // namespace detail

/** A dataset and its stages. */
class dataset : public owner<sluice_dataset, sluice_dataset_destroy>
{
  public:
    using owner::owner;

    /** sluice_dataset_parse() */
    [[nodiscard]] status parse(const char *pipeline) noexcept
    {
        return sluice_dataset_parse(pipeline, out());
    }

    /**
     * sluice_dataset_parse_values(): each {} of the text stands for the next value, which is an
     * integer, a floating-point number, a bool, a C string or an object with c_str():
     * dataset.parse("image_folder {} | decode | resize {}", path, 224)
     */
    template <typename First, typename... More>
    [[nodiscard]] status parse(const char *pipeline, const First &first,
                               const More &...more) noexcept
    {
        const sluice_value values[] = {detail::value_of(first), detail::value_of(more)...};

        return sluice_dataset_parse_values(pipeline, values, 1 + sizeof...(more), out());
    }

    /** dataset.parse("image_folder ${DIR} | decode | batch 32", {{"DIR", path}}) */
    template <std::size_t N>
    [[nodiscard]] status parse(const char *pipeline, const argument (&arguments)[N]) noexcept
    {
        const split<N> parts(arguments);

        return sluice_dataset_parse_args(pipeline, parts.names, parts.values, N, out());
    }

    /** sluice_dataset_parse_file() */
    [[nodiscard]] status parse_file(const char *path) noexcept
    {
        return sluice_dataset_parse_file(path, out());
    }

    /** sluice_dataset_parse_file_args() */
    template <std::size_t N>
    [[nodiscard]] status parse_file(const char *path, const argument (&arguments)[N]) noexcept
    {
        const split<N> parts(arguments);

        return sluice_dataset_parse_file_args(path, parts.names, parts.values, N, out());
    }

    /**
     * sluice_dataset_source() of a callable (sluice::sample &, std::uint64_t index) that returns
     * status, sluice_status or nothing, which is OK. It takes the place of settings.read; it is
     * moved or copied into the dataset, which destroys it. Workers call it, several at once. An
     * exception is a bad sample with its what() (E_CALLBACK), and std::bad_alloc E_NO_MEMORY.
     *
     * A callable (sluice::sample &) makes the source a stream, in place of settings.next. Workers
     * call it one at a time; it returns SLUICE_END_OF_DATA at the end of a pass.
     */
    template <typename Read>
    [[nodiscard]] status source(const source_settings &settings, Read &&read) noexcept
    {
        return detail::give_callable<sluice_source>(settings, std::forward<Read>(read), out());
    }

    /** The same with its columns. */
    template <std::size_t N, typename Read>
    [[nodiscard]] status source(const source_settings &settings,
                                const sluice_column_spec (&columns)[N], Read &&read) noexcept
    {
        source_settings made = settings;

        made.columns = columns;
        made.column_count = static_cast<std::uint32_t>(N);
        return source(made, std::forward<Read>(read));
    }

    /**
     * sluice_dataset_map() of a callable (sluice::sample &) that returns status, sluice_status or
     * nothing, which is OK. It takes the place of settings.map; otherwise as source().
     */
    template <typename Map>
    [[nodiscard]] status map(const map_settings &settings, Map &&map) noexcept
    {
        return detail::give_callable<sluice_map>(settings, std::forward<Map>(map), get());
    }

    /** The same with its inputs and outputs. */
    template <std::size_t N, std::size_t M, typename Map>
    [[nodiscard]] status map(const map_settings &settings, const char *const (&inputs)[N],
                             const sluice_column_spec (&outputs)[M], Map &&map) noexcept
    {
        map_settings made = settings;

        made.inputs = inputs;
        made.input_count = static_cast<std::uint32_t>(N);
        made.outputs = outputs;
        made.output_count = static_cast<std::uint32_t>(M);
        return this->map(made, std::forward<Map>(map));
    }

    /**
     * Calls sluice_dataset_filter() with a callable (sluice::sample &, bool &keep), which replaces
     * settings.filter. The callable returns status, sluice_status or nothing (OK); `keep` is false
     * when it is called. Ownership and exceptions are as in source().
     */
    template <typename Filter>
    [[nodiscard]] status filter(const filter_settings &settings, Filter &&filter) noexcept
    {
        return detail::give_callable<sluice_filter>(settings, std::forward<Filter>(filter), get());
    }

    /** The same, with an array of the names of the input columns. */
    template <std::size_t N, typename Filter>
    [[nodiscard]] status filter(const filter_settings &settings, const char *const (&inputs)[N],
                                Filter &&filter) noexcept
    {
        filter_settings made = settings;

        made.inputs = inputs;
        made.input_count = static_cast<std::uint32_t>(N);
        return this->filter(made, std::forward<Filter>(filter));
    }

    /**
     * Calls sluice_dataset_map_batch() with a callable (sluice::host_batch &), which replaces
     * settings.map. The callable returns status, sluice_status or nothing (OK). Ownership and
     * exceptions are as in source(), but an exception ends the run under every error policy.
     */
    template <typename Map>
    [[nodiscard]] status map_batch(const map_batch_settings &settings, Map &&map) noexcept
    {
        return detail::give_callable<sluice_map_batch>(settings, std::forward<Map>(map), get());
    }

    /** The same, with an array of the names of the columns that it changes. */
    template <std::size_t N, typename Map>
    [[nodiscard]] status map_batch(const map_batch_settings &settings,
                                   const char *const (&changes)[N], Map &&map) noexcept
    {
        map_batch_settings made = settings;

        made.changes = changes;
        made.change_count = static_cast<std::uint32_t>(N);
        return this->map_batch(made, std::forward<Map>(map));
    }

    /** sluice_dataset_add() */
    [[nodiscard]] status add(const char *stages) noexcept
    {
        return sluice_dataset_add(get(), stages);
    }

    /** sluice_dataset_add_values(), with values as in parse():
     * dataset.add("resize {} filter={}", width, name) */
    template <typename First, typename... More>
    [[nodiscard]] status add(const char *stages, const First &first, const More &...more) noexcept
    {
        const sluice_value values[] = {detail::value_of(first), detail::value_of(more)...};

        return sluice_dataset_add_values(get(), stages, values, 1 + sizeof...(more));
    }

    /** sluice_dataset_inspect() */
    [[nodiscard]] status inspect(dataset_info &info_out) const noexcept
    {
        return sluice_dataset_inspect(get(), &info_out);
    }

    /** sluice_dataset_describe() */
    [[nodiscard]] status describe(text &text_out) const noexcept
    {
        return sluice_dataset_describe(get(), text_out.out());
    }

    /** sluice_dataset_explain() */
    [[nodiscard]] status explain(text &text_out) const noexcept
    {
        return sluice_dataset_explain(get(), text_out.out());
    }

    /** sluice_dataset_explain_sample() */
    [[nodiscard]] status explain_sample(std::uint64_t seed, std::uint64_t pass,
                                        std::uint64_t sample, text &text_out) const noexcept
    {
        return sluice_dataset_explain_sample(get(), seed, pass, sample, text_out.out());
    }

  private:
    /* Arguments as an array for the C calls. */
    template <std::size_t N> struct split {
        explicit split(const argument (&arguments)[N]) noexcept
        {
            for (std::size_t i = 0; i < N; i++) {
                names[i] = arguments[i].name;
                values[i] = arguments[i].value;
            }
        }

        const char *names[N];
        const char *values[N];
    };
};

} // namespace sluice

#endif
