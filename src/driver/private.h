/* Tables that the CUDA runtime asks for: private_tables.c, private_handshake.c. */
#ifndef DRAGOMAN_DRIVER_PRIVATE_H
#define DRAGOMAN_DRIVER_PRIVATE_H

#include "driver/driver.h"

extern const void *runtime_interface_table[13];
extern const void *handshake_table[3];
void handshake_init(void);

#endif
