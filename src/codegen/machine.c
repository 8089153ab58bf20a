/* LLVM's target machines, which are kept for the next compilation. To make one takes a while, and what it finds out about its registers as
 * it goes, which is most of the work in compiling a small kernel for a GPU, it keeps. Only one thread at a time may use one. */
#include "codegen/target.h"

#include <pthread.h>
#include <stdlib.h>

enum { KEPT = 4 }; /* not in use; some megabytes each */

struct machine {
	LLVMTargetMachineRef llvm;
	unsigned level;
	char triple[64], cpu[64], features[2048];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the following */
static struct machine *kept[KEPT];                       /* the one that was used last comes first */

static unsigned level_of(unsigned opt_level)
{
	return opt_level > 1 ? LLVMCodeGenLevelDefault : LLVMCodeGenLevelNone;
}

static bool fits(const struct machine *m, const struct target *target, unsigned level)
{
	return m && m->level == level && !strcmp(m->triple, target->triple) && !strcmp(m->cpu, target->cpu) &&
	       !strcmp(m->features, target->features);
}

static struct machine *make(const struct target *target, unsigned level)
{
	struct machine *m = calloc(1, sizeof *m);
	LLVMTargetRef t;
	char *message = NULL;
	if (!m)
		return NULL;
	if (LLVMGetTargetFromTriple(target->triple, &t, &message)) {
		log_error("LLVM does not know the target %s: %s", target->triple, message);
		LLVMDisposeMessage(message);
		free(m);
		return NULL;
	}
	m->level = level;
	memcpy(m->triple, target->triple, sizeof m->triple);
	memcpy(m->cpu, target->cpu, sizeof m->cpu);
	memcpy(m->features, target->features, sizeof m->features);
	m->llvm = LLVMCreateTargetMachine(t, target->triple, target->cpu, target->features, (LLVMCodeGenOptLevel)level, LLVMRelocPIC, target->model);
	if (m->llvm)
		return m;
	free(m);
	return NULL;
}

struct machine *machine_take(const struct target *target, unsigned opt_level)
{
	struct machine *found = NULL;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < KEPT && !found; i++)
		if (fits(kept[i], target, level_of(opt_level))) {
			found = kept[i];
			kept[i] = NULL;
		}
	pthread_mutex_unlock(&lock);
	return found ? found : make(target, level_of(opt_level));
}

LLVMTargetMachineRef machine_llvm(const struct machine *machine)
{
	return machine->llvm;
}

void machine_give(struct machine *machine)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < KEPT && machine; i++) { /* the others move up to the first place that is free */
		struct machine *before = kept[i];
		kept[i] = machine;
		machine = before;
	}
	pthread_mutex_unlock(&lock);
	if (!machine)
		return;
	LLVMDisposeTargetMachine(machine->llvm);
	free(machine);
}
