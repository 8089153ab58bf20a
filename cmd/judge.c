/* What would come of starting a program here, from what program_scan() saw. */
#include "command.h"

#include "fatbin/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { HOST_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { HOST_MACHINE = EM_AARCH64 };
#else
#error "Dragoman runs on x86-64 and AArch64"
#endif

char *judge_program(const struct program_info *info)
{
	struct text why = { 0 };
	char machine[32], host[32];
	if (info->kind == PROGRAM_DEVICE)
		text_printf(&why, "it is device code, not a program; see dragoman scan");
	else if (info->kind == PROGRAM_OTHER)
		text_printf(&why, "it is neither an ELF program nor a script that begins with #!");
	else if (info->kind == PROGRAM_ELF && info->machine != HOST_MACHINE)
		text_printf(&why, "it is for %s, this machine is %s", elf_machine_name(info->machine, machine),
			    elf_machine_name(HOST_MACHINE, host));
	else if (info->kind == PROGRAM_ELF && info->elf_class != ELFCLASS64)
		text_printf(&why, "it is a program of 32 bits");
	else if (info->kind == PROGRAM_ELF && info->elf_type != ET_EXEC && info->elf_type != ET_DYN)
		text_printf(&why, "it is an object file, not a linked program");
	else if (info->cut_off)
		text_printf(&why, "it is cut off: a part of it lies behind the file's end");
	else if (info->interpreter && access(info->interpreter, F_OK))
		text_printf(&why, "%s, which it names as its %s, does not exist", info->interpreter,
			    info->kind == PROGRAM_ELF ? "loader" : "interpreter");
	return why.data;
}

unsigned judge_code(const struct program_info *info, struct text *out)
{
	unsigned count = 0;
	VEC(char *) said = { 0 };
	for (uint32_t unit = 0; unit < info->code.unit_count; unit++) {
		if (program_unit_runs(info, unit))
			continue;
		struct fatbin_error error = { 0 };
		fatbin_unit_error(&info->code, unit, 80, &error);
		count++;
		size_t i = 0;
		while (i < said.count && strcmp(said.data[i], error.message))
			i++;
		if (i < said.count)
			continue;
		char *message = strdup(error.message);
		if (message && vec_push(&said, message))
			text_printf(out, "%s\n", message);
	}
	for (size_t i = 0; i < said.count; i++)
		free(said.data[i]);
	vec_fini(&said);
	return count;
}
