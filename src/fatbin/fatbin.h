/* Device code as programs carry it: fat binaries, cubins, PTX text, and what is inside a program.
 *
 *     fatbin_open()        bytes -> a list of entries, nothing decompressed  (container.c, object.c)
 *     fatbin_payload()     one entry -> its bytes, decompressed              (payload.c)
 *     fatbin_choose_ptx()  the PTX to compile for a device                   (choose.c)
 *     program_scan()       a host program or library -> what it needs        (program.c, elf.c)
 *
 * The container has no published manual; its layout is interface fact, seen in the output of nvcc
 * 11 to 13 and described by several open projects. NVCC's manual, chapter "GPU Compilation", says how
 * the driver picks among virtual architectures. Every input may be damaged or hostile: all sizes are
 * checked before they are believed. */
#ifndef DRAGOMAN_FATBIN_H
#define DRAGOMAN_FATBIN_H

#include "base/base.h"

/* ---- results ------------------------------------------------------------------------------ */

enum fatbin_status {
	FATBIN_OK,
	FATBIN_INVALID,   /* no device code, or damaged: CUDA_ERROR_INVALID_IMAGE (200) */
	FATBIN_NO_BINARY, /* sound, but nothing in it that we can run: CUDA_ERROR_NO_BINARY_FOR_GPU (209) */
	FATBIN_NO_MEMORY  /* CUDA_ERROR_OUT_OF_MEMORY (2) */
};

struct fatbin_error {
	enum fatbin_status status;
	char message[512]; /* one line, without a full stop or newline at its end */
};

/* ---- containers --------------------------------------------------------------------------- */

enum fatbin_kind {
	FATBIN_PTX,
	FATBIN_CUBIN,  /* machine code for one sm */
	FATBIN_LTO_IR, /* nvcc -dlto: NVIDIA's own intermediate code, not public */
	FATBIN_OTHER   /* raw_kind says which */
};

enum fatbin_compression {
	FATBIN_STORED,
	FATBIN_LZ4,  /* one raw block */
	FATBIN_ZSTD, /* one frame */
	FATBIN_OLD   /* flag 0x1000, an older scheme that is nowhere described: refused by name */
};

struct fatbin_entry {
	enum fatbin_kind kind;
	enum fatbin_compression compression;
	uint16_t raw_kind;
	uint16_t sm; /* 80 for sm_80 and compute_80; 0 where not said (PTX text: see its .target) */
	char suffix; /* 'a' or 'f' of sm_100a, compute_100f; 0 */
	uint64_t flags;
	const char *name; /* name_length bytes, not NUL-terminated; NULL where there is none */
	size_t name_length;
	const void *payload; /* inside the image that was opened */
	size_t size;         /* bytes there */
	size_t full_size;    /* once decompressed */
	uint32_t unit;       /* which of fatbin.unit_count alternatives lists this entry is in */
};

struct fatbin {
	VEC(struct fatbin_entry) entries;
	/* Entries of one unit are alternatives to each other. Most images are one unit. Code built with
	 * -rdc=true has one a source file, before linking; their PTX must be linked (ptx_link()). */
	uint32_t unit_count;
	bool relocatable; /* the units are those of -rdc=true; `linked` entries were left out of them */
	/* Machine code that nvcc had linked from relocatable units; for messages only. */
	VEC(struct fatbin_entry) linked;
};

/* Lists what is in `image`: a wrapper (only where size is 0: it holds pointers), one or more containers,
 * a cubin, PTX text, a host object or archive with embedded device code (only where size is known).
 * size 0: of unknown size, in this program's memory, as cuModuleLoadData gets it; then the readable
 * memory behind `image` and the lengths in it are the limits. Entries point into `image`, which
 * must outlive them. On an error `fatbin` is empty. `error` may be NULL. */
enum fatbin_status fatbin_open(const void *image, size_t size, struct fatbin *fatbin, struct fatbin_error *error);
void fatbin_close(struct fatbin *fatbin);

/* The entries of a unit stand together: from the returned index to before *end. */
size_t fatbin_unit_begin(const struct fatbin *fatbin, uint32_t unit, size_t *end);

/* The entry's bytes, decompressed, in malloc'ed memory with a NUL behind them; a PTX's own NUL padding is cut. */
enum fatbin_status fatbin_payload(const struct fatbin_entry *entry, char **bytes, size_t *size,
				  struct fatbin_error *error);

/* "PTX compute_90a", "machine code sm_80", …: for lists and messages. Returns buffer. */
const char *fatbin_entry_name(const struct fatbin_entry *entry, char buffer[48]);

/* ---- choosing ------------------------------------------------------------------------------ */

struct fatbin_ptx {
	const struct fatbin_entry *entry; /* in the fatbin that was chosen from */
	char *text;                       /* malloc'ed, NUL-terminated */
	size_t length;
};

struct fatbin_choice {
	struct fatbin_ptx *units; /* more than one: to be linked */
	uint32_t count;
};

/* The best PTX of a unit for a device: the highest target not above `sm`, else the lowest above it (nothing
 * stops us from compiling that); of equal ones the one without a/f suffix. Only the choice, nothing read.
 * NULL where the unit has no PTX. */
const struct fatbin_entry *fatbin_best_ptx(const struct fatbin *fatbin, uint32_t unit, unsigned sm);

/* Is the unit NVIDIA's cudadevrt as machine code? Its functions are ours, by name: nothing of it is needed. */
bool fatbin_unit_is_device_runtime(const struct fatbin *fatbin, uint32_t unit);

/* That for every unit, decompressed; none for cudadevrt without PTX. Where another unit has no PTX the error names the machine code
 * that is there. */
enum fatbin_status fatbin_choose_ptx(const struct fatbin *fatbin, unsigned sm, struct fatbin_choice *choice,
				     struct fatbin_error *error);
void fatbin_choice_fini(struct fatbin_choice *choice);
/* The error of a unit without PTX; returns its status. */
enum fatbin_status fatbin_unit_error(const struct fatbin *fatbin, uint32_t unit, unsigned sm,
				     struct fatbin_error *error);

/* ---- programs -------------------------------------------------------------------------------- */

enum program_kind {
	PROGRAM_ELF,    /* a host executable or library of 64 bits */
	PROGRAM_SCRIPT, /* #! */
	PROGRAM_DEVICE, /* a cubin, fat binary, PTX or archive: device code without a host program */
	PROGRAM_OTHER
};

struct program_need {
	const char *soname;
	VEC(const char *) versions; /* symbol versions it wants of it */
};

struct program_info {
	enum program_kind kind;
	unsigned machine, elf_type;  /* EM_…, ET_… */
	unsigned elf_class;          /* ELFCLASS64; of another class only this and `machine` are known */
	bool cut_off;                /* a part that is loaded lies behind the file's end */
	const char *interpreter;     /* the loader, or what a script's first line names; NULL where there is none */
	const char *rpath, *runpath; /* DT_RPATH, DT_RUNPATH; NULL */
	VEC(struct program_need) needs;
	bool static_runtime;        /* NVIDIA's libcudart is linked into it */
	struct fatbin code;         /* units that nvcc linked from relocatable ones are in code.linked */
	struct fatbin_error damage; /* FATBIN_OK, or why the device code is not (wholly) listed */
	const void *map;            /* the file; what is above points into it */
	size_t map_size;
	char *script_interpreter;
};

/* Looks into a file without running it. On failure `info` needs no fini and the message says why ("cannot
 * read x: No such file or directory"). */
bool program_scan(const char *path, struct program_info *info, struct fatbin_error *error);
void program_fini(struct program_info *info);

/* Is there PTX in a unit, or nothing that would need any (nvcc leaves machine code without kernels in every program)? */
bool program_unit_runs(const struct program_info *info, uint32_t unit);

/* Kernels that an entry's machine code or PTX defines, in file order, names as mangled. Empty where the payload is damaged. */
void program_kernels(const struct fatbin_entry *entry, bool (*each)(void *argument, const char *name), void *argument);

#endif
