/* Every range of addresses that programs got from the driver, ordered by address: a treap under one
 * read-write lock. Copies, pointer attributes and frees ask it; the launch path does not. */
#define _GNU_SOURCE
#include "driver/driver.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct allocation *root;

static uint32_t next_weight(void)
{
	static uint32_t state = 2463534242u; /* xorshift32; under the write lock */

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* Everything below `base` to the left, the rest to the right. */
static void split(struct allocation *tree, uintptr_t base, struct allocation **left, struct allocation **right)
{
	if (!tree) {
		*left = *right = NULL;
	} else if (tree->base < base) {
		split(tree->right, base, &tree->right, right);
		*left = tree;
	} else {
		split(tree->left, base, left, &tree->left);
		*right = tree;
	}
}

static struct allocation *merge(struct allocation *left, struct allocation *right)
{
	if (!left || !right)
		return left ? left : right;
	if (left->weight > right->weight) {
		left->right = merge(left->right, right);
		return left;
	}
	right->left = merge(left, right->left);
	return right;
}

static struct allocation *find_locked(uintptr_t address)
{
	struct allocation *best = NULL;

	for (struct allocation *at = root; at;) {
		if (at->base <= address) {
			best = at;
			at = at->right;
		} else {
			at = at->left;
		}
	}
	return best && address - best->base < best->size ? best : NULL;
}

static bool overlaps_locked(uintptr_t base, size_t size)
{
	struct allocation *first = NULL; /* the lowest that ends above base */

	for (struct allocation *at = root; at;) {
		if (at->base + at->size > base) {
			first = at;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return first && first->base < base + size;
}

CUresult memory_map_add(struct allocation *allocation)
{
	struct allocation *left, *right;
	CUresult status = CUDA_SUCCESS;

	pthread_rwlock_wrlock(&lock);
	if (overlaps_locked(allocation->base, allocation->size)) {
		status = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	} else {
		allocation->weight = next_weight();
		allocation->left = allocation->right = NULL;
		if (!allocation->id)
			allocation->id = driver_next_id();
		split(root, allocation->base, &left, &right);
		root = merge(merge(left, allocation), right);
	}
	pthread_rwlock_unlock(&lock);
	return status;
}

static struct allocation *remove_locked(struct allocation *wanted)
{
	for (struct allocation **link = &root; *link;) {
		struct allocation *at = *link;

		if (at == wanted) {
			*link = merge(at->left, at->right);
			at->left = at->right = NULL;
			return at;
		}
		link = wanted->base < at->base ? &at->left : &at->right;
	}
	return NULL;
}

struct allocation *memory_map_remove(uintptr_t base)
{
	struct allocation *found;

	pthread_rwlock_wrlock(&lock);
	found = find_locked(base);
	found = found && found->base == base ? remove_locked(found) : NULL;
	pthread_rwlock_unlock(&lock);
	return found;
}

bool memory_map_find(uintptr_t address, struct allocation *out)
{
	struct allocation *found;

	pthread_rwlock_rdlock(&lock);
	found = find_locked(address);
	if (found && out)
		*out = *found;
	pthread_rwlock_unlock(&lock);
	return found;
}

bool memory_map_edit(uintptr_t address, void (*visit)(struct allocation *, void *), void *argument)
{
	struct allocation *found;

	pthread_rwlock_wrlock(&lock);
	found = find_locked(address);
	if (found)
		visit(found, argument);
	pthread_rwlock_unlock(&lock);
	return found;
}

bool memory_map_overlaps(uintptr_t base, size_t size)
{
	bool overlaps;

	pthread_rwlock_rdlock(&lock);
	overlaps = overlaps_locked(base, size);
	pthread_rwlock_unlock(&lock);
	return overlaps;
}

static void visit_all(const struct allocation *tree, void (*visit)(const struct allocation *, void *), void *argument)
{
	if (!tree)
		return;
	visit_all(tree->left, visit, argument);
	visit(tree, argument);
	visit_all(tree->right, visit, argument);
}

void memory_map_each(void (*visit)(const struct allocation *, void *), void *argument)
{
	pthread_rwlock_rdlock(&lock);
	visit_all(root, visit, argument);
	pthread_rwlock_unlock(&lock);
}

static struct allocation *find_of(struct allocation *tree, const struct context *context)
{
	struct allocation *found;

	if (!tree || tree->context == context)
		return tree;
	found = find_of(tree->left, context);
	return found ? found : find_of(tree->right, context);
}

struct allocation *memory_map_take(const struct context *context)
{
	struct allocation *found;

	pthread_rwlock_wrlock(&lock);
	found = find_of(root, context);
	if (found)
		remove_locked(found);
	pthread_rwlock_unlock(&lock);
	return found;
}
