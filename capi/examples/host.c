/* The examples' scene on a computer: C11, or C++17 (this file and tune.c, compiled as C++). */
#include "tune.h"

#include <stdio.h>

void print_line(const char *line)
{
    puts(line);
}

int main(void)
{
    return tune(NULL, NULL) != 0 ? 1 : sizes();
}
