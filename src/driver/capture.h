/* Stream capture: what a stream under capture does instead of working. CUDA Driver API 6.18, cuStreamBeginCapture. */
#ifndef DRAGOMAN_DRIVER_CAPTURE_H
#define DRAGOMAN_DRIVER_CAPTURE_H

#include "driver/driver.h"

struct graph;

/* The legacy stream must not be used while a blocking stream of the context is captured. */
CUresult capture_check_legacy(struct context *context);
/* For calls that a captured stream cannot take: fails, and ends the capture, where the stream is captured. */
CUresult capture_forbid_stream(struct stream *stream);
/* For calls that may wait for the device (allocating, registering …): they are refused while the thread captures. */
CUresult capture_forbid_unsafe(void);
/* The same for an event that was recorded in a captured stream. */
CUresult capture_forbid_event(struct event *event);
void capture_stream_gone(struct stream *stream);
void capture_event_gone(struct event *event);

/* Nodes in the place of commands. */
CUresult capture_host(struct stream *stream, CUhostFn function, void *argument);
CUresult capture_copy(struct stream *stream, const struct copy *copy);
CUresult capture_fill(struct stream *stream, const struct fill *fill);
CUresult capture_launch(struct stream *stream, struct function *function, const struct launch_config *config);
CUresult capture_allocate(struct stream *stream, struct pool *pool, size_t size, CUdeviceptr *pointer);
CUresult capture_free(struct stream *stream, CUdeviceptr pointer);
CUresult capture_memops(struct stream *stream, const CUstreamBatchMemOpParams *operations, unsigned count);
CUresult capture_graph(struct stream *stream, struct graph *graph); /* takes the graph over */
CUresult capture_event_record(struct stream *stream, struct event *event, bool external);
CUresult capture_event_wait(struct stream *stream, struct event *event, bool external);

#endif
