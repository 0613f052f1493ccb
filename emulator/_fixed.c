/* foreread.emulator._fixed: binds core/fixed_window.h to Python. Checks arrays, releases the GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays.h"
#include "core/fixed/fixed_window.h"
#include "core/fixed/sweep_simd.h"

enum { FILE_ROW, PAGE, FILE_PAGES, REQUESTS, LOADED, ARRAYS };

static const struct array EXPECTED[ARRAYS] = {
    [FILE_ROW] = {.name = "file", .formats = "IL", .itemsize = sizeof(uint32_t)},
    [PAGE] = {.name = "page", .formats = "LQ", .itemsize = sizeof(uint64_t)},
    [FILE_PAGES] = {.name = "file_pages", .formats = "lq", .itemsize = sizeof(int64_t)},
    [REQUESTS] = {.name = "requests",
                  .formats = "lq",
                  .itemsize = sizeof(int64_t),
                  .writable = true},
    [LOADED] = {.name = "loaded", .formats = "lq", .itemsize = sizeof(int64_t), .writable = true},
};

static bool
lengths_agree(const Py_buffer *views)
{
    return views[FILE_ROW].shape[0] == views[PAGE].shape[0] &&
           views[REQUESTS].shape[0] == views[LOADED].shape[0] && views[LOADED].shape[0] > 0;
}

static PyObject *
raise(int error)
{
    if (error == FW_NO_MEMORY)
        return PyErr_NoMemory();
    return raise_error(fw_message(error), fw_remedy(error));
}

static PyObject *
run(const Py_buffer *views, enum fw_isa isa)
{
    struct fw_accesses accesses = {.file = views[FILE_ROW].buf,
                                   .page = views[PAGE].buf,
                                   .n = (size_t)views[PAGE].shape[0],
                                   .file_pages = views[FILE_PAGES].buf,
                                   .n_files = (size_t)views[FILE_PAGES].shape[0]};
    struct fw_counts counts = {
        .requests = views[REQUESTS].buf, .loaded = views[LOADED].buf, .tap = 0};
    Py_ssize_t windows = views[LOADED].shape[0];
    if (windows > FW_MAX_WINDOW + 1)
        return raise(FW_BAD_WINDOW);
    int error;
    Py_BEGIN_ALLOW_THREADS error = fw_run(&accesses, (uint32_t)(windows - 1), isa, &counts);
    Py_END_ALLOW_THREADS return error ? raise(error) : PyLong_FromLongLong(counts.tap);
}

static int
parse_isa(const char *name)
{
    static const char *const NAMES[] = {
        [FW_AUTO] = "auto", [FW_BASELINE] = "baseline", [FW_AVX2] = "avx2"};
    for (int isa = FW_AUTO; isa <= FW_AVX2; isa++)
        if (strcmp(name, NAMES[isa]) == 0)
            return isa;
    PyErr_Format(PyExc_ValueError, "unknown isa: %s", name);
    return -1;
}

PyDoc_STRVAR(fixed_window_doc,
             "fixed_window(file, page, file_pages, requests, loaded, isa)\n\n"
             "Fill requests and loaded (int64, one entry per window from 0); return Tap.");

static PyObject *
fixed_window(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[ARRAYS];
    Py_buffer views[ARRAYS];
    const char *isa_name;
    if (!PyArg_ParseTuple(arguments, "OOOOOs", &objects[FILE_ROW], &objects[PAGE],
                          &objects[FILE_PAGES], &objects[REQUESTS], &objects[LOADED], &isa_name))
        return NULL;
    int isa = parse_isa(isa_name);
    if (isa < 0 || get_arrays(EXPECTED, objects, views, ARRAYS) < 0)
        return NULL;
    PyObject *tap = NULL;
    if (lengths_agree(views))
        tap = run(views, (enum fw_isa)isa);
    else
        PyErr_SetString(PyExc_ValueError, "file and page, or requests and loaded, differ in "
                                          "length, or there is no window");
    release_arrays(views, ARRAYS);
    return tap;
}

PyDoc_STRVAR(error_texts_doc,
             "error_texts()\n\nReturn (message, remedy) of each error of the core.");

static PyObject *
error_texts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return list_error_texts(FW_LAST_ERROR, fw_message, fw_remedy);
}

PyDoc_STRVAR(has_avx2_doc, "has_avx2()\n\nReturn whether isa=\"avx2\" works here.");

static PyObject *
has_avx2(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyBool_FromLong(sweep_loop_for(FW_AVX2) != NULL);
}

static PyMethodDef METHODS[] = {
    {.ml_name = "fixed_window",
     .ml_meth = fixed_window,
     .ml_flags = METH_VARARGS,
     .ml_doc = fixed_window_doc},
    {.ml_name = "error_texts",
     .ml_meth = error_texts,
     .ml_flags = METH_NOARGS,
     .ml_doc = error_texts_doc},
    {.ml_name = "has_avx2", .ml_meth = has_avx2, .ml_flags = METH_NOARGS, .ml_doc = has_avx2_doc},
    {.ml_name = NULL},
};

static struct PyModuleDef MODULE = {.m_base = PyModuleDef_HEAD_INIT,
                                    .m_name = "foreread.emulator._fixed",
                                    .m_size = 0,
                                    .m_methods = METHODS};

PyMODINIT_FUNC
PyInit__fixed(void)
{
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddIntConstant(module, "MAX_WINDOW", FW_MAX_WINDOW) < 0)
        Py_CLEAR(module);
    return module;
}
