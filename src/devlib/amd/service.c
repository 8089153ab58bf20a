/* What a kernel tells the host by way of struct amd_service: printf, assertions and traps; and memory for malloc in device code. */
#include "devlib/amd/library.h"

/* ---- the end of a kernel ---------------------------------------------------------------------------------------------- */

INLINE void copy_text(GLOBAL char *to, const char *from, uint32_t size)
{
	uint32_t i = 0;
	for (; from && i < size - 1 && from[i]; i++)
		to[i] = from[i];
	to[i] = 0;
}

/* The first one says what happened. The wave ends, with lanes that would have gone on: nothing of such a kernel counts. */
INLINE void stop(launch_ptr launch, uint32_t thread, uint32_t status, const char *message, const char *file, uint32_t line, const char *function)
{
	GLOBAL struct amd_service *service = service_of(launch);
	uint32_t none = 0;
	if (__scoped_atomic_compare_exchange_n(&service->state, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM)) {
		uint32_t x = launch->block[0], y = launch->block[1];
		service->status = status;
		for (uint32_t i = 0; i < 3; i++)
			service->block[i] = block_number(launch, i);
		service->thread[0] = thread % x;
		service->thread[1] = thread / x % y;
		service->thread[2] = thread / x / y;
		service->line = line;
		copy_text(service->message, message, sizeof service->message);
		copy_text(service->file, file, sizeof service->file);
		copy_text(service->function, function, sizeof service->function);
		__scoped_atomic_store_n(&service->state, 2, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
	}
	__scoped_atomic_store_n((GLOBAL uint32_t *)launch->stopped, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);
	__builtin_amdgcn_endpgm();
}

/* In a loop that waits for others: they get their turn, and where one of them has trapped nobody waits any more. */
ENTRY INLINED void device_yield(launch_ptr launch)
{
	__builtin_amdgcn_s_sleep(1);
	leave_if_trapped(launch);
}

ENTRY void device_trap(launch_ptr launch, uint32_t thread, uint32_t status)
{
	stop(launch, thread, status, NULL, NULL, 0, NULL);
}

ENTRY void device_assert_fail(launch_ptr launch, uint32_t thread, uint64_t message, uint64_t file, uint32_t line, uint64_t function)
{
	stop(launch, thread, 710, (const char *)message, (const char *)file, line, (const char *)function);
}

/* ---- printf ------------------------------------------------------------------------------------------------------------- */

INLINE uint32_t text_bytes(const char *text) /* with its 0 */
{
	uint32_t length = 0;
	while (text[length])
		length++;
	return length + 1;
}

struct reader {
	const char *format, *arguments;
	uint32_t offset;       /* in the arguments */
	uint32_t count;        /* conversions read */
};

INLINE bool is_one_of(char c, const char *letters)
{
	for (; *letters; letters++)
		if (c == *letters)
			return true;
	return false;
}

INLINE void take(struct reader *r, uint32_t bytes)
{
	r->offset = (r->offset + bytes - 1) / bytes * bytes + bytes;
}

INLINE const char *number(struct reader *r, const char *p)
{
	if (*p == '*') {
		take(r, 4);
		return p + 1;
	}
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Goes on to the next conversion that takes an argument; its letter, or 0 at the end, where r->format is then. The same rules as the host's that prints it. */
INLINE char next_conversion(struct reader *r)
{
	const char *p = r->format;
	while (*p) {
		if (*p++ != '%')
			continue;
		if (*p == '%') {
			p++;
			continue;
		}
		const char *behind = p;
		uint32_t before = r->offset;
		while (is_one_of(*p, "-+ #0"))
			p++;
		p = number(r, p);
		if (*p == '.')
			p = number(r, p + 1);
		bool is_long = *p != 'h' && is_one_of(*p, "lLjztq");
		while (is_one_of(*p, "hlLjztq"))
			p++;
		if (!is_one_of(*p, "diouxXcspaAeEfFgG")) {
			r->offset = before; /* printed as it stands */
			p = behind;
			continue;
		}
		bool wide = is_one_of(*p, "aAeEfFgGsp") || (*p != 'c' && is_long);
		take(r, wide ? 8 : 4);
		r->count++;
		r->format = p + 1;
		return *p;
	}
	r->format = p;
	return 0;
}

/* By words where both are at words. */
INLINE void copy_bytes(GLOBAL char *to, const char *from, uint32_t bytes)
{
	uint32_t i = 0;
	if (!(((uint64_t)to | (uint64_t)from) & 3))
		for (; i + 4 <= bytes; i += 4)
			*(GLOBAL uint32_t *)(to + i) = *(const uint32_t *)(from + i);
	for (; i < bytes; i++)
		to[i] = from[i];
}

INLINE uint32_t round_up(uint32_t bytes)
{
	return (bytes + 7) & ~7u;
}

INLINE const char *string_before(const struct reader *r)
{
	return *(const char *const *)(r->arguments + r->offset - 8);
}

static __attribute__((noinline)) int32_t print(GLOBAL struct amd_service *service, const char *format, const char *arguments)
{
	struct reader r = { format, arguments, 0, 0 };
	if (__scoped_atomic_load_n(&service->print_used, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM) >= service->print_size) { /* full */
		__scoped_atomic_fetch_add(&service->print_dropped, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
		while (next_conversion(&r))
			;
		return (int32_t)r.count;
	}
	uint32_t string_bytes = 0, string_count = 0;
	for (char letter; (letter = next_conversion(&r));) {
		if (letter != 's')
			continue;
		const char *string = string_before(&r);
		string_bytes += string ? text_bytes(string) : 1;
		string_count++;
	}
	uint32_t format_bytes = (uint32_t)(r.format - format) + 1;
	uint32_t argument_bytes = round_up(r.offset), bytes = (uint32_t)sizeof(struct amd_print) + round_up(format_bytes) + argument_bytes + round_up(string_bytes);
	uint32_t at = __scoped_atomic_fetch_add(&service->print_used, bytes, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
	if (at > service->print_size || bytes > service->print_size - at) {
		__scoped_atomic_fetch_add(&service->print_dropped, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
		return (int32_t)r.count;
	}
	GLOBAL char *to = (GLOBAL char *)(service->print + at);
	GLOBAL struct amd_print *record = (GLOBAL struct amd_print *)to;
	record->bytes = bytes;
	record->format_bytes = format_bytes;
	record->argument_bytes = argument_bytes;
	record->string_bytes = string_bytes;
	record->string_count = string_count;
	to += sizeof *record;
	copy_bytes(to, format, format_bytes);
	to += round_up(format_bytes);
	for (uint32_t i = 0; i < r.offset; i += 4)
		*(GLOBAL uint32_t *)(to + i) = *(const uint32_t *)(arguments + i);
	to += argument_bytes;
	uint32_t count = r.count;
	r = (struct reader){ format, arguments, 0, 0 };
	for (char letter; string_count && (letter = next_conversion(&r));) {
		const char *string = letter == 's' ? string_before(&r) : NULL;
		for (; string && *string; string++)
			*to++ = *string;
		if (letter == 's')
			*to++ = 0;
	}
	__scoped_atomic_store_n(&record->ready, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
	return (int32_t)count;
}

ENTRY int32_t device_print(launch_ptr launch, uint32_t thread, uint64_t format, uint64_t arguments)
{
	(void)thread;
	return print(service_of(launch), (const char *)format, (const char *)arguments);
}

/* ---- malloc ------------------------------------------------------------------------------------------------------------- */

/* Blocks of 2^class bytes, 16 of which come before what the program gets. A freed one goes to its class's list, whose head is an
 * offset in the heap divided by 16 (low half) and a number that changes with each swap. */
enum { CLASS_FIRST = 5, CLASSES = 40 };

struct heap {
	uint64_t used; /* bytes behind AMD_HEAP_START */
	uint64_t lists[CLASSES];
};
_Static_assert(sizeof(struct heap) <= AMD_HEAP_START, "the allocator's own words");

struct heap_block {
	uint64_t next, class;
};

ENTRY uint64_t device_allocate(launch_ptr launch, uint32_t thread, uint64_t size)
{
	GLOBAL struct amd_service *service = service_of(launch);
	GLOBAL struct heap *heap = (GLOBAL struct heap *)service->heap;
	uint32_t class = CLASS_FIRST;
	(void)thread;
	if (!heap || !size || size > service->heap_size)
		return 0;
	while (UINT64_C(1) << class < size + sizeof(struct heap_block))
		class++;
	GLOBAL uint64_t *list = &heap->lists[class];
	GLOBAL struct heap_block *block = NULL;
	uint64_t head = __scoped_atomic_load_n(list, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);
	while ((uint32_t)head) {
		block = (GLOBAL struct heap_block *)(service->heap + (head & UINT32_MAX) * 16);
		uint64_t next = __scoped_atomic_load_n(&block->next, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
		next = (next & UINT32_MAX) | ((head >> 32) + 1) << 32;
		if (__scoped_atomic_compare_exchange_n(list, &head, next, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE))
			return (uint64_t)(block + 1);
	}
	uint64_t bytes = UINT64_C(1) << class, at = __scoped_atomic_load_n(&heap->used, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
	do {
		if (AMD_HEAP_START + at + bytes > service->heap_size)
			return 0;
	} while (!__scoped_atomic_compare_exchange_n(&heap->used, &at, at + bytes, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
	at += AMD_HEAP_START;
	block = (GLOBAL struct heap_block *)(service->heap + at);
	block->class = class;
	return (uint64_t)(block + 1);
}

ENTRY void device_release(launch_ptr launch, uint32_t thread, uint64_t pointer)
{
	GLOBAL struct amd_service *service = service_of(launch);
	GLOBAL struct heap *heap = (GLOBAL struct heap *)service->heap;
	GLOBAL struct heap_block *block = (GLOBAL struct heap_block *)pointer - 1;
	(void)thread;
	if (!pointer)
		return;
	GLOBAL uint64_t *list = &heap->lists[block->class % CLASSES];
	uint64_t number = ((uint64_t)block - service->heap) / 16, head = __scoped_atomic_load_n(list, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE), next;
	do {
		__scoped_atomic_store_n(&block->next, head & UINT32_MAX, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
		next = (number & UINT32_MAX) | ((head >> 32) + 1) << 32;
	} while (!__scoped_atomic_compare_exchange_n(list, &head, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
}
