/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * sluice_train() with callables as step, hooks and functions of the model. Included by
 * sluice.hpp.
 */
#ifndef SLUICE_TRAIN_HPP
#define SLUICE_TRAIN_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <sluice/dataset.hpp>
#include <sluice/objects.hpp>

namespace sluice
{

/* ---- callables ------------------------------------------------------------------------------- */

/**
 * A reference to a callable, like std::function_ref of C++26. It does not own the callable, which
 * must outlive each call. It accepts objects only, not temporaries. The callable may return status,
 * sluice_status or nothing, which is OK. It must not throw: an exception ends the program
 * (std::terminate), since it cannot pass through C.
 */
template <typename... Arguments> class function_ref
{
  public:
    /** Refers to no callable. */
    function_ref() noexcept = default;

    /** Refers to a callable, which is neither copied nor owned. */
    template <typename Callable, typename = std::enable_if_t<
                                     !std::is_same_v<std::remove_cv_t<Callable>, function_ref>>>
    function_ref(Callable &callable) noexcept
        : object_(const_cast<void *>(static_cast<const volatile void *>(std::addressof(callable)))),
          call_(call_object<Callable>)
    {
        static_assert(std::is_object_v<Callable>,
                      "the callable must be an object, such as a lambda, not a function");
    }

    /** Does it refer to a callable? */
    explicit operator bool() const noexcept
    {
        return call_ != nullptr;
    }

    /** Calls the callable, which must be set. */
    sluice_status operator()(Arguments... arguments) const noexcept
    {
        return call_(object_, arguments...);
    }

  private:
    template <typename Callable>
    static sluice_status call_object(void *object, Arguments... arguments) noexcept
    {
        Callable &callable = *static_cast<Callable *>(object);

        if constexpr (std::is_void_v<std::invoke_result_t<Callable &, Arguments...>>) {
            callable(arguments...);
            return SLUICE_OK;
        } else {
            return status(callable(arguments...)).get();
        }
    }

    void *object_ = nullptr;
    sluice_status (*call_)(void *, Arguments...) = nullptr;
};

/** Like sluice_step_fn. */
using step_ref = function_ref<const sluice_step &>;
/** Like sluice_state_fn, without user: (folder, rank, world). */
using state_ref = function_ref<const char *, std::uint32_t, std::uint32_t>;
/** Like sluice_hook_fn. */
using hook_ref = function_ref<sluice_hook &>;

/**
 * A model with callables as functions: those that are set replace settings.step, eval, save, load
 * and user. The object must not move during train().
 */
struct model {
    model_struct settings; /**< all other fields: inputs, outputs, their names */
    step_ref step;         /**< sluice_model::step */
    step_ref eval;         /**< sluice_model::eval */
    state_ref save;        /**< sluice_model::save */
    state_ref load;        /**< sluice_model::load */

    /** The C struct, valid while this object stays at its address. */
    sluice_model c_model() noexcept
    {
        sluice_model made = settings;

        made.user = this;
        made.step = step ? call<&model::step> : nullptr;
        made.eval = eval ? call<&model::eval> : nullptr;
        made.save = save ? call_state<&model::save> : nullptr;
        made.load = load ? call_state<&model::load> : nullptr;
        return made;
    }

  private:
    template <step_ref model::*which>
    static sluice_status call(const sluice_step *step, void *user) noexcept
    {
        return (static_cast<model *>(user)->*which)(*step);
    }

    template <state_ref model::*which>
    static sluice_status call_state(void *user, const char *folder, std::uint32_t rank,
                                    std::uint32_t world) noexcept
    {
        return (static_cast<model *>(user)->*which)(folder, rank, world);
    }
};

/** Callables as hooks. get() is an entry of config.callbacks; the object must not move meanwhile.
 */
class hooks
{
  public:
    hook_ref train_begin; /**< sluice_callback::train_begin */
    hook_ref epoch_begin; /**< sluice_callback::epoch_begin */
    hook_ref step_begin;  /**< sluice_callback::step_begin */
    hook_ref records;     /**< sluice_callback::records */
    hook_ref step_end;    /**< sluice_callback::step_end */
    hook_ref validation;  /**< sluice_callback::validation */
    hook_ref epoch_end;   /**< sluice_callback::epoch_end */
    hook_ref train_end;   /**< sluice_callback::train_end */

    /** No hooks. */
    hooks() noexcept = default;
    hooks(const hooks &) = delete;
    hooks &operator=(const hooks &) = delete;

    /** The C struct with the callables that are set now; owned by this object. */
    sluice_callback *get() noexcept
    {
        callback_.user = this;
        callback_.train_begin = train_begin ? call<&hooks::train_begin> : nullptr;
        callback_.epoch_begin = epoch_begin ? call<&hooks::epoch_begin> : nullptr;
        callback_.step_begin = step_begin ? call<&hooks::step_begin> : nullptr;
        callback_.records = records ? call<&hooks::records> : nullptr;
        callback_.step_end = step_end ? call<&hooks::step_end> : nullptr;
        callback_.validation = validation ? call<&hooks::validation> : nullptr;
        callback_.epoch_end = epoch_end ? call<&hooks::epoch_end> : nullptr;
        callback_.train_end = train_end ? call<&hooks::train_end> : nullptr;
        return &callback_;
    }

  private:
    template <hook_ref hooks::*which>
    static sluice_status call(sluice_hook *hook, void *user) noexcept
    {
        return (static_cast<hooks *>(user)->*which)(*hook);
    }

    callback_struct callback_;
};

/* ---- training -------------------------------------------------------------------------------- */

/** sluice_train(). Makes a report if report_out is not NULL. */
[[nodiscard]] inline status train(const device &on, model &trained, const dataset &from,
                                  const sluice_train_config &config,
                                  report *report_out = nullptr) noexcept
{
    const sluice_model made = trained.c_model();

    return sluice_train(on.get(), &made, from.get(), &config,
                        report_out != nullptr ? report_out->out() : nullptr);
}

/** sluice_train() of a model that consists only of a step: a callable, which is not copied. */
template <typename Step,
          typename = std::enable_if_t<std::is_invocable_v<Step &, const sluice_step &>>>
[[nodiscard]] status train(const device &on, Step &&step, const dataset &from,
                           const sluice_train_config &config, report *report_out = nullptr) noexcept
{
    model trained;

    trained.step = step;
    return train(on, trained, from, config, report_out);
}

} // namespace sluice

#endif
