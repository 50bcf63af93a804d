/* Tunes through the C interface alone: no operating system, no allocator, no C library. */
#include "tune.h"

static const float margins[] = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 6.0f};

static const struct foretune_dimension dimensions[] = {
    {FORETUNE_GRID, -100.0, 24.0, 63, NULL},
    {FORETUNE_LEVELS, 0.0, 0.0, 6, margins},
};

static const struct foretune_fidelity fidelities[] = {
    {1.0f, 10, 0.04f},
    {4.0f, 100, 0.004f},
};

/* The caller owns the memory: here for 2 dimensions, 2 fidelities, 40 observations, 10 particles, 80 candidates. */
#ifdef __cplusplus
alignas(FORETUNE_COMPACT_ALIGN)
#else
_Alignas(FORETUNE_COMPACT_ALIGN)
#endif
static unsigned char memory[FORETUNE_SIZE(2, 2, 40, 10, 80)];

/* Your measurement: sets the parameters, counts errors, takes its time. */
static float measure(const struct foretune_query *query)
{
    float best = query->task == 1 ? -40.0f : -30.0f;
    float power = ((float)query->point[0] - best) / 30.0f;
    float margin = ((float)query->point[1] - 2.0f) / 4.0f;
    return 1.0f - power * power - margin * margin + 0.01f * (float)query->fidelity;
}

/* FNV-1a over the bits of every query. */
static uint32_t mix(uint32_t digest, uint32_t word)
{
    int i;
    for (i = 0; i < 4; i++) {
        digest = (digest ^ (word >> (8 * i) & 0xffu)) * 16777619u;
    }
    return digest;
}

static uint32_t bits(float number)
{
    union {
        float number;
        uint32_t bits;
    } both;
    both.number = number;
    return both.bits;
}

static uint32_t mix_query(uint32_t digest, const struct foretune_query *query)
{
    int i;
    digest = mix(mix(mix(digest, query->task), query->round), query->fidelity);
    for (i = 0; i < 2; i++) {
        digest = mix(mix(digest, bits((float)query->point[i])), bits(query->unit[i]));
    }
    return digest;
}

/* `name` and a number in hexadecimal, without a C library. */
static void print_number(const char *name, uint32_t number)
{
    char line[64];
    int length = 0, digit;
    while (*name != '\0' && length < 48) {
        line[length++] = *name++;
    }
    line[length++] = ' ';
    for (digit = 7; digit >= 0; digit--) {
        line[length++] = "0123456789abcdef"[number >> (4 * digit) & 15u];
    }
    line[length] = '\0';
    print_line(line);
}

static int failed(foretune_error error)
{
    if (error != FORETUNE_OK) {
        print_line(foretune_error_text(error));
    }
    return error != FORETUNE_OK;
}

/* What must survive a reset beside the tuner's own snapshot: the digest so far, at the end of the bytes. */
static foretune_error save(struct foretune *tuner, struct storage *storage, uint32_t digest)
{
    size_t room = sizeof storage->bytes - 4, length = 0;
    foretune_error error = foretune_snapshot(tuner, storage->bytes, room, &length);
    int i;
    if (error == FORETUNE_OK) {
        for (i = 0; i < 4; i++) {
            storage->bytes[room + i] = (uint8_t)(digest >> (8 * i));
        }
        storage->length = length;
    }
    return error;
}

static foretune_error restore(struct foretune *tuner, const struct storage *storage, uint32_t *digest)
{
    size_t room = sizeof storage->bytes - 4;
    foretune_error error = foretune_restore(tuner, storage->bytes, storage->length);
    int i;
    if (error == FORETUNE_OK) {
        *digest = 0;
        for (i = 0; i < 4; i++) {
            *digest |= (uint32_t)storage->bytes[room + i] << (8 * i);
        }
    }
    return error;
}

/* Asks, measures and tells until the task ends. */
static int run_task(struct foretune *tuner, struct storage *storage, uint32_t *digest,
                    void (*interrupt)(uint32_t task, uint32_t round))
{
    struct foretune_query query;
    foretune_progress progress;
    for (;;) {
        /* To serve a watchdog or a line meanwhile, call foretune_advance slice by slice instead. */
        if (failed(foretune_ask(tuner, &progress, &query))) {
            return 1;
        }
        if (progress == FORETUNE_DONE) {
            return 0;
        }
        if (interrupt != NULL) {
            interrupt(query.task, query.round);
        }
        *digest = mix_query(*digest, &query);
        if (query.round == 5) { /* A measurement may fail. */
            if (failed(foretune_fail(tuner, &query))) {
                return 1;
            }
        } else if (failed(foretune_tell(tuner, &query, measure(&query)))) {
            return 1;
        }
        if (storage != NULL && failed(save(tuner, storage, *digest))) {
            return 1;
        }
    }
}

int tune(struct storage *storage, void (*interrupt)(uint32_t task, uint32_t round))
{
    struct foretune_problem problem;
    struct foretune_settings settings;
    struct foretune_recommendation found;
    struct foretune_status status;
    struct foretune *tuner;
    uint32_t digest = 2166136261u;

    if (failed(foretune_plain_problem(&problem)) || failed(foretune_compact_settings(&settings))) {
        return 1;
    }
    problem.dimensions = dimensions;
    problem.dimension_count = sizeof dimensions / sizeof dimensions[0];
    problem.fidelities = fidelities;
    problem.fidelity_count = sizeof fidelities / sizeof fidelities[0];
    problem.budget = 30.0f;
    problem.goal = FORETUNE_MAXIMISE;
    settings.observations = 40;
    if (failed(foretune_start(memory, sizeof memory, &problem, &settings, 7, &tuner))) {
        return 1;
    }
    if (storage != NULL && storage->length > 0 && failed(restore(tuner, storage, &digest))) {
        return 1;
    }
    for (;;) {
        if (run_task(tuner, storage, &digest, interrupt) != 0) {
            return 1;
        }
        if (failed(foretune_status(tuner, &status)) || failed(foretune_recommendation(tuner, &found))) {
            return 1;
        }
        print_number("task", status.task);
        print_number("queries", digest);
        print_number("found", bits(found.point[0]));
        if (status.task == 2) {
            return 0;
        }
        if (failed(foretune_next_task(tuner)) || (storage != NULL && failed(save(tuner, storage, digest)))) {
            return 1;
        }
    }
}
