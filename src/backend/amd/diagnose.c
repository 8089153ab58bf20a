/* Why no AMD GPU can be used, in one line: what `dragoman doctor` and a program that asked for one are told. Each check is one that a person
 * with the hardware would make, in the order in which they matter.
 *
 * ROCm, "Installation prerequisites: configuring permissions for GPU access"; Linux, drivers/gpu/drm/amd/amdkfd (topology in sysfs). */
#include "backend/amd/amd.h"
#include "backend/amd/diagnose.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const amd_architectures[] = {
	"gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201", NULL,
};

bool amd_is_supported(const char *architecture)
{
	for (size_t i = 0; amd_architectures[i]; i++)
		if (!strcmp(architecture, amd_architectures[i]))
			return true;
	return false;
}

/* The root of the file system as tests see it. */
static const char *at(char buffer[300], const char *path)
{
	const char *root = env_get("DRAGOMAN_SYSTEM_ROOT");
	snprintf(buffer, 300, "%s%s", root ? root : "", path);
	return buffer;
}

static long read_property(const char *file, const char *name)
{
	char line[256];
	size_t length = strlen(name);
	long value = -1;
	FILE *f = fopen(file, "r");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, length) && line[length] == ' ')
			value = strtol(line + length, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* 90010 -> gfx90a: major, minor and stepping, the last two in hexadecimal. */
static void architecture_name(long version, char out[32])
{
	snprintf(out, 32, "gfx%ld%lx%lx", version / 10000, (unsigned long)(version / 100 % 100), (unsigned long)(version % 100));
}

size_t amd_kernel_gpus(struct amd_kernel_gpu *gpus, size_t most)
{
	char folder[300], file[600];
	size_t count = 0;
	DIR *nodes = opendir(at(folder, "/sys/class/kfd/kfd/topology/nodes"));
	for (struct dirent *entry; nodes && (entry = readdir(nodes));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s/properties", folder, entry->d_name);
		long version = read_property(file, "gfx_target_version");
		if (version <= 0 || count >= most)
			continue; /* a CPU */
		architecture_name(version, gpus[count].architecture);
		gpus[count].minor = (int)read_property(file, "drm_render_minor");
		/* of memory of its own a GPU that shares the CPU's has none, or a piece of it that the firmware set aside */
		gpus[count].integrated = read_property(file, "cpu_cores_count") > 0;
		count++;
	}
	if (nodes)
		closedir(nodes);
	return count;
}

static bool has_amd_card(void)
{
	char folder[300], file[600], text[16] = "";
	bool found = false;
	DIR *cards = opendir(at(folder, "/sys/class/drm"));
	for (struct dirent *entry; cards && !found && (entry = readdir(cards));) {
		snprintf(file, sizeof file, "%s/%s/device/vendor", folder, entry->d_name);
		FILE *f = !strncmp(entry->d_name, "card", 4) && !strchr(entry->d_name, '-') ? fopen(file, "r") : NULL;
		if (f && fgets(text, sizeof text, f))
			found = !strncmp(text, "0x1002", 6);
		if (f)
			fclose(f);
	}
	if (cards)
		closedir(cards);
	return found;
}

enum amd_trouble amd_kernel_trouble(char *line, size_t size)
{
	char path[300], node[64];
	struct amd_kernel_gpu gpus[AMD_DEVICES_MOST];
	struct stat found;
	if (stat(at(path, "/dev/kfd"), &found)) {
		if (has_amd_card())
			snprintf(line, size, "there is an AMD card, but no /dev/kfd: the kernel's amdgpu driver is not loaded, or was built without HSA_AMD");
		else
			snprintf(line, size, "no AMD GPU: there is no /dev/kfd, and no AMD card in /sys/class/drm");
		return has_amd_card() ? AMD_TROUBLE_NO_DRIVER : AMD_TROUBLE_NO_CARD;
	}
	if (access(path, R_OK | W_OK)) {
		snprintf(line, size, "/dev/kfd may not be opened (%s): add the user to the group render (or video), then log in again: "
			 "sudo usermod -aG render,video $USER", strerror(errno));
		return AMD_TROUBLE_NO_ACCESS;
	}
	size_t count = amd_kernel_gpus(gpus, AMD_DEVICES_MOST), supported = 0;
	if (!count) {
		snprintf(line, size, "/dev/kfd is there, but knows no GPU: the card is too old for ROCm, or another driver (vfio) has it");
		return AMD_TROUBLE_NO_CARD;
	}
	for (size_t i = 0; i < count; i++) {
		supported += amd_is_supported(gpus[i].architecture);
		snprintf(node, sizeof node, "/dev/dri/renderD%d", gpus[i].minor);
		if (gpus[i].minor > 0 && access(at(path, node), R_OK | W_OK)) {
			snprintf(line, size, "%s may not be opened (%s): add the user to the group render (or video), then log in again: "
				 "sudo usermod -aG render,video $USER", node, strerror(errno));
			return AMD_TROUBLE_NO_ACCESS;
		}
	}
	if (!supported) {
		snprintf(line, size, "the GPU is a %s, which Dragoman makes no code for (docs/amd.md lists those it does)", gpus[0].architecture);
		return AMD_TROUBLE_UNSUPPORTED;
	}
	return AMD_TROUBLE_NONE;
}

size_t amd_list_runtimes(struct text *out)
{
	static const char *const places[] = { "/opt/rocm*/lib/libamdhip64.so.[0-9]*.*", "/usr/lib/*-linux-gnu/libamdhip64.so.[0-9]*.*",
					      "/usr/lib64/libamdhip64.so.[0-9]*.*", "/usr/local/lib/libamdhip64.so.[0-9]*.*" };
	char pattern[300], real[4096], seen[8][64];
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		glob_t found;
		if (glob(at(pattern, places[i]), 0, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc && count < ARRAY_LENGTH(seen); k++) {
			/* links lead to the same file */
			const char *path = realpath(found.gl_pathv[k], real) ? real : found.gl_pathv[k];
			const char *release = strstr(path, "libamdhip64.so.");
			bool known = !release;
			for (size_t n = 0; n < count && !known; n++)
				known = !strcmp(seen[n], release + strlen("libamdhip64.so."));
			if (known)
				continue;
			snprintf(seen[count++], sizeof seen[0], "%s", release + strlen("libamdhip64.so."));
			text_printf(out, "%s%s", out->count ? ", " : "", path);
		}
		globfree(&found);
	}
	return count;
}
