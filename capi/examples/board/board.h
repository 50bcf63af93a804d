/* A Cortex-M with nothing on it: what the examples need of one, and no more. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

/* The emulator's console; on a board of yours, a UART. */
void print_line(const char *line);

/* Ends the emulation. */
_Noreturn void end(int code);

/* Starts again from the reset vector. */
_Noreturn void reset(void);

/* Ticks of the processor's clock, from the first call on. */
uint64_t ticks(void);

/* The program. */
int main(void);

#endif
