/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript: V8 in node. V8 defines variables with the offsets of its structures, for
 * debuggers: v8dbg_*. Their names change between versions. */
#include "interpreter/node.h"
#include "base/format.h"
#include <stddef.h>

/* Offsets that no variable contains, by version of V8; those of node 16, 18, 20, 22 and 24. Source:
 * bytecode-array.tq. */
static const struct {
    uint32_t major, minor;
    uint32_t bytecode_data, bytecode_positions;
} versions[] = {
    {9, 4, 54, 32}, {10, 2, 56, 32}, {11, 3, 54, 32}, {12, 4, 64, 24}, {13, 6, 64, 24},
};

/* A variable: its names in several versions, without v8dbg_. Without `required` it may be
 * absent, and its value is `otherwise`. */
struct variable {
    size_t field; /* of struct node_layout */
    bool required;
    uint32_t otherwise;
    const char *names[4];
};

#define FIELD(name) offsetof(struct node_layout, name)
#define SHARED "class_SharedFunctionInfo__"

static const struct variable variables[] = {
    {FIELD(tagged_size), true, 0, {"TaggedSize"}},
    {FIELD(number_shift), true, 0, {"SmiShiftSize"}},
    {FIELD(map_type), true, 0, {"class_Map__instance_type__uint16_t"}},
    {FIELD(function_shared), true, 0, {"class_JSFunction__shared__SharedFunctionInfo"}},
    {FIELD(shared_data), false, 8, {SHARED "function_data__Object"}},
    {FIELD(shared_name),
     true,
     0,
     {SHARED "name_or_scope_info__Object", SHARED "name_or_scope_info__Tagged_Object_",
      SHARED "name_or_scope_info__Tagged_NameOrScopeInfoT_"}},
    {FIELD(shared_script),
     true,
     0,
     {SHARED "script_or_debug_info__HeapObject", SHARED "script__Tagged_HeapObject_"}},
    {FIELD(shared_flags), true, 0, {SHARED "flags__int"}},
    {FIELD(script_name), true, 0, {"class_Script__name__Object"}},
    {FIELD(script_line_ends), true, 0, {"class_Script__line_ends__Object"}},
    {FIELD(string_length), true, 0, {"class_String__length__int32_t"}},
    {FIELD(string_one), true, 0, {"class_SeqOneByteString__chars__char"}},
    {FIELD(string_two), true, 0, {"class_SeqTwoByteString__chars__char"}},
    {FIELD(cons_first), true, 0, {"class_ConsString__first__String"}},
    {FIELD(cons_second), true, 0, {"class_ConsString__second__String"}},
    {FIELD(sliced_parent), true, 0, {"class_SlicedString__parent__String"}},
    {FIELD(sliced_offset), true, 0, {"class_SlicedString__offset__SMI"}},
    {FIELD(thin_actual), true, 0, {"class_ThinString__actual__String"}},
    {FIELD(external_resource), true, 0, {"class_ExternalString__resource__Object"}},
    {FIELD(array_length), true, 0, {"class_FixedArrayBase__length__SMI"}},
    {FIELD(array_data), true, 0, {"class_FixedArray__data__uintptr_t"}},
    {FIELD(scope_locals), true, 0, {"scopeinfo_idx_ncontextlocals"}},
    {FIELD(scope_variables), true, 0, {"scopeinfo_idx_first_vars"}},
    {FIELD(shared), true, 0, {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}},
    {FIELD(script), true, 0, {"type_Script__SCRIPT_TYPE"}},
    {FIELD(bytecode), true, 0, {"type_BytecodeArray__BYTECODE_ARRAY_TYPE"}},
    {FIELD(scope), true, 0, {"type_ScopeInfo__SCOPE_INFO_TYPE"}},
    {FIELD(byte_array), true, 0, {"type_ByteArray__BYTE_ARRAY_TYPE"}},
    {FIELD(trusted_byte_array),
     false,
     UINT32_MAX - 1,
     {"type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE"}},
    {FIELD(interpreter_data), true, 0, {"type_InterpreterData__INTERPRETER_DATA_TYPE"}},
    {FIELD(first_nonstring), true, 0, {"FirstNonstringType"}},
    {FIELD(fp_context), true, 0, {"off_fp_context"}},
    {FIELD(fp_function), true, 0, {"off_fp_function"}},
    {FIELD(fp_bytecode), false, (uint32_t)-32, {"off_fp_bytecode_array"}},
    {FIELD(fp_instruction), false, (uint32_t)-40, {"off_fp_bytecode_offset"}},
};

/* No offset is larger; those from the frame pointer are not lower. */
#define OFFSET_MAX 4096
#define FRAME_MAX 64

/* Without compressed pointers, numbers are the upper half of a word. */
#define NUMBER_SHIFT 31

/* --- The layout --------------------------------------------------------------------- */

static bool find_variable(const struct interpreter_runtime *r, struct memory *m,
                          const char *name, uint32_t *value)
{
    const struct interpreter_access *a = r->access;
    char symbol[96];
    uint64_t address;
    format_text(symbol, sizeof symbol, "v8dbg_%s", name);
    if (!a->symbol(a->context, r->module, str_of(symbol), &address))
        return false;
    *value = memory_u32(m, address);
    return !m->failed;
}

static bool read_variables(const struct interpreter_runtime *r, struct memory *m,
                           struct node_layout *l, struct error *err)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const struct variable *v = &variables[i];
        uint32_t value = v->otherwise;
        bool found = false;
        for (size_t k = 0; k < sizeof v->names / sizeof *v->names && v->names[k]; k++)
            found = found || find_variable(r, m, v->names[k], &value);
        if (m->failed)
            return error_set(err, "the memory of V8 %s in %.*s is not readable",
                             r->version, STR_ARG(r->access->modules[r->module]));
        if (v->required && !found)
            return error_set(err, "V8 %s in %.*s does not define v8dbg_%s", r->version,
                             STR_ARG(r->access->modules[r->module]), v->names[0]);
        memcpy((char *)l + v->field, &value, sizeof value);
    }
    return true;
}

static bool is_frame_offset(uint32_t offset)
{
    return offset >= (uint32_t)-FRAME_MAX && offset % NODE_WORD == 0;
}

/* Whether the values are possible. */
static bool check_layout(const struct interpreter_runtime *r, const struct node_layout *l,
                         struct error *err)
{
    const uint32_t offsets[] = {
        l->map_type,      l->function_shared, l->shared_data,       l->shared_name,
        l->shared_script, l->shared_flags,    l->script_name,       l->script_line_ends,
        l->string_length, l->string_one,      l->string_two,        l->cons_first,
        l->cons_second,   l->sliced_parent,   l->sliced_offset,     l->thin_actual,
        l->array_length,  l->array_data,      l->external_resource, l->scope_locals,
        l->bytecode_data, l->scope_variables, l->first_nonstring,
    };
    if (l->tagged_size != NODE_WORD || l->number_shift != NUMBER_SHIFT)
        return error_set(err, "V8 %s with compressed pointers is not supported",
                         r->version);
    bool ok = is_frame_offset(l->fp_context) && is_frame_offset(l->fp_function) &&
              is_frame_offset(l->fp_bytecode) && is_frame_offset(l->fp_instruction);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        ok &= offsets[i] <= OFFSET_MAX;
    return ok || error_set(err, "the variables v8dbg_* of V8 %s in %.*s are corrupt",
                           r->version, STR_ARG(r->access->modules[r->module]));
}

static uint32_t lowest(const struct node_layout *l)
{
    const uint32_t offsets[] = {l->fp_context, l->fp_function, l->fp_bytecode,
                                l->fp_instruction};
    uint32_t low = (uint32_t)-NODE_WORD;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        low = offsets[i] < low ? offsets[i] : low;
    return low;
}

static void make_walk(struct node *node)
{
    const struct node_layout *l = &node->layout;
    uint32_t before = 0u - lowest(l), tag = (uint32_t)NODE_TAG;
    node->walk = (struct interpreter_walk){
        .form = INTERPRETER_WALK_CHAIN,
        .thread_tid = INTERPRETER_WALK_ABSENT,
        .cframe_frame = INTERPRETER_WALK_ABSENT,
        .frame_owner = INTERPRETER_WALK_ABSENT,
        .frame_is_entry = INTERPRETER_WALK_ABSENT,
        .code_start = INTERPRETER_WALK_ABSENT,
        .frame_before = before,
        .frame_size = before + 2 * NODE_WORD,
        .frame_previous = before,
        .frame_code = before + l->fp_function,
        .frame_environment = before + l->fp_context,
        .frame_bytecode = before + l->fp_bytecode,
        .frame_instruction = before + l->fp_instruction,
        .map_type = l->map_type - tag,
        .type_code = l->shared,
        .type_bytecode = l->bytecode,
        .code_body = l->function_shared - tag,
        .code_data = l->shared_data - tag,
        .code_lines = l->shared_script - tag,
        /* the number of the function in its script */
        .code_first_line = l->shared_flags + 4 - tag,
    };
}

/* --- The runtime -------------------------------------------------------------------- */

/* Finds the module that defines the runtime: the executable or a library. */
static bool find_module(struct interpreter_runtime *r, uint64_t *major)
{
    const struct interpreter_access *a = r->access;
    for (size_t i = 0; i < a->module_count; i++) {
        r->module = i;
        if ((i == 0 || str_has(str_basename(a->modules[i]), STR("node"))) &&
            a->symbol(a->context, i, STR("_ZN2v88internal7Version6major_E"), major))
            return true;
    }
    return false;
}

/* A number of the version; 0 if it is not defined. */
static uint32_t version_number(const struct interpreter_runtime *r, struct memory *m,
                               const char *symbol)
{
    const struct interpreter_access *a = r->access;
    uint64_t address;
    if (!a->symbol(a->context, r->module, str_of(symbol), &address))
        return 0;
    return memory_u32(m, address);
}

static bool find_version(struct interpreter_runtime *r, struct memory *m, uint64_t at,
                         struct error *err)
{
    struct node *node = r->data;
    uint32_t major = memory_u32(m, at);
    uint32_t minor = version_number(r, m, "_ZN2v88internal7Version6minor_E");
    uint32_t build = version_number(r, m, "_ZN2v88internal7Version6build_E");
    if (m->failed)
        return error_set(err, "the version of V8 in %.*s is unknown",
                         STR_ARG(r->access->modules[r->module]));
    format_text(r->version, sizeof r->version, "%u.%u.%u", major, minor, build);
    if (r->access->machine != ARCH_X86_64)
        return error_set(err, "V8 %s is supported on x86-64 only", r->version);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (versions[i].major != major || versions[i].minor != minor)
            continue;
        node->layout.bytecode_data = versions[i].bytecode_data;
        node->layout.bytecode_positions = versions[i].bytecode_positions;
        format_text(r->offsets, sizeof r->offsets, "symbols v8dbg_*");
        return true;
    }
    return error_set(err,
                     "V8 %s is not supported: those of node 16, 18, 20, 22 and 24 are",
                     r->version);
}

static enum interpreter_found node_find(struct interpreter_runtime *r, struct error *err)
{
    struct memory m = memory_of(r->access);
    struct node *node = arena_zalloc(r->arena, 1, sizeof *node);
    uint64_t major;
    if (!node) {
        error_memory(err);
        return INTERPRETER_REFUSED;
    }
    r->data = node;
    if (!find_module(r, &major))
        return INTERPRETER_ABSENT;
    if (!find_version(r, &m, major, err) || !read_variables(r, &m, &node->layout, err) ||
        !check_layout(r, &node->layout, err))
        return INTERPRETER_REFUSED;
    make_walk(node);
    return INTERPRETER_FOUND;
}

/* --- The descriptor ----------------------------------------------------------------- */

/* A thread has no structure: its frames are those of its registers. */
static bool node_thread(const struct interpreter_runtime *r,
                        const struct interpreter_thread_ids *ids,
                        struct interpreter_thread *thread)
{
    (void)r;
    *thread = (struct interpreter_thread){
        .frame = ids->frame, .pc = ids->pc, .stack = ids->stack};
    return ids->pc != 0;
}

static bool node_layout(const struct interpreter_runtime *r,
                        struct interpreter_walk *walk)
{
    const struct node *node = r->data;
    *walk = node->walk;
    return true;
}

/* Prefixes of functions between a call and the called function. */
static const char *const internal[] = {
    "Builtins_Call",
    "Builtins_CEntry",
    "Builtins_Construct",
    "Builtins_InterpreterPushArgs",
    "Builtins_JSConstruct",
    "Builtins_JSEntry",
    "Builtins_JSRunMicrotasksEntry",
    "_ZN2v88internal12_GLOBAL__N_16Invoke",
    "_ZN2v88internal9Execution",
    "v8::internal::(anonymous namespace)::Invoke",
    "v8::internal::Execution::",
};

static enum interpreter_native node_native(struct str function)
{
    if (str_starts(function, STR("Builtins_InterpreterEntryTrampoline")) ||
        str_starts(function, STR("Builtins_BaselineOrInterpreter")))
        return NATIVE_LOOP;
    for (size_t i = 0; i < sizeof internal / sizeof *internal; i++)
        if (str_starts(function, str_of(internal[i])))
            return NATIVE_INTERNAL;
    return NATIVE_WORK;
}

const struct interpreter interpreter_node = {
    .name = "node",
    .title = "V8",
    .file = "node",
    .find = node_find,
    .thread = node_thread,
    .stack = node_stack,
    .native = node_native,
    .layout = node_layout,
    .describe = node_describe,
};
