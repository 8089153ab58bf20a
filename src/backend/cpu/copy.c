/* Copies and fills: commands of a queue, shared out in items, or done at once where they are small and nothing is before them. */
#define _GNU_SOURCE
#include "backend/cpu/cpu.h"

enum {
	COPY_ITEM = 1 << 20,    /* bytes: a large copy is shared out in these */
	COPY_AT_ONCE = 64 << 10 /* a copy of no more than this on an idle queue is done by the caller: waking costs more */
};

void cpu_copy_run_item(const struct copy *copy, uint32_t item)
{
	if (!copy->rows) {
		uint64_t from = (uint64_t)item * COPY_ITEM;
		uint64_t size = copy->width - from < COPY_ITEM ? copy->width - from : COPY_ITEM;
		memmove(copy->to + from, copy->from + from, size);
		return;
	}
	uint64_t rows = copy->height * copy->depth, row = item * copy->rows;
	uint64_t end = rows - row < copy->rows ? rows : row + copy->rows;
	for (; row < end; row++) {
		uint64_t y = row % copy->height, z = row / copy->height;
		memmove(copy->to + z * copy->to_slice + y * copy->to_pitch, copy->from + z * copy->from_slice + y * copy->from_pitch,
			copy->width);
	}
}

static void fill_row(uint8_t *to, uint64_t count, uint32_t value, unsigned element)
{
	if (element == 1) {
		memset(to, (int)value, count);
	} else if (element == 2) {
		uint16_t half = (uint16_t)value;
		for (uint64_t i = 0; i < count; i++)
			memcpy(to + 2 * i, &half, 2);
	} else {
		for (uint64_t i = 0; i < count; i++)
			memcpy(to + 4 * i, &value, 4);
	}
}

void cpu_fill_run_item(const struct fill *fill, uint32_t item)
{
	if (!fill->rows) {
		uint64_t from = (uint64_t)item * (COPY_ITEM / 4);
		uint64_t count = fill->width - from < COPY_ITEM / 4 ? fill->width - from : COPY_ITEM / 4;
		fill_row(fill->to + from * fill->element, count, fill->value, fill->element);
		return;
	}
	uint64_t row = item * fill->rows;
	uint64_t end = fill->height - row < fill->rows ? fill->height : row + fill->rows;
	for (; row < end; row++)
		fill_row(fill->to + row * fill->pitch, fill->width, fill->value, fill->element);
}

static void copy_at_once(void *argument)
{
	cpu_copy_run_item(argument, 0);
}

static void fill_at_once(void *argument)
{
	cpu_fill_run_item(argument, 0);
}

static uint32_t item_count(uint64_t total, uint64_t *item)
{
	/* No more items than the counter holds. */
	while (total / *item >= UINT32_MAX)
		*item *= 2;
	return (uint32_t)((total + *item - 1) / *item);
}

struct command *cpu_command_copy(struct device_queue *queue, struct copy copy)
{
	uint64_t linear = COPY_ITEM, rows = copy.height * copy.depth;
	copy.rows = rows == 1 ? 0 : COPY_ITEM / copy.width + 1;
	struct command *command = cpu_command_take(queue, COMMAND_COPY);
	if (!command)
		return NULL;
	command->copy = copy;
	command->items = copy.rows ? item_count(rows, &command->copy.rows) : item_count(copy.width, &linear);
	return command;
}

static int submit_copy(struct device_queue *queue, struct copy copy)
{
	int status = cpu_device_status(queue->device);
	if (status || !copy.width || !copy.height || !copy.depth)
		return status;
	cpu_fault_install();
	uint64_t rows = copy.height * copy.depth;
	copy.rows = rows == 1 ? 0 : COPY_ITEM / copy.width + 1;
	if (copy.width <= COPY_AT_ONCE && rows <= COPY_AT_ONCE) {
		struct copy whole = copy;
		whole.rows = rows == 1 ? 0 : rows;
		if (copy.width * rows <= COPY_AT_ONCE && cpu_queue_at_once(queue, copy_at_once, &whole))
			return STATUS_SUCCESS;
	}
	uint64_t linear = COPY_ITEM;
	if (copy.rows ? rows / copy.rows >= UINT32_MAX : copy.width / linear >= UINT32_MAX)
		return STATUS_INVALID_VALUE;
	struct command *command = cpu_command_copy(queue, copy);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}

int cpu_queue_copy(struct device_queue *queue, void *to, const void *from, uint64_t size)
{
	return submit_copy(queue, (struct copy){ .to = to, .from = from, .width = size, .height = 1, .depth = 1 });
}

int cpu_queue_copy_2d(struct device_queue *queue, void *to, uint64_t to_pitch, uint64_t to_slice, const void *from,
		  uint64_t from_pitch, uint64_t from_slice, uint64_t width, uint64_t height, uint64_t depth)
{
	struct copy copy = { to, from, to_pitch, to_slice, from_pitch, from_slice, width, height, depth, 0 };
	/* What lies in one piece on both sides is copied as one. */
	if (copy.to_pitch == width && copy.from_pitch == width && (depth == 1 || (to_slice == from_slice && to_slice == width * height))) {
		copy.width = width * height * depth;
		copy.height = copy.depth = 1;
	}
	return submit_copy(queue, copy);
}

struct command *cpu_command_fill(struct device_queue *queue, struct fill fill)
{
	uint64_t linear = COPY_ITEM / 4;
	fill.rows = fill.height == 1 ? 0 : COPY_ITEM / (fill.width * fill.element) + 1;
	struct command *command = cpu_command_take(queue, COMMAND_FILL);
	if (!command)
		return NULL;
	command->fill = fill;
	command->items = fill.rows ? item_count(fill.height, &command->fill.rows) : item_count(fill.width, &linear);
	return command;
}

int cpu_queue_fill(struct device_queue *queue, void *to, uint64_t pitch, uint32_t value, unsigned element, uint64_t width,
	       uint64_t height)
{
	int status = cpu_device_status(queue->device);
	if (status || !width || !height)
		return status;
	if (element != 1 && element != 2 && element != 4)
		return STATUS_INVALID_VALUE;
	cpu_fault_install();
	struct fill fill = { .to = to, .pitch = pitch, .width = width, .height = height, .value = value, .element = element };
	if (height > 1 && pitch == width * element) {
		fill.width = width * height;
		fill.height = 1;
	}
	/* Bytes that are all alike go through memset, whatever the element. */
	if ((element == 4 && value == (value & 0xff) * 0x01010101u) || (element == 2 && (value & 0xffff) == (value & 0xff) * 0x0101u)) {
		fill.width *= element;
		fill.element = 1;
	}
	fill.rows = fill.height == 1 ? 0 : COPY_ITEM / (fill.width * fill.element) + 1;
	if (fill.width <= COPY_AT_ONCE && fill.height <= COPY_AT_ONCE) {
		struct fill whole = fill;
		whole.rows = fill.height == 1 ? 0 : fill.height;
		if (fill.width * fill.height * fill.element <= COPY_AT_ONCE && cpu_queue_at_once(queue, fill_at_once, &whole))
			return STATUS_SUCCESS;
	}
	struct command *command = cpu_command_fill(queue, fill);
	if (!command)
		return STATUS_OUT_OF_MEMORY;
	cpu_queue_submit(queue, command);
	return STATUS_SUCCESS;
}
