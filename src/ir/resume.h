/* Threads that are resumed: what a thread's state says (resume.c). The device library for AMD GPUs is compiled against this too. */
#ifndef DRAGOMAN_IR_RESUME_H
#define DRAGOMAN_IR_RESUME_H

/* A state is a kind and, in the low bits, the number of the way on from there. A thread's ticket says what it waits for. */
enum { RESUME_KIND_SHIFT = 16 };
enum resume_kind {
	RESUME_RUN,     /* nothing: it goes on */
	RESUME_YIELD,   /* nothing, but others go on first: a round of a loop that waits is over */
	RESUME_BARRIER, /* the end of the ticket's generation of the ticket's barrier */
	RESUME_WARP,    /* the lanes in the ticket, at the same place */
	RESUME_JOIN,    /* the same, at places of this kind: bar.warp.sync */
	RESUME_DONE     /* the thread has ended */
};
enum { RESUME_CLUSTER_BARRIER = 16 }; /* number of the barrier that barrier.cluster is, behind those of the program */

#endif
