/* Arrays passed from Python: the types that a binding expects, and views of its arguments. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include <Python.h>

#include <stdbool.h>
#include <string.h>

/*
 * ``formats``: struct module letters of the one kind of number accepted; NULL for records.
 * ``itemsize`` in bytes.
 */
struct array {
    const char *name;
    const char *formats;
    Py_ssize_t itemsize;
    bool writable;
};

#define SIGNED "lq"
#define RECORDS NULL

static inline bool
is_expected(const struct array *expected, const Py_buffer *view)
{
    const char *format = view->format ? view->format : "B";
    if (view->ndim != 1 || view->itemsize != expected->itemsize)
        return false;
    if (!expected->formats)
        return *format == 'T'; /* T{…}: its fields are the caller's to check */
    format += *format == '@' || *format == '=';
    return strlen(format) == 1 && strchr(expected->formats, *format);
}

static inline bool
is_aligned(const struct array *expected, const Py_buffer *view)
{
    size_t alignment = expected->formats ? (size_t)expected->itemsize : sizeof(uint64_t);
    return (uintptr_t)view->buf % alignment == 0;
}

static inline void
refuse(const struct array *expected)
{
    const char *kind = "int";
    if (!expected->formats)
        kind = "record";
    else if (strchr(expected->formats, 'd'))
        kind = "float";
    else if (strpbrk(expected->formats, "BILQ"))
        kind = "uint";
    PyErr_Format(PyExc_TypeError, "%s: expected an aligned one-dimensional %s%d array",
                 expected->name, kind, (int)expected->itemsize * 8);
}

/* Get a contiguous, aligned, one-dimensional view of the expected type; -1 with an exception. */
static inline int
get_array(const struct array *expected, PyObject *object, Py_buffer *view)
{
    int flags = (expected->writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) | PyBUF_FORMAT;
    if (PyObject_GetBuffer(object, view, flags) < 0)
        return -1;
    if (is_expected(expected, view) && is_aligned(expected, view))
        return 0;
    refuse(expected);
    PyBuffer_Release(view);
    return -1;
}

static inline void
release_arrays(Py_buffer *views, int n)
{
    while (n-- > 0)
        PyBuffer_Release(&views[n]);
}

/* Get ``n`` views, all or none. */
static inline int
get_arrays(const struct array *expected, PyObject *const *objects, Py_buffer *views, int n)
{
    for (int i = 0; i < n; i++) {
        if (get_array(&expected[i], objects[i], &views[i]) < 0) {
            release_arrays(views, i);
            return -1;
        }
    }
    return 0;
}

/* Raise ValueError(message, remedy). */
static inline PyObject *
raise_error(const char *message, const char *remedy)
{
    PyObject *arguments = Py_BuildValue("(ss)", message, remedy);
    if (arguments)
        PyErr_SetObject(PyExc_ValueError, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

/* The texts of a core's errors, -1 to ``last``, as a list of (message, remedy). */
static inline PyObject *
list_error_texts(int last, const char *(*message)(int), const char *(*remedy)(int))
{
    PyObject *texts = PyList_New(0);
    for (int error = -1; texts && error >= last; error--) {
        PyObject *text = Py_BuildValue("(ss)", message(error), remedy(error));
        if (!text || PyList_Append(texts, text) < 0)
            Py_CLEAR(texts);
        Py_XDECREF(text);
    }
    return texts;
}

#endif
