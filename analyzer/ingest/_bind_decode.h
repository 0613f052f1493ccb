/* The common part of all containers' bindings: columns and specs. */
#ifndef FOREREAD_BIND_DECODE_H
#define FOREREAD_BIND_DECODE_H

#include "_bind.h"

/* The EVENTS columns, in the schema's order. */
enum { N_COLUMNS = 9 };

bool bind_columns_acquire(struct array *arrays, PyObject *tuple, struct ev_columns *columns);

/* Allocates the look-up table of the specs in a buffer; the caller frees it. */
struct ev_specs *bind_specs_make(struct array *array, PyObject *object, bool swap);

#endif
