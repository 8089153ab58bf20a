/* The types of the API's parameters as the trace shows them: tables made by tools/api_gen.py from
 * the public headers, sorted by name. */
#ifndef DRAGOMAN_API_TRACE_TYPES_H
#define DRAGOMAN_API_TRACE_TYPES_H

#include <stdint.h>

enum trace_kind {
	TRACE_SIGNED,
	TRACE_UNSIGNED,
	TRACE_ADDRESS, /* an integer that holds an address or a handle */
	TRACE_FLOAT,
	TRACE_CHAR,
	TRACE_POINTER, /* a handle or a function */
	TRACE_ENUM,
	TRACE_RECORD,
	TRACE_OPAQUE, /* void, or a struct that no header defines */
};

struct trace_name {
	int value;
	const char *name;
};

struct trace_member {
	const char *name, *type;
	uint32_t offset;
	uint16_t count; /* of an array; else 1 */
	uint8_t stars;
};

struct trace_type {
	const char *name; /* as prototypes write it, without const and stars: "enum cudaLimit" */
	uint8_t kind;
	uint16_t count; /* of names or of members */
	uint32_t size;
	const struct trace_name *names;
	const struct trace_member *members;
};

extern const struct trace_type trace_types[];
extern const unsigned trace_type_count;

#endif
