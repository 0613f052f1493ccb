#include "areas.h"

#include <stdlib.h>

static int64_t
begin_of(const struct fw_area *area, enum fw_tree tree)
{
    return tree == FW_BY_ADDRESS ? area->first : area->start;
}

static int64_t
end_of(const struct fw_area *area, enum fw_tree tree)
{
    return tree == FW_BY_ADDRESS ? area->end : area->start + (area->end - area->first);
}

uint32_t
fw_area_new(struct fw_areas *areas, const struct fw_area *area)
{
    uint32_t row = areas->free;

    if (row) {
        areas->free = areas->items[row].next;
    } else {
        size_t n = areas->n ? areas->n : 1;
        if (n >= FW_NONE ||
            !fw_reserve((void **)&areas->items, &areas->room, n + 1, sizeof(*areas->items)))
            return 0;
        if (!areas->n)
            areas->items[0] = (struct fw_area){0};
        row = (uint32_t)n;
        areas->n = n + 1;
    }
    areas->items[row] = *area;
    return row;
}

void
fw_area_drop(struct fw_areas *areas, uint32_t area)
{
    areas->items[area].next = areas->free;
    areas->free = area;
}

/* Trees: AVL, so that no order of mappings makes them deep. */

static struct fw_link *
link_of(const struct fw_areas *areas, enum fw_tree tree, uint32_t area)
{
    return &areas->items[area].link[tree];
}

static void
update(const struct fw_areas *areas, enum fw_tree tree, uint32_t area)
{
    struct fw_link *link = link_of(areas, tree, area);

    link->end = end_of(&areas->items[area], tree);
    link->latest = areas->items[area].order;
    link->height = 1;
    for (int side = 0; side < 2; side++) {
        if (!link->child[side])
            continue;
        const struct fw_link *child = link_of(areas, tree, link->child[side]);
        if (child->end > link->end)
            link->end = child->end;
        if (child->latest > link->latest)
            link->latest = child->latest;
        if (child->height >= link->height)
            link->height = child->height + 1;
    }
}

static int
height(const struct fw_areas *areas, enum fw_tree tree, uint32_t area)
{
    return area ? link_of(areas, tree, area)->height : 0;
}

/* Let the child on one side be the root. */
static uint32_t
rotate(const struct fw_areas *areas, enum fw_tree tree, uint32_t root, int side)
{
    struct fw_link *link = link_of(areas, tree, root);
    uint32_t child = link->child[side];
    struct fw_link *other = link_of(areas, tree, child);

    link->child[side] = other->child[!side];
    other->child[!side] = root;
    update(areas, tree, root);
    update(areas, tree, child);
    return child;
}

static uint32_t
balanced(const struct fw_areas *areas, enum fw_tree tree, uint32_t root)
{
    struct fw_link *link = link_of(areas, tree, root);
    int lean = height(areas, tree, link->child[1]) - height(areas, tree, link->child[0]);

    if (lean >= -1 && lean <= 1) {
        update(areas, tree, root);
        return root;
    }
    int side = lean > 0;
    const struct fw_link *child = link_of(areas, tree, link->child[side]);

    if (height(areas, tree, child->child[!side]) > height(areas, tree, child->child[side]))
        link->child[side] = rotate(areas, tree, link->child[side], !side);
    return rotate(areas, tree, root, side);
}

static bool
is_before(const struct fw_areas *areas, enum fw_tree tree, uint32_t left, uint32_t right)
{
    int64_t a = begin_of(&areas->items[left], tree), b = begin_of(&areas->items[right], tree);

    return a != b ? a < b : left < right;
}

uint32_t
fw_tree_add(struct fw_areas *areas, enum fw_tree tree, uint32_t root, uint32_t area)
{
    struct fw_link *link = link_of(areas, tree, root ? root : area);

    if (!root) {
        *link = (struct fw_link){0};
        update(areas, tree, area);
        return area;
    }
    int side = is_before(areas, tree, root, area);

    link->child[side] = fw_tree_add(areas, tree, link->child[side], area);
    return balanced(areas, tree, root);
}

static uint32_t
without_first(struct fw_areas *areas, enum fw_tree tree, uint32_t root, uint32_t *first)
{
    struct fw_link *link = link_of(areas, tree, root);

    if (!link->child[0]) {
        *first = root;
        return link->child[1];
    }
    link->child[0] = without_first(areas, tree, link->child[0], first);
    return balanced(areas, tree, root);
}

uint32_t
fw_tree_remove(struct fw_areas *areas, enum fw_tree tree, uint32_t root, uint32_t area)
{
    if (!root)
        return 0;
    struct fw_link *link = link_of(areas, tree, root);

    if (root != area) {
        int side = is_before(areas, tree, root, area);
        link->child[side] = fw_tree_remove(areas, tree, link->child[side], area);
        return balanced(areas, tree, root);
    }
    if (!link->child[0] || !link->child[1])
        return link->child[link->child[0] == 0];
    uint32_t first;
    uint32_t right = without_first(areas, tree, link->child[1], &first);
    struct fw_link *top = link_of(areas, tree, first);

    top->child[0] = link->child[0];
    top->child[1] = right;
    return balanced(areas, tree, first);
}

static void
look_for(const struct fw_areas *areas, uint32_t root, int64_t page, uint32_t *best)
{
    if (!root)
        return;
    const struct fw_area *area = &areas->items[root];
    const struct fw_link *link = &area->link[FW_BY_PAGE];

    if (link->end <= page || (*best && link->latest <= areas->items[*best].order))
        return;
    if (area->start > page) {
        look_for(areas, link->child[0], page, best);
        return;
    }
    if (fw_area_holds(area, page) && (!*best || area->order > areas->items[*best].order))
        *best = root;
    uint32_t left = link->child[0], right = link->child[1];
    int first = right && (!left || areas->items[right].link[FW_BY_PAGE].latest >
                                       areas->items[left].link[FW_BY_PAGE].latest);

    look_for(areas, link->child[first], page, best);
    look_for(areas, link->child[!first], page, best);
}

uint32_t
fw_tree_latest(const struct fw_areas *areas, uint32_t root, int64_t page)
{
    uint32_t best = 0;

    look_for(areas, root, page, &best);
    return best;
}

static bool
list_over(const struct fw_areas *areas, uint32_t root, int64_t first, int64_t end,
          struct fw_list *list)
{
    if (!root || areas->items[root].link[FW_BY_ADDRESS].end <= first)
        return true;
    const struct fw_area *area = &areas->items[root];
    const struct fw_link *link = &area->link[FW_BY_ADDRESS];

    if (!list_over(areas, link->child[0], first, end, list))
        return false;
    if (area->first >= end)
        return true;
    if (area->end > first) {
        if (!fw_reserve((void **)&list->items, &list->room, list->n + 1, sizeof(*list->items)))
            return false;
        list->items[list->n++] =
            (struct fw_found){.order = area->order, .first = area->first, .area = root};
    }
    return list_over(areas, link->child[1], first, end, list);
}

static int
by_order(const void *left, const void *right)
{
    const struct fw_found *a = left, *b = right;

    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

bool
fw_tree_over(const struct fw_areas *areas, uint32_t root, int64_t first, int64_t end,
             struct fw_list *list)
{
    list->n = 0;
    if (!list_over(areas, root, first, end, list))
        return false;
    if (list->n > 1)
        qsort(list->items, list->n, sizeof(*list->items), by_order);
    return true;
}
