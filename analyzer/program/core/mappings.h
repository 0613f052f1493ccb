/* The mappings of a process; see ../../reference/images.py. */
#ifndef FOREREAD_FOLLOW_MAPPINGS_H
#define FOREREAD_FOLLOW_MAPPINGS_H

#include "images.h"

/* The file of a handle is known from now on. */
void fw_file_known(struct fw_images *images, uint32_t handle, uint32_t file);

/* Mappings, as the methods of Image. */
uint32_t fw_find(struct fw_images *images, struct fw_image image, uint32_t file, int64_t page);
bool fw_maps(const struct fw_images *images, struct fw_image image, uint32_t file);
void fw_add(struct fw_images *images, uint32_t memory, const struct fw_area *area);
void fw_cut(struct fw_images *images, struct fw_image image, int64_t first, int64_t end);
void fw_map(struct fw_images *images, struct fw_image image, const struct fw_area *area);
void fw_move(struct fw_images *images, struct fw_image image, int64_t first, int64_t end,
             int64_t to, int64_t pages);
void fw_change(struct fw_images *images, struct fw_image image, int64_t first, int64_t end,
               uint8_t clear, uint8_t put);
/* Forget an area that is no longer in any tree by address. */
void fw_area_forget(struct fw_images *images, uint32_t area);
/* In images->scratch: rows that stay valid until mappings change. */
void fw_over(struct fw_images *images, struct fw_image image, int64_t first, int64_t end);

#endif
