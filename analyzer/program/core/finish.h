/* The end of a draft: pages that were there before, and pages that nothing explains. */
#ifndef FOREREAD_FOLLOW_FINISH_H
#define FOREREAD_FOLLOW_FINISH_H

#include "draft.h"

/* Add pages cached before the run, and unexplained reads; the program is then complete. */
void fw_draft_finish(struct fw_draft *draft);

#endif
