/* The descriptors of a process, by number. */
#ifndef FOREREAD_FOLLOW_DESCRIPTORS_H
#define FOREREAD_FOLLOW_DESCRIPTORS_H

#include "images.h"

/* Descriptors: the struct file, FW_NONE if there is none. */
uint32_t fw_descriptor(const struct fw_images *images, struct fw_image image, int64_t number);
void fw_descriptor_set(struct fw_images *images, struct fw_image image, int64_t number,
                       uint32_t handle);
void fw_descriptor_put(struct fw_images *images, struct fw_image image, int64_t number,
                       uint32_t handle, bool closing);
void fw_descriptor_duplicate(struct fw_images *images, struct fw_image image, int64_t number,
                             int64_t new, bool closing);
void fw_descriptor_close(struct fw_images *images, struct fw_image image, int64_t number);
void fw_descriptor_close_range(struct fw_images *images, struct fw_image image, int64_t first,
                               int64_t last, bool only_by_exec);
uint32_t fw_original_of(const struct fw_images *images, struct fw_image image, int64_t number,
                        uint32_t file);

#endif
