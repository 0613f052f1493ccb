/* emulator._linux: binds core/linux_kernel.h to Python. Checks arrays, releases the GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "linux_kernel.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>

struct array {
    const char *name;
    Py_ssize_t itemsize;
    bool writable;
};

enum {
    OPERATIONS,
    MAPPINGS,
    HANDLES,
    FILES,
    EXTENTS,
    GROUP,
    RULES,
    MACHINE,
    WINDOWS,
    REQUESTS,
    PAGES,
    ARRAYS
};

static const struct array EXPECTED[ARRAYS] = {
    [OPERATIONS] = {"operations", sizeof(struct lx_operation), false},
    [MAPPINGS] = {"mappings", sizeof(struct lx_mapping), false},
    [HANDLES] = {"handles", sizeof(uint32_t), false},
    [FILES] = {"files", sizeof(struct lx_file), false},
    [EXTENTS] = {"extents", sizeof(struct lx_extent), false},
    [GROUP] = {"group", sizeof(uint32_t), false},
    [RULES] = {"rules", sizeof(int32_t), false},
    [MACHINE] = {"machine", sizeof(int64_t), false},
    [WINDOWS] = {"windows", sizeof(int64_t), false},
    [REQUESTS] = {"requests", sizeof(int64_t), true},
    [PAGES] = {"pages", sizeof(int64_t), true},
};

/* Get a contiguous, aligned, one-dimensional view; -1 with an exception. */
static int
get_array(const struct array *expected, PyObject *object, Py_buffer *view)
{
    int flags = expected->writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO;
    if (PyObject_GetBuffer(object, view, flags) < 0)
        return -1;
    size_t alignment = expected->itemsize == sizeof(uint32_t) ? 4 : 8;
    if (view->ndim == 1 && view->itemsize == expected->itemsize &&
        (uintptr_t)view->buf % alignment == 0)
        return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s: expected an aligned one-dimensional array of items of %zd bytes",
                 expected->name, expected->itemsize);
    PyBuffer_Release(view);
    return -1;
}

static void
release_arrays(Py_buffer *views, int n)
{
    while (n-- > 0)
        PyBuffer_Release(&views[n]);
}

static int
get_arrays(PyObject *const *objects, Py_buffer *views)
{
    for (int i = 0; i < ARRAYS; i++) {
        if (get_array(&EXPECTED[i], objects[i], &views[i]) < 0) {
            release_arrays(views, i);
            return -1;
        }
    }
    return 0;
}

static bool
lengths_agree(const Py_buffer *views)
{
    return views[GROUP].shape[0] == views[FILES].shape[0] &&
           views[REQUESTS].shape[0] == views[PAGES].shape[0] && views[WINDOWS].shape[0] > 0 &&
           views[PAGES].shape[0] % views[WINDOWS].shape[0] == 0 &&
           views[RULES].len == sizeof(struct lx_rules) &&
           views[MACHINE].len == sizeof(struct lx_machine);
}

static PyObject *
raise(int error)
{
    if (error == LX_NO_MEMORY)
        return PyErr_NoMemory();
    PyObject *arguments = Py_BuildValue("(ss)", lx_message(error), lx_remedy(error));
    if (arguments)
        PyErr_SetObject(PyExc_ValueError, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *
run(const Py_buffer *views, bool log)
{
    struct lx_program program = {
        views[OPERATIONS].buf,
        (size_t)views[OPERATIONS].shape[0],
        views[MAPPINGS].buf,
        (size_t)views[MAPPINGS].shape[0],
        views[HANDLES].buf,
        (size_t)views[HANDLES].shape[0],
        views[FILES].buf,
        (size_t)views[FILES].shape[0],
        views[EXTENTS].buf,
        (size_t)views[EXTENTS].shape[0],
        views[GROUP].buf,
        (size_t)(views[PAGES].shape[0] / views[WINDOWS].shape[0]),
        !log,
    };
    struct lx_counts counts = {
        .requests = views[REQUESTS].buf, .pages = views[PAGES].buf, .log = log};
    int error;
    Py_BEGIN_ALLOW_THREADS error =
        lx_emulate(&program, views[RULES].buf, views[MACHINE].buf, views[WINDOWS].buf,
                   (size_t)views[WINDOWS].shape[0], &counts);
    Py_END_ALLOW_THREADS PyObject *inserts = NULL;
    if (!error)
        inserts = PyBytes_FromStringAndSize(
            (const char *)counts.inserts, (Py_ssize_t)(counts.n_inserts * sizeof(*counts.inserts)));
    free(counts.inserts);
    return error ? raise(error) : inserts;
}

PyDoc_STRVAR(emulate_doc,
             "emulate(operations, mappings, handles, files, extents, group, rules, machine,\n"
             "        windows, requests, pages, log)\n\n"
             "Add to requests and pages (int64, by window and group) what is read; return the\n"
             "folios inserted (INSERT records as bytes) if log is true, else b''. If it is false,\n"
             "operations on one file must stand together.");

static PyObject *
emulate(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *o[ARRAYS];
    Py_buffer views[ARRAYS];
    int log;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5],
                          &o[6], &o[7], &o[8], &o[9], &o[10], &log))
        return NULL;
    if (get_arrays(o, views) < 0)
        return NULL;
    PyObject *inserts = NULL;
    if (lengths_agree(views))
        inserts = run(views, log);
    else
        PyErr_SetString(PyExc_ValueError, "arrays that belong together differ in length");
    release_arrays(views, ARRAYS);
    return inserts;
}

PyDoc_STRVAR(error_texts_doc,
             "error_texts()\n\nReturn (message, remedy) of each error of the core.");

static PyObject *
error_texts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    PyObject *texts = PyList_New(0);
    for (int error = -1; texts && error >= LX_LAST_ERROR; error--) {
        PyObject *text = Py_BuildValue("(ss)", lx_message(error), lx_remedy(error));
        if (!text || PyList_Append(texts, text) < 0)
            Py_CLEAR(texts);
        Py_XDECREF(text);
    }
    return texts;
}

static PyMethodDef METHODS[] = {
    {"emulate", emulate, METH_VARARGS, emulate_doc},
    {"error_texts", error_texts, METH_NOARGS, error_texts_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "emulator._linux", .m_size = 0,
                                    .m_methods = METHODS};

PyMODINIT_FUNC
PyInit__linux(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddIntConstant(module, "MAX_WINDOW", LX_MAX_WINDOW) < 0)
        Py_CLEAR(module);
    return module;
}
