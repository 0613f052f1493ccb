/* foreread.emulator._linux: binds core/linux_*.h to Python. Checks arrays, releases the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays.h"
#include "core/linux/program.h"
#include "core/linux/run.h"
#include "core/linux/timed.h"

#include <stdlib.h>

/* The first arguments of both functions. */
enum { OPERATIONS, MAPPINGS, HANDLES, FILES, EXTENTS, RULES, MACHINE, COMMON };

#define COMMON_ARRAYS                                                                              \
    [OPERATIONS] = {.name = "operations",                                                          \
                    .formats = RECORDS,                                                            \
                    .itemsize = sizeof(struct lx_operation)},                                      \
    [MAPPINGS] = {.name = "mappings", .formats = RECORDS, .itemsize = sizeof(struct lx_mapping)},  \
    [HANDLES] = {.name = "handles", .formats = "IL", .itemsize = sizeof(uint32_t)},                \
    [FILES] = {.name = "files", .formats = RECORDS, .itemsize = sizeof(struct lx_file)},           \
    [EXTENTS] = {.name = "extents", .formats = RECORDS, .itemsize = sizeof(struct lx_extent)},     \
    [RULES] = {.name = "rules", .formats = "il", .itemsize = sizeof(int32_t)},                     \
    [MACHINE] = {.name = "machine", .formats = SIGNED, .itemsize = sizeof(int64_t)}

enum { GROUP = COMMON, WINDOWS, REQUESTS, PAGES, COUNTED };

static const struct array OF_EMULATE[COUNTED] = {
    COMMON_ARRAYS,
    [GROUP] = {.name = "group", .formats = "IL", .itemsize = sizeof(uint32_t)},
    [WINDOWS] = {.name = "windows", .formats = SIGNED, .itemsize = sizeof(int64_t)},
    [REQUESTS] = {.name = "requests",
                  .formats = SIGNED,
                  .itemsize = sizeof(int64_t),
                  .writable = true},
    [PAGES] = {.name = "pages", .formats = SIGNED, .itemsize = sizeof(int64_t), .writable = true},
};

enum { STEPS = COMMON, REPEATS, RECORDED, CASES, DEVICES, TIMES, ENDS, WORK, OVER, TIMED };

static const struct array OF_REPLAY[TIMED] = {
    COMMON_ARRAYS,
    [STEPS] = {.name = "steps", .formats = RECORDS, .itemsize = sizeof(struct lx_step)},
    [REPEATS] = {.name = "repeats", .formats = RECORDS, .itemsize = sizeof(struct lx_repeat)},
    [RECORDED] = {.name = "recorded", .formats = SIGNED, .itemsize = sizeof(int64_t)},
    [CASES] = {.name = "cases", .formats = RECORDS, .itemsize = sizeof(struct lx_case)},
    [DEVICES] = {.name = "devices", .formats = "d", .itemsize = sizeof(double)},
    [TIMES] = {.name = "times", .formats = "d", .itemsize = sizeof(double), .writable = true},
    [ENDS] = {.name = "ends", .formats = "d", .itemsize = sizeof(double), .writable = true},
    [WORK] = {.name = "work", .formats = SIGNED, .itemsize = sizeof(int64_t), .writable = true},
    [OVER] = {.name = "over", .formats = "d", .itemsize = sizeof(double), .writable = true},
};

static PyObject *
raise(int error)
{
    if (error == LX_NO_MEMORY)
        return PyErr_NoMemory();
    return raise_error(lx_message(error), lx_remedy(error));
}

static size_t
length(const Py_buffer *view)
{
    return (size_t)view->shape[0];
}

static struct lx_program
program_of(const Py_buffer *views)
{
    return (struct lx_program){
        .operations = views[OPERATIONS].buf,
        .n_operations = length(&views[OPERATIONS]),
        .mappings = views[MAPPINGS].buf,
        .n_mappings = length(&views[MAPPINGS]),
        .handles = views[HANDLES].buf,
        .n_handles = length(&views[HANDLES]),
        .files = views[FILES].buf,
        .n_files = length(&views[FILES]),
        .extents = views[EXTENTS].buf,
        .n_extents = length(&views[EXTENTS]),
    };
}

static bool
common_agree(const Py_buffer *views)
{
    return views[RULES].len == sizeof(struct lx_rules) &&
           views[MACHINE].len == sizeof(struct lx_machine);
}

static PyObject *
differ(void)
{
    PyErr_SetString(PyExc_ValueError, "arrays that belong together differ in length");
    return NULL;
}

static PyObject *
run_emulate(const Py_buffer *views, bool log)
{
    size_t windows = length(&views[WINDOWS]), counts = length(&views[PAGES]);
    if (!common_agree(views) || length(&views[GROUP]) != length(&views[FILES]) ||
        length(&views[REQUESTS]) != counts || !windows || counts % windows)
        return differ();
    struct lx_program program = program_of(views);
    program.group = views[GROUP].buf;
    program.n_groups = counts / windows;
    const struct lx_machine *machine = views[MACHINE].buf;
    program.by_file = !log && !machine->cache_pages;
    struct lx_counts counted = {
        .requests = views[REQUESTS].buf, .pages = views[PAGES].buf, .log = log};
    int error;
    Py_BEGIN_ALLOW_THREADS error =
        lx_emulate(&program, views[RULES].buf, machine, views[WINDOWS].buf, windows, &counted);
    Py_END_ALLOW_THREADS PyObject *inserts = NULL;
    if (!error)
        inserts =
            PyBytes_FromStringAndSize((const char *)counted.inserts,
                                      (Py_ssize_t)(counted.n_inserts * sizeof(*counted.inserts)));
    free(counted.inserts);
    return error ? raise(error) : inserts;
}

PyDoc_STRVAR(emulate_doc,
             "emulate(operations, mappings, handles, files, extents, rules, machine, group,\n"
             "        windows, requests, pages, log)\n\n"
             "Add to requests and pages (int64, by window and group) what is read; return the\n"
             "folios inserted (INSERT records as bytes) if log is true, else b''. If it is false,\n"
             "operations on one file must stand together.");

static PyObject *
emulate(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *o[COUNTED];
    Py_buffer views[COUNTED];
    int log;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5],
                          &o[6], &o[7], &o[8], &o[9], &o[10], &log) ||
        get_arrays(OF_EMULATE, o, views, COUNTED) < 0)
        return NULL;
    PyObject *inserts = run_emulate(views, log);
    release_arrays(views, COUNTED);
    return inserts;
}

/* Whether an array has ``each`` numbers of ``cases`` cases, or is empty, since it is not needed. */
static bool
is_of_cases(const Py_buffer *view, size_t each, size_t cases)
{
    return !length(view) || length(view) == each * cases;
}

static PyObject *
run_replay(const Py_buffer *views, double tail_ns, int64_t cpus, int64_t ends)
{
    size_t steps = length(&views[STEPS]), cases = length(&views[CASES]);
    size_t recorded = length(&views[RECORDED]), threads = length(&views[ENDS]);
    if (!common_agree(views) || !cases || length(&views[TIMES]) != LX_TIMES * cases ||
        threads % cases || !is_of_cases(&views[WORK], LX_WORK * steps, cases) ||
        !is_of_cases(&views[OVER], steps, cases) || recorded % LX_WORK ||
        recorded > LX_WORK * steps ||
        (recorded && recorded < LX_WORK * steps && !length(&views[REPEATS])))
        return differ();
    struct lx_program program = program_of(views);
    struct lx_timed_run run = {
        .steps = views[STEPS].buf,
        .n_steps = steps,
        .repeats = views[REPEATS].buf,
        .n_repeats = length(&views[REPEATS]),
        .tail_ns = tail_ns,
        .cpus = cpus,
        .ends = ends,
        .recorded = recorded ? views[RECORDED].buf : NULL,
        .n_recorded = recorded / LX_WORK,
    };
    struct lx_batch batch = {.cases = views[CASES].buf,
                             .n_cases = cases,
                             .devices = views[DEVICES].buf,
                             .n_devices = length(&views[DEVICES])};
    struct lx_timed result = {.times = views[TIMES].buf,
                              .ends_ns = views[ENDS].buf,
                              .n_ends = threads / cases,
                              .work = length(&views[WORK]) ? views[WORK].buf : NULL,
                              .over_ns = length(&views[OVER]) ? views[OVER].buf : NULL};
    int error;
    Py_BEGIN_ALLOW_THREADS error =
        lx_replay(&program, views[RULES].buf, views[MACHINE].buf, &run, &batch, &result);
    Py_END_ALLOW_THREADS if (error) return raise(error);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(replay_doc,
             "replay(operations, mappings, handles, files, extents, rules, machine, steps,\n"
             "       repeats, recorded, cases, devices, times, ends, work, over, tail_ns, cpus,\n"
             "       last)\n\n"
             "Replay steps (STEP) in time, case by case (CASE): under its window, on its device\n"
             "(kind and numbers in devices). repeats: threads of loads (REPEAT). recorded: work\n"
             "as recorded, of the steps without those of loads at least, or empty.\n"
             "Fill of each case in turn times (total, compute, waited, behind: ns), ends (ns, by\n"
             "thread), work (int64: requests, pages, sectors of compressed blocks by step) and\n"
             "over (ns, by step); an empty work or over is not filled. last: the thread whose end\n"
             "is the run's, or -1.");

static PyObject *
replay(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *o[TIMED];
    Py_buffer views[TIMED];
    double tail_ns;
    long long cpus, last;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOOOOOOdLL", &o[0], &o[1], &o[2], &o[3], &o[4],
                          &o[5], &o[6], &o[7], &o[8], &o[9], &o[10], &o[11], &o[12], &o[13], &o[14],
                          &o[15], &tail_ns, &cpus, &last) ||
        get_arrays(OF_REPLAY, o, views, TIMED) < 0)
        return NULL;
    PyObject *none = run_replay(views, tail_ns, cpus, last);
    release_arrays(views, TIMED);
    return none;
}

PyDoc_STRVAR(error_texts_doc,
             "error_texts()\n\nReturn (message, remedy) of each error of the core.");

static PyObject *
error_texts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return list_error_texts(LX_LAST_ERROR, lx_message, lx_remedy);
}

static PyMethodDef METHODS[] = {
    {.ml_name = "emulate", .ml_meth = emulate, .ml_flags = METH_VARARGS, .ml_doc = emulate_doc},
    {.ml_name = "replay", .ml_meth = replay, .ml_flags = METH_VARARGS, .ml_doc = replay_doc},
    {.ml_name = "error_texts",
     .ml_meth = error_texts,
     .ml_flags = METH_NOARGS,
     .ml_doc = error_texts_doc},
    {.ml_name = NULL},
};

static struct PyModuleDef MODULE = {.m_base = PyModuleDef_HEAD_INIT,
                                    .m_name = "foreread.emulator._linux",
                                    .m_size = 0,
                                    .m_methods = METHODS};

/* The names of the rules with those of their values, and of the machine's numbers, in order. */
#define QUOTED(...) #__VA_ARGS__
#define TEXT(...) QUOTED(__VA_ARGS__)
#define RULE_LINE(name, ...) #name ": " TEXT(__VA_ARGS__) "\n"
#define NUMBER_LINE(name) #name "\n"

PyMODINIT_FUNC
PyInit__linux(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    if (module && (PyModule_AddIntConstant(module, "MAX_WINDOW", LX_MAX_WINDOW) < 0 ||
                   PyModule_AddIntConstant(module, "INSERT_BYTES", sizeof(struct lx_insert)) < 0 ||
                   PyModule_AddStringConstant(module, "RULES", LX_EACH_RULE(RULE_LINE)) < 0 ||
                   PyModule_AddStringConstant(module, "NUMBERS", LX_EACH_NUMBER(NUMBER_LINE)) < 0))
        Py_CLEAR(module);
    return module;
}
