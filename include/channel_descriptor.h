/* cudaCreateChannelDesc<T>(): the channel format of an element type. */
#ifndef __CHANNEL_DESCRIPTOR_H__
#define __CHANNEL_DESCRIPTOR_H__

#ifdef __cplusplus

#include "cuda_runtime_api.h"

namespace dragoman
{
template <class T> struct channel; /* an element type that no texture can have */

#define DRAGOMAN_CHANNEL(type, bits, count, kind)                                                  \
	template <> struct channel<type> {                                                         \
		static cudaChannelFormatDesc desc()                                                \
		{                                                                                  \
			return cudaCreateChannelDesc(bits, count > 1 ? bits : 0,                   \
						     count > 2 ? bits : 0, count > 3 ? bits : 0,   \
						     cudaChannelFormatKind##kind);                 \
		}                                                                                  \
	};
#define DRAGOMAN_CHANNELS(scalar, name, bits, kind)                                                \
	DRAGOMAN_CHANNEL(scalar, bits, 1, kind)                                                    \
	DRAGOMAN_CHANNEL(name##1, bits, 1, kind)                                                   \
	DRAGOMAN_CHANNEL(name##2, bits, 2, kind)                                                   \
	DRAGOMAN_CHANNEL(name##4, bits, 4, kind)

DRAGOMAN_CHANNEL(char, 8, 1, Signed)
DRAGOMAN_CHANNELS(signed char, char, 8, Signed)
DRAGOMAN_CHANNELS(unsigned char, uchar, 8, Unsigned)
DRAGOMAN_CHANNELS(short, short, 16, Signed)
DRAGOMAN_CHANNELS(unsigned short, ushort, 16, Unsigned)
DRAGOMAN_CHANNELS(int, int, 32, Signed)
DRAGOMAN_CHANNELS(unsigned int, uint, 32, Unsigned)
DRAGOMAN_CHANNELS(float, float, 32, Float)

#undef DRAGOMAN_CHANNELS
#undef DRAGOMAN_CHANNEL
}

template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
	return dragoman::channel<T>::desc();
}

#endif

#endif
