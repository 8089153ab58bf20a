/* Events and memory that several processes share. CUDA Driver API 6.13, cuIpc*. */
#ifndef DRAGOMAN_DRIVER_IPC_H
#define DRAGOMAN_DRIVER_IPC_H

#include "driver/driver.h"

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
