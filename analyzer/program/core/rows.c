/* The rows of a program. */
#include "rows.h"

#include "store.h"

int
fw_append(struct fw_program *p, uint64_t time_ns, struct fw_operation operation)
{
    size_t room = p->room_operations, n = p->n_operations;

    if (!fw_reserve((void **)&p->times, &room, n + 1, sizeof(*p->times)) ||
        !fw_reserve((void **)&p->operations, &p->room_operations, n + 1, sizeof(*p->operations)))
        return FW_NO_MEMORY;
    p->times[n] = time_ns;
    p->operations[n] = operation;
    p->n_operations = n + 1;
    return FW_OK;
}
