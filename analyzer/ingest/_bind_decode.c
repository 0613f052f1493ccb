/* Bindings shared by all containers: sorting, decoding, fields on demand. */
#include "_bind_decode.h"
#include "fields.h"

#include <stdlib.h>
#include <string.h>

struct runs_arrays {
    struct array places, starts;
    struct ev_runs runs;
};

static bool
runs_acquire(struct runs_arrays *r, PyObject *places, PyObject *starts, bool writable)
{
    if (!bind_array_acquire(&r->places, places, "places", "T", sizeof(struct ev_place), writable) ||
        !bind_array_acquire(&r->starts, starts, "starts", "LQ", 8, false))
        return false;
    if (bind_array_length(&r->starts) == 0) {
        PyErr_SetString(PyExc_ValueError, "starts: expected at least one value");
        return false;
    }
    r->runs.places = r->places.view.buf;
    r->runs.n_places = bind_array_length(&r->places);
    r->runs.starts = r->starts.view.buf;
    r->runs.n = bind_array_length(&r->starts) - 1;
    return true;
}

static void
runs_release(struct runs_arrays *r)
{
    bind_array_release(&r->places);
    bind_array_release(&r->starts);
}

static PyObject *
sort_runs(PyObject *self, PyObject *args)
{
    struct runs_arrays r = {0};
    PyObject *places, *starts;
    int ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO:sort_runs", &places, &starts))
        return NULL;
    if (runs_acquire(&r, places, starts, true)) {
        Py_BEGIN_ALLOW_THREADS;
        ret = ev_sort_runs(&r.runs);
        Py_END_ALLOW_THREADS;
        if (ret != EV_OK)
            bind_raise_error(ret);
    }
    runs_release(&r);
    if (ret != EV_OK)
        return NULL;
    Py_RETURN_NONE;
}

bool
bind_columns_acquire(struct array *arrays, PyObject *tuple, struct ev_columns *columns)
{
    static const struct {
        const char *name, *codes;
        int size;
    } kinds[N_COLUMNS] = {
        {.name = "time_ns", .codes = "LQ", .size = 8}, {.name = "cpu", .codes = "H", .size = 2},
        {.name = "kind", .codes = "B", .size = 1},     {.name = "pid", .codes = "i", .size = 4},
        {.name = "dev", .codes = "I", .size = 4},      {.name = "ino", .codes = "LQ", .size = 8},
        {.name = "index", .codes = "LQ", .size = 8},   {.name = "value", .codes = "LQ", .size = 8},
        {.name = "flags", .codes = "H", .size = 2},
    };

    if (PyTuple_Size(tuple) != N_COLUMNS) {
        PyErr_SetString(PyExc_TypeError, "columns: expected the 9 columns of EVENTS");
        return false;
    }
    for (int i = 0; i < N_COLUMNS; i++) {
        if (!bind_array_acquire(&arrays[i], PyTuple_GetItem(tuple, i), kinds[i].name,
                                kinds[i].codes, kinds[i].size, true))
            return false;
        if (bind_array_length(&arrays[i]) != bind_array_length(&arrays[0])) {
            PyErr_Format(PyExc_ValueError, "%s: differs in length from time_ns", kinds[i].name);
            return false;
        }
    }
    *columns = (struct ev_columns){.time_ns = arrays[0].view.buf,
                                   .cpu = arrays[1].view.buf,
                                   .kind = arrays[2].view.buf,
                                   .pid = arrays[3].view.buf,
                                   .dev = arrays[4].view.buf,
                                   .ino = arrays[5].view.buf,
                                   .index = arrays[6].view.buf,
                                   .value = arrays[7].view.buf,
                                   .flags = arrays[8].view.buf,
                                   .capacity = bind_array_length(&arrays[0])};
    return true;
}

struct ev_specs *
bind_specs_make(struct array *array, PyObject *object, bool swap)
{
    struct ev_specs *specs;
    int ret;

    if (!bind_array_acquire(array, object, "specs", "T", sizeof(struct ev_spec), false))
        return NULL;
    specs = malloc(sizeof(*specs));
    ret = specs == NULL ? EV_ERR_NO_MEMORY
                        : ev_specs_init(specs, array->view.buf, bind_array_length(array), swap);
    if (ret == EV_OK)
        return specs;
    bind_raise_error(ret);
    free(specs);
    return NULL;
}

static PyObject *
decode(PyObject *self, PyObject *args)
{
    PyObject *data, *places, *starts, *items, *tuple;
    struct array bytes = {0}, spec_items = {0}, arrays[N_COLUMNS] = {0};
    struct runs_arrays r = {0};
    struct ev_specs *specs = NULL;
    struct ev_columns columns;
    int swap, ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOpO!:decode", &data, &places, &starts, &items, &swap,
                          &PyTuple_Type, &tuple))
        return NULL;
    if (!bind_bytes_acquire(&bytes, data) || !runs_acquire(&r, places, starts, false) ||
        !bind_columns_acquire(arrays, tuple, &columns))
        goto out;
    specs = bind_specs_make(&spec_items, items, swap != 0);
    if (specs == NULL)
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    ret = ev_decode(specs, bind_array_data(&bytes), &r.runs, &columns, 0);
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        bind_raise_error(ret);
out:
    free(specs);
    for (int i = 0; i < N_COLUMNS; i++)
        bind_array_release(&arrays[i]);
    bind_array_release(&spec_items);
    runs_release(&r);
    bind_array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
field_numbers(PyObject *self, PyObject *args)
{
    PyObject *data, *places, *out;
    struct array bytes = {0}, place_array = {0}, values = {0};
    struct ev_field field;
    int swap, is_signed, ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOHbppO:field_numbers", &data, &places, &field.offset, &field.size,
                          &is_signed, &swap, &out))
        return NULL;
    field.is_signed = is_signed != 0;
    if (!bind_bytes_acquire(&bytes, data) ||
        !bind_array_acquire(&place_array, places, "places", "T", sizeof(struct ev_place), false) ||
        !bind_array_acquire(&values, out, "out", is_signed ? "lq" : "LQ", 8, true))
        goto out;
    if (bind_array_length(&values) != bind_array_length(&place_array)) {
        PyErr_SetString(PyExc_ValueError, "out: differs in length from places");
        goto out;
    }
    ret = ev_field_numbers(bind_array_data(&bytes), place_array.view.buf,
                           bind_array_length(&place_array), field, swap != 0, values.view.buf);
    if (ret != EV_OK)
        bind_raise_error(ret);
out:
    bind_array_release(&values);
    bind_array_release(&place_array);
    bind_array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
string_list(struct ev_data data, const struct array *place_array, const struct ev_string_field *f,
            bool swap)
{
    size_t n = bind_array_length(place_array);
    const struct ev_place *places = place_array->view.buf;
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list != NULL && i < n; i++) {
        const uint8_t *start = NULL;
        size_t length = 0;
        int ret = ev_field_string(data, &places[i], f, swap, &start, &length);
        PyObject *item = NULL;
        if (ret == EV_OK)
            item = PyBytes_FromStringAndSize((const char *)start, (Py_ssize_t)length);
        else
            bind_raise_error(ret);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *
field_strings(PyObject *self, PyObject *args)
{
    PyObject *data, *places, *list = NULL;
    struct array bytes = {0}, place_array = {0};
    struct ev_string_field field;
    int swap, storage;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOHHip:field_strings", &data, &places, &field.offset, &field.size,
                          &storage, &swap))
        return NULL;
    field.storage = (enum ev_string)storage;
    if (bind_bytes_acquire(&bytes, data) &&
        bind_array_acquire(&place_array, places, "places", "T", sizeof(struct ev_place), false))
        list = string_list(bind_array_data(&bytes), &place_array, &field, swap != 0);
    bind_array_release(&place_array);
    bind_array_release(&bytes);
    return list;
}

PyMethodDef bind_decode_functions[] = {
    {.ml_name = "sort_runs", .ml_meth = sort_runs, .ml_flags = METH_VARARGS},
    {.ml_name = "decode", .ml_meth = decode, .ml_flags = METH_VARARGS},
    {.ml_name = "field_numbers", .ml_meth = field_numbers, .ml_flags = METH_VARARGS},
    {.ml_name = "field_strings", .ml_meth = field_strings, .ml_flags = METH_VARARGS},
    {.ml_name = NULL},
};
