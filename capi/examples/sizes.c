/* FORETUNE_SIZE is enough, whatever the compiler and the processor: asked of the library over a grid of sizes. */
#include "tune.h"

#ifdef __cplusplus
#define ASSERT static_assert
#else
#define ASSERT _Static_assert
#endif

ASSERT(FORETUNE_SIZE(4, 4, 64, 10, 80) <= FORETUNE_COMPACT_SIZE, "the compact size is too small");

int sizes(void)
{
    static const uint32_t few[] = {1, 4, 7}, slots[] = {15, 64, 201}, particles[] = {1, 10, 16},
                          candidates[] = {16, 80, 300};
    struct foretune_dimension dimensions[FORETUNE_MAX_DIMENSIONS];
    struct foretune_fidelity fidelities[FORETUNE_MAX_FIDELITIES];
    static const float noise[FORETUNE_MAX_FIDELITIES] = {0.0f};
    static const double deployed[FORETUNE_MAX_DIMENSIONS] = {0.0};
    struct foretune_guard guards[FORETUNE_MAX_GUARDS];
    struct foretune_problem problem;
    struct foretune_settings settings;
    size_t size, bound, spare;
    int i;
    for (i = 0; i < FORETUNE_MAX_DIMENSIONS; i++) {
        dimensions[i].kind = FORETUNE_INTERVAL;
        dimensions[i].low = 0.0;
        dimensions[i].high = 1.0;
        dimensions[i].levels = 0;
        dimensions[i].values = NULL;
    }
    for (i = 0; i < FORETUNE_MAX_FIDELITIES; i++) {
        fidelities[i].cost = 1.0f;
        fidelities[i].samples = 1;
        fidelities[i].noise = 0.1f;
    }
    for (i = 0; i < FORETUNE_MAX_GUARDS; i++) {
        guards[i].side = FORETUNE_AT_MOST;
        guards[i].floor = FORETUNE_FLOOR_VALUE;
        guards[i].level = 1.0f;
        guards[i].risk = 0.1f;
        guards[i].noise = noise;
    }
    foretune_plain_problem(&problem);
    foretune_live_settings(&settings);
    problem.dimensions = dimensions;
    problem.fidelities = fidelities;
    problem.budget = 10.0f;
    problem.deployed = deployed;
    problem.guards = guards;
    for (i = 0; i < 243; i++) {
        problem.dimension_count = few[i % 3] * 2;
        problem.fidelity_count = few[i / 3 % 3];
        settings.observations = slots[i / 9 % 3];
        settings.particles = particles[i / 27 % 3];
        settings.candidates = candidates[i / 81];
        problem.guard_count = (size_t)(i % 5);
        bound = FORETUNE_SIZE(problem.dimension_count, problem.fidelity_count, settings.observations, settings.particles,
                              settings.candidates);
        if (problem.guard_count > 0) {
            bound += FORETUNE_GUARDS_SIZE(problem.guard_count, settings.observations, settings.candidates);
        }
        /* Counted, but used only by methods of the paper, which this library may be built without. */
        spare = settings.observations * (4 * problem.dimension_count + 1);
        if (foretune_check(&problem, &settings, &size, NULL, 0) != FORETUNE_OK || size > bound
            || bound > size + spare + 1500) {
            return 1;
        }
    }
    return 0;
}
