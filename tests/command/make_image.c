/* make_image FOLDER: writes files of device code for test_command.sh. */
#include "fatbin_image.h"

#include <stdio.h>

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry scale(.param .u64 p)\n{\n\tret;\n}\n"
			  ".visible .entry add()\n{\n\tret;\n}\n";

static void save(const char *folder, const char *name, struct text *bytes)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes->data, 1, bytes->count, file) != bytes->count || fclose(file))
		exit(1);
	text_fini(bytes);
}

int main(int argc, char **argv)
{
	struct text cubin = { 0 }, idle = { 0 }, out = { 0 };
	struct image_section kernel[] = { { ".nv.constant0.scale", SHT_PROGBITS, 0, "", 0 },
					  { ".nv.constant0.add", SHT_PROGBITS, 0, "", 0 } };
	if (argc != 2)
		return 2;
	image_add_elf(&cubin, 190, ET_EXEC, 0x500550, 7, kernel, 2);
	image_add_elf(&idle, 190, ET_EXEC, 0x500550, 7, NULL, 0);
	struct image_entry without_kernels = { .kind = 2, .sm = 80, .bytes = idle.data, .size = idle.count };
	struct image_entry entries[] = {
		{ .kind = 1, .sm = 80, .flags = IMAGE_ZSTD, .bytes = ptx, .size = sizeof ptx },
		{ .kind = 2, .sm = 80, .flags = IMAGE_LZ4, .bytes = cubin.data, .size = cubin.count },
		{ .kind = 2, .sm = 90, .bytes = cubin.data, .size = cubin.count },
	};
	image_add(&out, &without_kernels, 1);
	image_add(&out, entries, 3);
	save(argv[1], "good.fatbin", &out);
	image_add(&out, &without_kernels, 1);
	image_add(&out, entries + 1, 2);
	save(argv[1], "machine.fatbin", &out);
	image_add(&out, entries, 3);
	out.count -= 100;
	save(argv[1], "damaged.fatbin", &out);
	text_add(&out, ptx, sizeof ptx - 1);
	save(argv[1], "good.ptx", &out);
	image_add_elf(&out, EM_RISCV, ET_EXEC, 0, 0, NULL, 0);
	save(argv[1], "riscv", &out);
	save(argv[1], "scale.cubin", &cubin);
	text_fini(&idle);
	return 0;
}
