/* Bindings of the format parser, and the core's messages. */
#include "_bind.h"
#include "formats.h"

#include <stdlib.h>
#include <string.h>

static PyObject *
field_tuple(const struct fmt_field *f)
{
    return Py_BuildValue("(IIsIII)", f->event, f->id, f->name, f->offset, f->size, f->flags);
}

static PyObject *
field_list(const struct fmt_fields *fields)
{
    PyObject *list = PyList_New((Py_ssize_t)fields->n);

    for (size_t i = 0; list != NULL && i < fields->n; i++) {
        PyObject *row = field_tuple(&fields->items[i]);
        if (row == NULL || PyList_SetItem(list, (Py_ssize_t)i, row) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static bool
texts_from(PyObject *tuple, struct fmt_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *text;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), &text, &size) != 0)
            return false;
        texts[i] = (struct fmt_text){.text = text, .size = (size_t)size};
    }
    return true;
}

static PyObject *
parse_formats(PyObject *self, PyObject *args)
{
    struct fmt_fields fields = {.items = NULL, .n = 0, .capacity = 0, .failed = 0};
    struct fmt_target target;
    struct fmt_text *texts = NULL;
    PyObject *tuple, *result = NULL;
    int big_endian, ret;
    size_t n;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!ip:parse_formats", &PyTuple_Type, &tuple, &target.long_size,
                          &big_endian))
        return NULL;
    target.big_endian = big_endian != 0;
    n = (size_t)PyTuple_Size(tuple);
    texts = calloc(n + 1, sizeof(*texts));
    if (texts == NULL)
        return PyErr_NoMemory();
    if (!texts_from(tuple, texts, n))
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    ret = fmt_fields_alloc(&fields, texts, n, target);
    Py_END_ALLOW_THREADS;
    if (ret == EV_OK)
        result = field_list(&fields);
    else if (ret == EV_ERR_NO_MEMORY)
        bind_raise_error(ret);
    else /* which text it was lets the caller name the event */
        result = Py_BuildValue("(Is)", fields.failed, ev_message(ret));
out:
    fmt_fields_free(&fields);
    free(texts);
    return result;
}

static PyObject *
error_messages(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);

    (void)self;
    (void)args;
    for (int code = EV_OK; list != NULL && code > EV_ERR_LAST; code--) {
        PyObject *message = PyUnicode_FromString(ev_message(code));
        if (message == NULL || PyList_Append(list, message) != 0)
            Py_CLEAR(list);
        Py_XDECREF(message);
    }
    return list;
}

PyMethodDef bind_format_functions[] = {
    {.ml_name = "parse_formats", .ml_meth = parse_formats, .ml_flags = METH_VARARGS},
    {.ml_name = "error_messages", .ml_meth = error_messages, .ml_flags = METH_NOARGS},
    {.ml_name = NULL},
};
