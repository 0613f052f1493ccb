/* The end of a draft: pages that were there before, and pages that nothing explains. */
#ifndef FOREREAD_FOLLOW_FINISH_H
#define FOREREAD_FOLLOW_FINISH_H

#include "draft.h"

/* Add what was there before, and what nothing explains: the program is complete. */
void fw_draft_finish(struct fw_draft *draft);

#endif
