/* From the actions of a recording's threads to the operations that the kernel's emulation runs.
 *
 * The readable version of the same is ../../reference/follow.py, and says why; the two give equal
 * results. Numbers of the trace (addresses, descriptors, lengths) are hostile. Memory is bounded by
 * the number of moments.
 */
#ifndef FOREREAD_FOLLOW_H
#define FOREREAD_FOLLOW_H

#include "errors.h"
#include "evidence.h"

/* Fill an empty program, which fw_free_program frees, also after an error. */
int fw_follow(const struct fw_evidence *evidence, struct fw_program *program);
void fw_free_program(struct fw_program *program);

#endif
