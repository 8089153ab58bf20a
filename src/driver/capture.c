#define _GNU_SOURCE
#include "driver/capture.h"
CUresult capture_check_legacy(struct context *context) { (void)context; return CUDA_SUCCESS; }
CUresult capture_forbid_stream(struct stream *stream) { (void)stream; return CUDA_SUCCESS; }
CUresult capture_forbid_unsafe(void) { return CUDA_SUCCESS; }
CUresult capture_forbid_event(struct event *event) { (void)event; return CUDA_SUCCESS; }
void capture_stream_gone(struct stream *stream) { (void)stream; }
CUresult capture_host(struct stream *stream, CUhostFn function, void *argument) { (void)stream; (void)function; (void)argument; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_copy(struct stream *stream, const struct copy *copy) { (void)stream; (void)copy; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_fill(struct stream *stream, const struct fill *fill) { (void)stream; (void)fill; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_launch(struct stream *stream, struct function *function, const struct launch_config *config) { (void)stream; (void)function; (void)config; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_event_record(struct stream *stream, struct event *event, bool external) { (void)stream; (void)event; (void)external; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_event_wait(struct stream *stream, struct event *event, bool external) { (void)stream; (void)event; (void)external; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_allocate(struct stream *stream, struct pool *pool, size_t size, CUdeviceptr *pointer) { (void)stream; (void)pool; (void)size; (void)pointer; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_free(struct stream *stream, CUdeviceptr pointer) { (void)stream; (void)pointer; return CUDA_ERROR_NOT_SUPPORTED; }
