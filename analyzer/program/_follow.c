/* foreread.analyzer.program._follow: binds core/follow.h to Python. Checks arrays, releases the
 * GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays.h"
#include "follow.h"

enum { MOMENTS, INSERTED, SEGMENTS, CACHED, SIZES, FLAGS, ARRAYS };

static const struct array OF_FOLLOW[ARRAYS] = {
    [MOMENTS] = {.name = "moments", .formats = RECORDS, .itemsize = sizeof(struct fw_moment)},
    [INSERTED] = {.name = "inserted", .formats = RECORDS, .itemsize = sizeof(struct fw_inserted)},
    [SEGMENTS] = {.name = "segments", .formats = RECORDS, .itemsize = sizeof(struct fw_piece)},
    [CACHED] = {.name = "cached", .formats = RECORDS, .itemsize = sizeof(struct fw_piece)},
    [SIZES] = {.name = "sizes", .formats = SIGNED, .itemsize = sizeof(int64_t)},
    [FLAGS] = {.name = "flags", .formats = "B", .itemsize = sizeof(uint8_t)},
};

static size_t
length(const Py_buffer *view)
{
    return (size_t)view->shape[0];
}

static PyObject *
raise(int error)
{
    if (error == FW_NO_MEMORY)
        return PyErr_NoMemory();
    return raise_error(fw_message(error), fw_remedy(error));
}

static PyObject *
as_bytes(const void *items, size_t n, size_t size)
{
    return PyBytes_FromStringAndSize(items, (Py_ssize_t)(n * size));
}

/* The program as a tuple of bytes, counts last. */
static PyObject *
as_tuple(const struct fw_program *p)
{
    return Py_BuildValue("(NNNNNN)",
                         as_bytes(p->operations, p->n_operations, sizeof(*p->operations)),
                         as_bytes(p->times, p->n_operations, sizeof(*p->times)),
                         as_bytes(p->mappings, p->n_mappings, sizeof(*p->mappings)),
                         as_bytes(p->handles, p->n_handles, sizeof(*p->handles)),
                         as_bytes(p->holes, p->n_holes, sizeof(*p->holes)),
                         as_bytes(p->assumed, FW_N_ASSUMED, sizeof(*p->assumed)));
}

static PyObject *
run_follow(const Py_buffer *views, int64_t page_size, uint32_t shown)
{
    struct fw_evidence evidence = {
        .moments = views[MOMENTS].buf,
        .n_moments = length(&views[MOMENTS]),
        .inserted = views[INSERTED].buf,
        .n_inserted = length(&views[INSERTED]),
        .segments = views[SEGMENTS].buf,
        .n_segments = length(&views[SEGMENTS]),
        .cached = views[CACHED].buf,
        .n_cached = length(&views[CACHED]),
        .sizes = views[SIZES].buf,
        .flags = views[FLAGS].buf,
        .n_files = length(&views[SIZES]),
        .page_size = page_size,
        .shown = shown,
    };
    struct fw_program program;
    int error;

    if (length(&views[FLAGS]) != evidence.n_files) {
        PyErr_SetString(PyExc_ValueError, "arrays that belong together differ in length");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS error = fw_follow(&evidence, &program);
    Py_END_ALLOW_THREADS PyObject *found = error ? raise(error) : as_tuple(&program);

    fw_free_program(&program);
    return found;
}

PyDoc_STRVAR(follow_doc,
             "follow(moments, inserted, segments, cached, sizes, flags, page_size, shown)\n\n"
             "Return operations (OPERATION), their times (u8), mappings (MAPPING), handles (u4),\n"
             "holes (HOLE) and what was assumed (i8), as bytes.");

static PyObject *
follow(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *o[ARRAYS];
    Py_buffer views[ARRAYS];
    long long page_size;
    unsigned shown;

    if (!PyArg_ParseTuple(arguments, "OOOOOOLI", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5],
                          &page_size, &shown) ||
        get_arrays(OF_FOLLOW, o, views, ARRAYS) < 0)
        return NULL;
    PyObject *found = run_follow(views, page_size, shown);

    release_arrays(views, ARRAYS);
    return found;
}

PyDoc_STRVAR(error_texts_doc,
             "error_texts()\n\nReturn (message, remedy) of each error of the core.");

static PyObject *
error_texts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return list_error_texts(FW_LAST_ERROR, fw_message, fw_remedy);
}

static PyMethodDef METHODS[] = {
    {.ml_name = "follow", .ml_meth = follow, .ml_flags = METH_VARARGS, .ml_doc = follow_doc},
    {.ml_name = "error_texts",
     .ml_meth = error_texts,
     .ml_flags = METH_NOARGS,
     .ml_doc = error_texts_doc},
    {.ml_name = NULL},
};

static struct PyModuleDef MODULE = {.m_base = PyModuleDef_HEAD_INIT,
                                    .m_name = "foreread.analyzer.program._follow",
                                    .m_size = 0,
                                    .m_methods = METHODS};

PyMODINIT_FUNC
PyInit__follow(void)
{
    return PyModule_Create(&MODULE);
}
