/* Autotune for control loops: five simulated plants with a PID controller in service, tuned live by Foretune with a floor on
 * cost and a guard on overshoot, and by the relay method (Åström and Hägglund 1984) with the rules of Ziegler and Nichols
 * (1942) and of Tyreus and Luyben (1992). The same in Rust: core/examples/pid.rs.
 *
 *     cc -std=c11 -O2 -ffp-contract=off -I capi examples/pid.c target/debug/libforetune_c.a -lpthread -ldl -lm -o pid && ./pid
 *
 * A trial is a step of the setpoint from rest, with a step of the load at half time. Its cost is the mean absolute error, in
 * per cent of the step; overshoot is that before the load, in per cent of the step, too. `PID_TRIALS=1 ./pid` prints every
 * trial. Parameters, logarithms, guard and number of trials were chosen among some thirty variants on the seeds 1 to 5, and two of
 * the gains in use (level, lightly damped) changed on the way. The table is of other seeds, which were seen once before, with
 * 60 trials: 80 were taken after that. */
#include "foretune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS 3 /* seeds of the tuner, from FIRST on */
#define FIRST 101
#define TRIALS 80 /* of a run, the first one with the gains in use */
#define DELAYS 128
#define NOISE 0.002 /* standard deviation of the sensor, of the step */
#define GUARD 2.4f /* logarithm of 1 + overshoot: 10 % */

struct gains {
    double kp, ti, td;
};

/* a2 y'' + a1 y' + a0 y = u(t - dead) + load, with y = 1 the setpoint and u from low to high. */
struct plant {
    const char *name;
    double a2, a1, a0, dead, low, high, load, horizon, step;
    struct gains in_use; /* as somebody left it: slow and safe */
};

static const struct plant plants[] = {
    {"two lags, dead time", 0.5, 1.5, 1.0, 0.3, 0.0, 4.0, -0.5, 30.0, 0.01, {0.8, 2.0, 0.1}},
    {"DC motor, speed", 0.001, 0.11, 1.0, 0.005, -4.0, 4.0, -0.5, 2.0, 0.0005, {0.8, 0.1, 0.002}},
    {"oven", 12000.0, 340.0, 1.0, 25.0, 0.0, 3.0, -0.3, 6000.0, 2.0, {1.5, 400.0, 10.0}},
    {"level", 20.0, 10.0, 0.0, 1.0, -1.0, 1.0, -0.3, 240.0, 0.05, {1.0, 200.0, 0.5}},
    {"lightly damped", 1.0, 0.3, 1.0, 0.2, -3.0, 3.0, -0.5, 80.0, 0.02, {0.05, 0.5, 0.1}},
};

/* A plant that runs, and its noisy sensor. */
struct loop {
    const struct plant *plant;
    double y, slope, late[DELAYS];
    int next;
    uint32_t random;
};

static struct loop at_rest(const struct plant *plant, double y, uint32_t seed)
{
    struct loop loop = {plant, y, 0.0, {0.0}, 0, seed * 2654435761u + 1u};
    int i;
    for (i = 0; i < DELAYS; i++) {
        loop.late[i] = plant->a0 * y;
    }
    return loop;
}

/* One step of time. */
static void move(struct loop *loop, double u, double load)
{
    const struct plant *plant = loop->plant;
    int delay = (int)(plant->dead / plant->step + 0.5);
    double force = loop->late[(loop->next + DELAYS - delay) % DELAYS] + load;
    loop->late[loop->next] = u;
    loop->next = (loop->next + 1) % DELAYS;
    loop->slope += plant->step * (force - plant->a1 * loop->slope - plant->a0 * loop->y) / plant->a2;
    loop->y += plant->step * loop->slope;
}

/* The sum of twelve uniform numbers is nearly normal. */
static double sensor(struct loop *loop)
{
    double sum = -6.0;
    int i;
    for (i = 0; i < 12; i++) {
        loop->random = loop->random * 1664525u + 1013904223u;
        sum += (loop->random >> 8) / 16777216.0;
    }
    return loop->y + NOISE * sum;
}

struct result {
    float cost, overshoot;
};

/* A trial, with the derivative of the filtered measurement, and an integral that stands still while the actuator is at its end. */
static struct result trial(const struct plant *plant, struct gains gains, uint32_t seed)
{
    struct loop loop = at_rest(plant, 0.0, seed);
    struct result result = {0.0f, 0.0f};
    double integral = 0.0, filtered = 0.0, error = 0.0, peak = 0.0;
    double filter = plant->step / (gains.td / 8.0 + 4.0 * plant->step);
    int i, steps = (int)(plant->horizon / plant->step);
    for (i = 0; i < steps; i++) {
        double before = filtered, wanted, e = sensor(&loop), u;
        filtered += filter * (e - filtered);
        e = 1.0 - e;
        wanted = gains.kp * (e + integral / gains.ti - gains.td * (filtered - before) / plant->step);
        u = fmin(fmax(wanted, plant->low), plant->high);
        if (u == wanted || (wanted - u) * e < 0.0) {
            integral += plant->step * e;
        }
        move(&loop, u, 2 * i < steps ? 0.0 : plant->load);
        error += fmin(fabs(1.0 - loop.y), 10.0);
        if (2 * i < steps) {
            peak = fmax(peak, loop.y - 1.0);
        }
    }
    result.cost = (float)(100.0 * error / steps);
    result.overshoot = (float)(100.0 * fmin(peak, 10.0));
    return result;
}

/* A relay of a tenth of the actuator's range around the setpoint: ultimate gain and period, and how far it went above. */
static float relay(const struct plant *plant, double *gain, double *period)
{
    struct loop loop = at_rest(plant, 1.0, 1);
    double size = 0.1 * (plant->high - plant->low), band = 3.0 * NOISE, worst = 0.0, high = 0.0, low = 0.0;
    double last = 0.0, periods = 0.0, amplitudes = 0.0, t;
    int up = 1, cycles = 0;
    for (t = 0.0; cycles < 12 && t < 100.0 * plant->horizon; t += plant->step) {
        double e = 1.0 - sensor(&loop);
        if (!up && e > band) { /* a cycle ends; the first four are the transient */
            if (++cycles > 4) {
                periods += (t - last) / 8.0;
                amplitudes += (high - low) / 16.0;
            }
            last = t;
            high = low = loop.y;
        }
        up = up ? e > -band : e > band;
        move(&loop, plant->a0 + (up ? size : -size), 0.0);
        high = fmax(high, loop.y);
        low = fmin(low, loop.y);
        worst = fmax(worst, loop.y - 1.0);
    }
    *period = periods;
    *gain = 4.0 * size / (3.141592653589793 * sqrt(amplitudes * amplitudes - band * band));
    return (float)(100.0 * worst);
}

static struct gains gains_of(const struct plant *plant, const double *point)
{
    struct gains gains = plant->in_use;
    gains.kp *= exp2(point[0]);
    gains.ti *= exp2(point[1]);
    gains.td *= exp2(point[2]);
    return gains;
}

static void must(foretune_error error)
{
    if (error != FORETUNE_OK) {
        fprintf(stderr, "%s\n", foretune_error_text(error));
        exit(1);
    }
}

/* Powers of two of the gains in use. */
static const struct foretune_dimension dimensions[] = {
    {FORETUNE_INTERVAL, -1.0, 5.0, 0, NULL},
    {FORETUNE_INTERVAL, -3.0, 3.0, 0, NULL},
    {FORETUNE_INTERVAL, -1.0, 5.0, 0, NULL},
};
static const struct foretune_fidelity fidelity = {1.0f, 1, 1e-5f};
static const double in_use[] = {0.0, 0.0, 0.0};
static const float noise[] = {0.003f};
static const struct foretune_guard guard = {FORETUNE_AT_MOST, FORETUNE_FLOOR_VALUE, GUARD, 0.05f, noise};
static _Alignas(FORETUNE_COMPACT_ALIGN) unsigned char
    memory[FORETUNE_SIZE(3, 1, TRIALS, 10, 128) + FORETUNE_GUARDS_SIZE(1, TRIALS, 128)];

/* Tunes while the loop is in service; the gains that are recommended, and the worst overshoot of all trials. */
static struct gains tuned(const struct plant *plant, uint32_t seed, float *worst)
{
    struct foretune_problem problem;
    struct foretune_settings settings;
    struct foretune_recommendation found;
    struct foretune_query query;
    struct foretune *tuner;
    foretune_progress progress;

    must(foretune_plain_problem(&problem));
    must(foretune_live_settings(&settings));
    settings.observations = TRIALS;
    problem.dimensions = dimensions;
    problem.dimension_count = 3;
    problem.fidelities = &fidelity;
    problem.fidelity_count = 1;
    problem.budget = TRIALS;
    problem.goal = FORETUNE_MINIMISE;
    problem.deployed = in_use;
    problem.floor = FORETUNE_FLOOR_DROP; /* at most a fifth worse than with the gains in use */
    problem.floor_level = 0.2f;
    problem.risk = 0.05f;
    problem.guards = &guard;
    problem.guard_count = 1;
    must(foretune_start(memory, sizeof memory, &problem, &settings, seed, &tuner));
    for (;;) {
        struct result result;
        float overshoot;
        must(foretune_ask(tuner, &progress, &query));
        if (progress == FORETUNE_DONE) {
            break;
        }
        result = trial(plant, gains_of(plant, query.point), 1000u * seed + query.round);
        *worst = fmaxf(*worst, result.overshoot);
        if (getenv("PID_TRIALS") != NULL) {
            printf("trial %2u  %9.6f %9.6f %9.6f  cost %10.6f  overshoot %10.6f\n", query.round, query.point[0], query.point[1],
                   query.point[2], result.cost, result.overshoot);
        }
        /* Both span decades: their logarithms are told. */
        overshoot = (float)log(1.0 + result.overshoot);
        must(foretune_tell_all(tuner, &query, (float)log(result.cost), &overshoot, 1));
    }
    must(foretune_recommendation(tuner, &found));
    return gains_of(plant, found.point);
}

/* A row of the table: means of the runs, and in brackets the worst. */
static void compare(const struct plant *plant)
{
    double gain, period, cost = 0.0, costliest = 0.0, over = 0.0, worst = 0.0;
    float relayed = relay(plant, &gain, &period);
    struct gains zn_rule = {0.6 * gain, 0.5 * period, 0.125 * period};
    struct gains tl_rule = {gain / 2.2, 2.2 * period, period / 6.3};
    struct result zn = trial(plant, zn_rule, 1), tl = trial(plant, tl_rule, 1);
    uint32_t seed;
    for (seed = FIRST; seed < FIRST + RUNS; seed++) {
        float overshoot = 0.0f;
        struct result result = trial(plant, tuned(plant, seed, &overshoot), 1);
        overshoot = fmaxf(overshoot, result.overshoot);
        cost += result.cost / RUNS;
        costliest = fmax(costliest, result.cost);
        over += overshoot / RUNS;
        worst = fmax(worst, overshoot);
    }
    printf("%-20s%6.2f %6.2f (%5.2f) %4.0f (%2.0f) %9.2f %4.0f %9.2f %4.0f\n", plant->name,
           trial(plant, plant->in_use, 1).cost, cost, costliest, over, worst, zn.cost, fmaxf(relayed, zn.overshoot), tl.cost,
           fmaxf(relayed, tl.overshoot));
}

/* `./pid PLANT KP TI TD`: one trial, for `pid.toml`. */
static int measure(char **words)
{
    struct gains gains = {atof(words[2]), atof(words[3]), atof(words[4])};
    int plant = atoi(words[1]);
    if (plant < 0 || plant >= (int)(sizeof plants / sizeof plants[0])) {
        return 1;
    } else {
        struct result result = trial(&plants[plant], gains, 1);
        printf("{\"value\": %.6f, \"peak\": %.6f}\n", result.cost, 100.0 + result.overshoot);
        return 0;
    }
}

int main(int count, char **words)
{
    size_t i;
    if (count == 5) {
        return measure(words);
    }
    puts("                    in use     Foretune (worst run)   Ziegler-Nichols  Tyreus-Luyben");
    puts("                      cost           cost  overshoot   cost overshoot  cost overshoot");
    for (i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        compare(&plants[i]);
    }
    return 0;
}
