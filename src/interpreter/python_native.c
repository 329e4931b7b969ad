/* SPDX-License-Identifier: Apache-2.0 */
/* The roles of CPython's own native functions. */
#include "interpreter/python.h"

/* The loop, also its parts that a compiler split off: "_PyEval_EvalFrameDefault.cold". */
#define LOOP STR("_PyEval_EvalFrameDefault")

/* Prefixes of functions that do work of their own, although they begin with Py or _Py. */
static const char *const work[] = {
    "PyArg_",         "PyByteArray_",     "PyBytes_",       "PyDict_",
    "PyEval_Acquire", "PyEval_Restore",   "PyGC_",          "PyGILState_",
    "PyImport_",      "PyList_",          "PyLong_",        "PyMarshal_",
    "PyMem_",         "PyMutex_",         "PyNumber_",      "PyObject_Free",
    "PyObject_GC",    "PyObject_Malloc",  "PySequence_",    "PySet_",
    "PyThread_",      "PyTuple_",         "PyUnicode_",     "_PyBytes",
    "_PyDict",        "_PyGC_",           "_PyImport_",     "_PyList_",
    "_PyLong_",       "_PyMem_",          "_PyMutex_",      "_PyObject_Free",
    "_PyObject_GC",   "_PyObject_Malloc", "_PyParkingLot_", "_PySemaphore_",
    "_PySet_",        "_PyTime_",         "_PyTuple_",      "_PyUnicode",
    "_Py_Dealloc",
};

/* Prefixes of functions between a call in Python and the called function or loop. */
static const char *const internal[] = {
    "PyCFunction_",
    "_TAIL_CALL_",
    "builtin_exec",
    "builtin___build_class__",
    "call_function",
    "call_method",
    "cfunction_",
    "classmethod_",
    "context_run",
    "do_call_core",
    "fast_function",
    "function_code_fastcall",
    "gen_iternext",
    "gen_send_ex",
    "method_call",
    "method_vectorcall",
    "object_vacall",
    "partial_call",
    "partial_vectorcall",
    "pymain_",
    "pyrun_",
    "pythread_wrapper",
    "run_eval_code_obj",
    "run_mod",
    "slot_tp_",
    "thread_run",
    "trace_call_function",
    "type_call",
    "vectorcall_method",
    "wrap_",
    "_call_method",
    "vectorcall_maybe",
    "bounded_lru_cache_wrapper",
    "lru_cache_call",
    "cmpwrapper",
    "t_bootstrap",
};

static bool has_prefix(struct str name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(name, str_of(prefixes[i])))
            return true;
    return false;
}

enum interpreter_native python_native(struct str function)
{
    if (str_starts(function, LOOP) &&
        (function.len == LOOP.len || function.ptr[LOOP.len] == '.' ||
         function.ptr[LOOP.len] == ' '))
        return NATIVE_LOOP;
    if (has_prefix(function, internal, sizeof internal / sizeof *internal))
        return NATIVE_INTERNAL;
    if (has_prefix(function, work, sizeof work / sizeof *work))
        return NATIVE_WORK;
    return str_starts(function, STR("Py")) || str_starts(function, STR("_Py"))
               ? NATIVE_INTERNAL
               : NATIVE_WORK;
}
