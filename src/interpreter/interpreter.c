/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreter/interpreter.h"

#define INTERPRETER(name) extern const struct interpreter interpreter_##name;
#include "interpreter/interpreters.def"
#undef INTERPRETER

#define INTERPRETER(name) &interpreter_##name,
const struct interpreter *const interpreters[] = {
#include "interpreter/interpreters.def"
    NULL};
#undef INTERPRETER

enum interpreter_found interpreter_find(const struct interpreter *interpreter,
                                        const struct interpreter_access *access,
                                        struct arena *arena,
                                        struct interpreter_runtime *r, struct error *err)
{
    *r = (struct interpreter_runtime){
        .interpreter = interpreter, .access = access, .arena = arena};
    return interpreter->find(r, err);
}
