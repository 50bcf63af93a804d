/* Counts instructions as firmware/examples/counting does, through the C interface: `what t instructions` per line.
 *
 * In the emulator with `-icount shift=0` an instruction takes a nanosecond, and the timer ticks every 40 of them. */
#include "board.h"
#include "foretune.h"

#define CAPACITY 129
#define INSTRUCTIONS_PER_TICK 40u

static const struct foretune_fidelity fidelities[] = {
    {10.0f, 10, 0.1f}, {20.0f, 20, 0.1f}, {50.0f, 50, 0.1f}, {100.0f, 100, 0.1f}};

static const float shares[] = {0.0f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f};
#define POWERS {FORETUNE_GRID, -202.0, 24.0, 114, NULL}
#define SHARES {FORETUNE_LEVELS, 0.0, 0.0, 8, shares}
static const struct foretune_dimension dimensions[] = {POWERS, SHARES, POWERS, SHARES};

static _Alignas(FORETUNE_COMPACT_ALIGN) unsigned char memory[FORETUNE_SIZE(4, 4, CAPACITY, 10, 80)];
static uint8_t knowledge[2048];

static void print_count(const char *what, uint32_t t, uint64_t number)
{
    char line[48];
    char *end = line + sizeof line;
    uint64_t numbers[2];
    int i;
    *--end = '\0';
    numbers[0] = number;
    numbers[1] = t;
    for (i = 0; i < 2; i++) {
        do {
            *--end = (char)('0' + numbers[i] % 10);
            numbers[i] /= 10;
        } while (numbers[i] > 0);
        *--end = ' ';
    }
    for (i = 0; what[i] != '\0'; i++) {
    }
    while (i > 0) {
        *--end = what[--i];
    }
    print_line(end);
}

static void must(foretune_error error)
{
    if (error != FORETUNE_OK) {
        print_line(foretune_error_text(error));
        end(1);
    }
}

static float objective(const struct foretune_query *query)
{
    float distance = 0.0f;
    int i;
    for (i = 0; i < 4; i++) {
        distance += (query->unit[i] - 0.6f) * (query->unit[i] - 0.6f);
    }
    return 1.0f / (0.3f + distance) - 0.05f * (float)query->fidelity;
}

static void count(uint32_t t)
{
    struct foretune_problem problem;
    struct foretune_settings settings;
    struct foretune_status status;
    struct foretune_query query;
    struct foretune *tuner;
    foretune_progress progress;
    uint64_t before, steps = 0;
    size_t length;
    must(foretune_plain_problem(&problem));
    problem.dimensions = dimensions;
    problem.dimension_count = 4;
    problem.fidelities = fidelities;
    problem.fidelity_count = 4;
    problem.budget = 1e6f;
    must(foretune_compact_settings(&settings));
    settings.observations = CAPACITY;
    settings.steps_per_round = 1;
    settings.steps_per_task = 0;
    settings.carried = 0;
    settings.initial = t;
    must(foretune_start(memory, sizeof memory, &problem, &settings, 1, &tuner));
    do {
        must(foretune_ask(tuner, &progress, &query));
        must(foretune_tell(tuner, &query, objective(&query)));
        must(foretune_status(tuner, &status));
    } while (status.observations < t);
    while (status.activity == FORETUNE_LEARNING) {
        before = ticks();
        must(foretune_advance(tuner, &progress, &query));
        steps += ticks() - before;
        must(foretune_status(tuner, &status));
    }
    print_count("step", t, steps * INSTRUCTIONS_PER_TICK);
    before = ticks();
    do {
        must(foretune_advance(tuner, &progress, &query));
    } while (progress == FORETUNE_WORKING);
    print_count("ask", t, (ticks() - before) * INSTRUCTIONS_PER_TICK);
    must(foretune_stop(tuner));
    must(foretune_ask(tuner, &progress, &query));
    before = ticks();
    must(foretune_knowledge(tuner, knowledge, sizeof knowledge, &length));
    print_count("snapshot", t, (ticks() - before) * INSTRUCTIONS_PER_TICK);
}

int main(void)
{
    (void)ticks(); /* Starts the timer. */
    count(10);
    count(40);
    count(128);
    print_line("done");
    return 0;
}
