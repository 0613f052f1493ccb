/* Images of processes at fork, exec and exit; see Image in ../../reference/images.py. */
#ifndef FOREREAD_FOLLOW_FORK_H
#define FOREREAD_FOLLOW_FORK_H

#include "images.h"

/* The image of a child: shared with its parent, or copied unless clone shares ``files`` or
 * ``memory``. */
struct fw_image fw_image_forked(struct fw_images *images, struct fw_image of, bool files,
                                bool memory);
/* The image of a new program; ``kernel_reads`` is a memory, which becomes its own. */
struct fw_image fw_image_executed(struct fw_images *images, struct fw_image of,
                                  uint32_t kernel_reads);
void fw_image_leave(struct fw_images *images, struct fw_image image);
void fw_memory_leave(struct fw_images *images, uint32_t memory);

#endif
