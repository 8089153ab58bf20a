/* Events and memory that several processes share. CUDA Driver API 6.13, cuIpc*. */
#ifndef DRAGOMAN_DRIVER_IPC_H
#define DRAGOMAN_DRIVER_IPC_H

#include "driver/driver.h"

struct ipc_handle { /* what the 64 bytes of a CUipcMemHandle, a CUipcEventHandle and a CUmemPoolPtrExportData say */
	uint32_t magic, is_event;
	int32_t process, file;
	uint64_t inode;        /* of the file: tells a number that was reused */
	uint64_t offset, size; /* of the allocation in the file */
	int32_t device;
	int32_t unused;        /* no padding: other processes see these bytes */
};

struct ipc_memory; /* a range of this process's memory that others may map */
/* Moves the pages of the range into a file, at their place; nothing may write there meanwhile. */
CUresult ipc_share(uintptr_t base, size_t size, struct ipc_memory **out);
/* The range is private again, its contents are lost. */
void ipc_unshare(struct ipc_memory *memory, uintptr_t base, size_t size);
struct ipc_handle ipc_describe(const struct ipc_memory *memory, size_t size, int device);
/* Maps what a process shares; `own`: it may be this one. ipc_unmap() undoes it. */
CUresult ipc_map(const struct ipc_handle *handle, bool own, uintptr_t *base);
void ipc_unmap(uintptr_t base, size_t size);
/* A file that other processes may be given; CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_OUT_OF_MEMORY. */
CUresult ipc_file(size_t size, int *file);

struct ipc_event;
void ipc_event_release(struct ipc_event *ipc);
/* Has another process made the event? Then it is what that process recorded last that counts. */
bool ipc_event_is_foreign(const struct ipc_event *ipc);
CUresult ipc_event_record(struct ipc_event *ipc, struct queue *queue);
CUresult ipc_event_wait(struct ipc_event *ipc, struct queue *queue);
CUresult ipc_event_query(struct ipc_event *ipc);
CUresult ipc_event_synchronize(struct ipc_event *ipc);

/* Before an allocation's memory goes back: it is no longer shared. */
void ipc_memory_release(struct allocation *allocation);
/* Unmaps another process's memory. */
void ipc_memory_close(const struct allocation *allocation);

#endif
