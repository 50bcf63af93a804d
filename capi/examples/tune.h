/* The scene of all examples here: one transmit power and one handover margin are tuned, twice, against a made-up radio; the
 * second task starts from what the first one taught. firmware/examples/minimal.rs is the same with one parameter. */
#ifndef TUNE_H
#define TUNE_H

#include "foretune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints one line of text. */
void print_line(const char *line);

/* Where a snapshot survives a reset: bytes, and how many of them count. */
struct storage {
    size_t length;
    uint8_t bytes[4096];
};

/* Tunes two tasks and prints a digest of all queries, and what was found. 0: all is well. Where `storage` is not null, a
 * snapshot is kept there after every answer, a restart goes on from it, and `interrupt` is called before every query: it may
 * reset. */
int tune(struct storage *storage, void (*interrupt)(uint32_t task, uint32_t round));

/* Whether FORETUNE_SIZE is enough; 0: it is. */
int sizes(void);

#ifdef __cplusplus
}
#endif

#endif
