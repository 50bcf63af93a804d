/* Start-up code for the emulated mps2-an386 (Cortex-M4F) and mps2-an500 (Cortex-M7): vectors, variables, FPU, semihosting. */
#include "board.h"

#include <stddef.h>

/* What the compiler may call, and no C library gives us here: memcpy and its like are in the library. */
extern uint32_t _data_start[], _data_end[], _data_source[], _bss_start[], _bss_end[], _stack_top[];

#define CPACR (*(volatile uint32_t *)0xE000ED88u)
#define AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)

#define PERIOD (1u << 24)

static volatile uint32_t wraps;

_Noreturn void Reset(void)
{
    uint32_t *to = _data_start;
    const uint32_t *from = _data_source;
    while (to < _data_end) {
        *to++ = *from++;
    }
    for (to = _bss_start; to < _bss_end; to++) {
        *to = 0;
    }
    CPACR |= 0xFu << 20; /* The library computes in the FPU. */
    __asm volatile("dsb\n isb");
    end(main());
}

static void Fault(void)
{
    print_line("fault");
    end(70);
}

static void SysTick(void)
{
    wraps++;
}

/* An entry of the vector table: the first is where the stack begins. */
union vector {
    uint32_t *stack;
    void (*handler)(void);
};

__attribute__((section(".vectors"), used)) static const union vector vectors[16] = {
    {.stack = _stack_top}, {.handler = Reset}, {.handler = Fault}, {.handler = Fault},
    {.handler = Fault},    {.handler = Fault}, {.handler = Fault}, {.handler = NULL},
    {.handler = NULL},     {.handler = NULL},  {.handler = NULL},  {.handler = Fault},
    {.handler = Fault},    {.handler = NULL},  {.handler = Fault}, {.handler = SysTick},
};

static int semihosting(int operation, const void *argument)
{
    register int r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* Writes to the emulator's standard output. */
static void print(const char *text, uint32_t length)
{
    static int console = -1;
    const uintptr_t name[3] = {(uintptr_t)":tt", 4, 3}; /* opened to write */
    uintptr_t block[3];
    if (console < 0) {
        console = semihosting(1, name); /* SYS_OPEN */
    }
    block[0] = (uintptr_t)console;
    block[1] = (uintptr_t)text;
    block[2] = length;
    semihosting(5, block); /* SYS_WRITE */
}

void print_line(const char *line)
{
    uint32_t length = 0;
    while (line[length] != '\0') {
        length++;
    }
    print(line, length);
    print("\n", 1);
}

_Noreturn void end(int code)
{
    const uint32_t block[2] = {0x20026u, (uint32_t)code}; /* ADP_Stopped_ApplicationExit */
    semihosting(0x20, block);                             /* SYS_EXIT_EXTENDED */
    for (;;) {
    }
}

_Noreturn void reset(void)
{
    AIRCR = 0x05FA0004u;
    for (;;) {
    }
}

uint64_t ticks(void)
{
    uint32_t before, now;
    if (SYST_CSR == 0) {
        SYST_RVR = PERIOD - 1;
        SYST_CVR = 0;
        SYST_CSR = 7; /* The core's clock, with interrupt. */
    }
    do {
        before = wraps;
        now = PERIOD - 1 - SYST_CVR;
    } while (before != wraps);
    return (uint64_t)before * PERIOD + now;
}
