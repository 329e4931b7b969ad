/* SPDX-License-Identifier: Apache-2.0 */
/* PHP 7.3 to 8.5 without thread safety (NTS), as a program and as a library. */
#include "interpreter/php.h"
#include "base/format.h"
#include "base/number.h"

static const struct php_layout layouts[] = {
    {7, 3, 488, 128}, {7, 4, 488, 136}, {8, 0, 488, 144}, {8, 1, 488, 144},
    {8, 2, 488, 152}, {8, 3, 488, 144}, {8, 4, 488, 168}, {8, 5, 512, 168},
};

/* The table of modules (HashTable of zend_module_entry). Those that are part of PHP have its
 * version. */
#define MODULES_ELEMENTS 16
#define MODULES_USED 24
#define MODULES_MAX 256
#define ELEMENT_SIZE 32
#define MODULE_NAME 32
#define MODULE_VERSION 88

/* --- The runtime -------------------------------------------------------------------- */

/* Text of a module that ends with a 0. */
static struct str read_text(struct memory *m, uint64_t at, char *room, size_t size)
{
    struct str text = {room, 0};
    while (text.len + 1 < size && (room[text.len] = (char)memory_u8(m, at + text.len)))
        text.len++;
    return text;
}

/* Reads the version of the module "standard", which is that of PHP. False if it is not loaded
 * (yet). */
static bool read_version(struct memory *m, uint64_t modules, char *room, size_t size)
{
    uint64_t elements = memory_u64(m, modules + MODULES_ELEMENTS);
    uint32_t count = memory_u32(m, modules + MODULES_USED);
    char name[16];
    for (uint32_t i = 0; i < count && i < MODULES_MAX && !m->failed; i++) {
        uint64_t module = memory_u64(m, elements + (uint64_t)i * ELEMENT_SIZE);
        struct str found =
            read_text(m, memory_u64(m, module + MODULE_NAME), name, sizeof name);
        if (!m->failed && str_equal(found, STR("standard"))) {
            read_text(m, memory_u64(m, module + MODULE_VERSION), room, size);
            return !m->failed;
        }
    }
    return false;
}

/* Finds the layout of a version, "8.2.7". */
static bool find_layout(struct interpreter_runtime *r, struct error *err)
{
    struct php *php = r->data;
    struct str rest = str_of(r->version), first = str_cut(&rest, '.');
    uint64_t major, minor;
    if (!number_parse_u64(first, &major) ||
        !number_parse_u64(str_cut(&rest, '.'), &minor))
        return error_set(err, "the version of PHP in %.*s is unknown",
                         STR_ARG(r->access->modules[r->module]));
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].major == major && layouts[i].minor == minor)
            php->layout = &layouts[i];
    if (!php->layout)
        return error_set(err, "PHP %s is not supported: 7.3 to 8.5 are", r->version);
    format_text(r->offsets, sizeof r->offsets, "table for %u.%u", php->layout->major,
                php->layout->minor);
    return true;
}

static void make_walk(struct php *php, uint64_t globals)
{
    php->walk = (struct interpreter_walk){
        .runtime = globals,
        .form = INTERPRETER_WALK_SINGLE,
        .thread_frame = php->layout->globals_frame,
        .thread_tid = INTERPRETER_WALK_ABSENT,
        .cframe_frame = INTERPRETER_WALK_ABSENT,
        .frame_size = PHP_FRAME_SIZE,
        .frame_instruction = PHP_FRAME_INSTRUCTION,
        .frame_code = PHP_FRAME_CODE,
        .frame_flags = PHP_FRAME_FLAGS,
        .frame_previous = PHP_FRAME_PREVIOUS,
        .frame_owner = INTERPRETER_WALK_ABSENT,
        .frame_is_entry = INTERPRETER_WALK_ABSENT,
        .code_lines = PHP_CODE_NAME,
        .code_first_line = PHP_CODE_CLASS,
        .flag_entry = PHP_FLAG_TOP,
        .instruction_line = PHP_INSTRUCTION_LINE,
        .type_native = PHP_TYPE_NATIVE,
    };
}

/* Finds the module that defines the runtime: the executable or a library. *threads: it supports
 * threads. */
static bool find_module(struct interpreter_runtime *r, uint64_t *globals,
                        uint64_t *modules, bool *threads)
{
    const struct interpreter_access *a = r->access;
    uint64_t at;
    for (size_t i = 0; i < a->module_count; i++) {
        r->module = i;
        if (i > 0 && !str_has(str_basename(a->modules[i]), STR("php")))
            continue;
        *threads = a->symbol(a->context, i, STR("executor_globals_offset"), &at);
        if (*threads || (a->symbol(a->context, i, STR("executor_globals"), globals) &&
                         a->symbol(a->context, i, STR("module_registry"), modules)))
            return true;
    }
    return false;
}

static enum interpreter_found php_find(struct interpreter_runtime *r, struct error *err)
{
    struct memory m = memory_of(r->access);
    struct php *php = arena_zalloc(r->arena, 1, sizeof *php);
    uint64_t globals, modules;
    bool threads;
    if (!php) {
        error_memory(err);
        return INTERPRETER_REFUSED;
    }
    r->data = php;
    if (!find_module(r, &globals, &modules, &threads))
        return INTERPRETER_ABSENT;
    if (threads) {
        error_set(err, "PHP that was built with threads (ZTS) is not supported");
        return INTERPRETER_REFUSED;
    }
    if (!read_version(&m, modules, r->version, sizeof r->version))
        return INTERPRETER_STARTING;
    if (!find_layout(r, err))
        return INTERPRETER_REFUSED;
    make_walk(php, globals);
    return INTERPRETER_FOUND;
}

/* Only the first thread executes PHP. */
static bool php_thread(const struct interpreter_runtime *r,
                       const struct interpreter_thread_ids *ids,
                       struct interpreter_thread *thread)
{
    const struct php *php = r->data;
    struct memory m = memory_of(r->access);
    uint64_t first = r->access->first_tid;
    if (first && ids->tid && ids->tid != first)
        return false;
    *thread = (struct interpreter_thread){.state = php->walk.runtime};
    return memory_u64(&m, thread->state + php->layout->globals_frame) != 0;
}

/* --- The descriptor ----------------------------------------------------------------- */

static bool php_walk_layout(const struct interpreter_runtime *r,
                            struct interpreter_walk *walk)
{
    const struct php *php = r->data;
    *walk = php->walk;
    return true;
}

/* Prefixes of functions between a call in PHP and the called function or loop. zif_NAME and
 * zim_CLASS_NAME are functions that have frames of their own. */
static const char *const internal[] = {
    "php_cli",
    "php_execute_scripts",
    "php_execute_script",
    "zend_call_",
    "_call_user_function",
    "zend_execute",
    "zend_fiber_execute",
    "zend_user_it_",
    "zif_",
    "zim_",
};

static enum interpreter_native php_native(struct str function)
{
    if (str_starts(function, STR("execute_ex")))
        return NATIVE_LOOP;
    if (str_starts(function, STR("ZEND_")) && str_ends(function, STR("_HANDLER")))
        return NATIVE_INTERNAL; /* an instruction that is a function of its own */
    if (str_equal(function, STR("zend_execute")) ||
        str_equal(function, STR("zend_generator_resume")))
        return NATIVE_ENTERS;
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
        if (str_starts(function, str_of(internal[i])))
            return NATIVE_INTERNAL;
    return NATIVE_WORK;
}

const struct interpreter interpreter_php = {
    .name = "php",
    .title = "PHP",
    .file = "php",
    .splits_loop =
        true, /* instructions, or native functions, which have frames of their own */
    .prepares_calls = true, /* of closures and generators */
    .find = php_find,
    .thread = php_thread,
    .stack = php_stack,
    .native = php_native,
    .layout = php_walk_layout,
    .describe = php_describe,
};
