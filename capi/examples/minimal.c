/* The least that it takes: one transmit power is tuned, twice, against a made-up radio; the second task starts from what the
 * first one taught. The same as firmware/examples/minimal.rs. */
#include "foretune.h"


/* Prints one line of text: yours. */
void print_line(const char *line);
int main(void);

static const struct foretune_dimension power = {FORETUNE_GRID, -100.0, 24.0, 63, NULL};
static const struct foretune_fidelity fidelities[] = {{1.0f, 10, 0.04f}, {4.0f, 100, 0.004f}};

/* 1 dimension, 2 fidelities, 24 observations, 10 particles, 128 candidates. */
static _Alignas(FORETUNE_COMPACT_ALIGN) unsigned char memory[FORETUNE_SIZE(1, 2, 24, 10, 128)];

/* Your measurement: sets the power, counts errors, takes its time. */
static float measure(float power, float best)
{
    float distance = (power - best) / 30.0f;
    return 1.0f - distance * distance;
}

int main(void)
{
    static const float best[] = {-40.0f, -30.0f};
    struct foretune_problem problem;
    struct foretune_settings settings;
    struct foretune_recommendation found;
    struct foretune_query query;
    struct foretune *tuner;
    foretune_progress progress;
    int task;

    foretune_plain_problem(&problem);
    problem.dimensions = &power;
    problem.dimension_count = 1;
    problem.fidelities = fidelities;
    problem.fidelity_count = 2;
    problem.budget = 30.0f;
    foretune_default_settings(&settings);
    settings.observations = 24;
    if (foretune_start(memory, sizeof memory, &problem, &settings, 7, &tuner) != FORETUNE_OK) {
        return 1;
    }
    for (task = 0; task < 2; task++) {
        /* To serve interrupts, a watchdog or a line meanwhile, call foretune_advance slice by slice instead. */
        while (foretune_ask(tuner, &progress, &query) == FORETUNE_OK && progress == FORETUNE_QUERY) {
            if (foretune_tell(tuner, &query, measure((float)query.point[0], best[task])) != FORETUNE_OK) {
                return 2;
            }
        }
        if (foretune_recommendation(tuner, &found) != FORETUNE_OK) {
            return 3;
        }
        if (found.point[0] < best[task] - 10.0f || found.point[0] > best[task] + 10.0f) {
            return 4;
        }
        print_line(task == 0 ? "first task: found" : "second task: found");
        if (foretune_next_task(tuner) != FORETUNE_OK) {
            return 5;
        }
    }
    return 0;
}
