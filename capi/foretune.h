/* Foretune from C: a tuner for what is expensive to measure. docs/guide/c.md is the guide.
 *
 * Made by cbindgen from capi/src; do not edit.
 *
 * - The caller owns the memory: the library has no allocator, no I/O, no clock.
 * - Every function returns FORETUNE_OK or why it did nothing; foretune_error_text has it in words.
 * - Same seed, settings and answers give the same queries, bit for bit, on every machine.
 * - One tuner is used by one thread at a time. Any number of tuners work side by side.
 * - Pointers are null, or point to what they say; nothing that is passed lies in a tuner's memory.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */


#ifndef FORETUNE_H
#define FORETUNE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are enough for d dimensions, m fidelities, n observations, v particles, q candidates and up to
 * FORETUNE_MAX_LIMITS limits; foretune_check says how many a problem takes exactly. */
#define FORETUNE_SIZE(d, m, n, v, q) \
    (FORETUNE_HEAD + 3 * sizeof(void *) * ((size_t)(d) + FORETUNE_MAX_LIMITS) + 36 * (size_t)(d) + 12 * (size_t)(m) + 16 \
     + 4 * (size_t)(n) * (n) + (size_t)(n) * (20 * (size_t)(d) + 122) + 10 * ((size_t)(d) * ((d) + 1) + 4) * (v) \
     + ((size_t)(q) > (size_t)(n) ? (size_t)(q) : (size_t)(n)) * (4 * (size_t)(d) + 28 * (size_t)(m) + 8) \
     + 224 * (size_t)(d) + 128 * (size_t)(v))

/* What is added to it for g guards. */
#define FORETUNE_GUARDS_SIZE(g, n, q) \
    ((size_t)(g) * (6 * sizeof(void *) + 96 + 4 * (size_t)(n) \
     + 8 * ((size_t)(q) > (size_t)(n) ? (size_t)(q) : (size_t)(n))) + 4 * (size_t)(n))

/* And where n is enough for every choice at every fidelity, without floor, guards and conditions: for 2 n measurements that repeat
 * others. */
#define FORETUNE_REPEATS_SIZE(d, n) ((size_t)(n) * (8 * (size_t)(d) + 42) + 4)

// What the memory must be aligned to: every tuner's, not only the compact one's.
#define FORETUNE_COMPACT_ALIGN 8

// Bytes per observation that a memory needs beyond FORETUNE_SIZE(...), if foretune_set_fleet is to be called.
#define FORETUNE_FLEET_BYTES 28

// Bytes of memory that are enough for 4 dimensions, 4 fidelities, 64 observations, 10 particles, 80 candidates and 8
// limits.
#define FORETUNE_COMPACT_SIZE 49408

// Bytes at the head of a tuner's memory, at most: a part of FORETUNE_SIZE.
#define FORETUNE_HEAD 3152

// Most dimensions of a problem.
#define FORETUNE_MAX_DIMENSIONS 16

// Most fidelities of a problem; one less if values of earlier tasks are remembered.
#define FORETUNE_MAX_FIDELITIES 8

// Most limits of a problem.
#define FORETUNE_MAX_LIMITS 8

// Most guards of a problem.
#define FORETUNE_MAX_GUARDS 4

// Bytes of a watch.
#define FORETUNE_WATCH_BYTES 244

// Why a call did nothing. Whatever the error, nothing has changed.
enum foretune_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // All is well.
  FORETUNE_OK = 0,
  // A pointer is null.
  FORETUNE_NULL = 1,
  // A pointer is not aligned as its type, or the memory not by FORETUNE_COMPACT_ALIGN.
  FORETUNE_MISALIGNED = 2,
  // The memory or the buffer is too small.
  FORETUNE_TOO_SMALL = 3,
  // There is no tuner: foretune_start was not called or has failed, or the memory was moved or overwritten.
  FORETUNE_NOT_STARTED = 4,
  // A field of the settings is out of its range; foretune_check says which.
  FORETUNE_SETTING = 5,
  // A dimension of the problem is malformed; foretune_check says which and how.
  FORETUNE_DIMENSION = 6,
  // A fidelity of the problem is malformed; foretune_check says which and how.
  FORETUNE_FIDELITY = 7,
  // The budget is negative or not finite.
  FORETUNE_BUDGET = 8,
  // Point in use, floor, risk, tolerance, limits or guards make no sense; foretune_check says what is wrong. Of foretune_deploy and
  // foretune_add_past: the point lies outside ranges or limits (between two levels the nearest counts), or there is no such fidelity.
  FORETUNE_LIVE = 9,
  // There are not enough slots for observations, or too many fidelities for remembered values.
  FORETUNE_CAPACITY = 10,
  // An observation is NaN or infinite; a KPI or a past measurement is, or lies beyond 1e30.
  FORETUNE_NOT_FINITE = 11,
  // An observation lies more than a million standard deviations from the others, or beyond 1e30.
  FORETUNE_OUTLIER = 12,
  // What a measurement cost is negative or not finite.
  FORETUNE_COST = 13,
  // The query answered is not the one that was asked last.
  FORETUNE_UNKNOWN_QUERY = 14,
  // The call does not fit what the tuner is doing now.
  FORETUNE_OUT_OF_TURN = 15,
  // The task has ended without any observation, so that there is no recommendation.
  FORETUNE_NOTHING_OBSERVED = 16,
  // Saved bytes: fewer than they should be.
  FORETUNE_TRUNCATED = 17,
  // Saved bytes: not ours.
  FORETUNE_FOREIGN = 18,
  // Saved bytes: written by a newer version of this library.
  FORETUNE_NEWER = 19,
  // Saved bytes: written by a version of this library that is too old.
  FORETUNE_OLDER = 20,
  // Saved bytes: damaged.
  FORETUNE_CHECKSUM = 21,
  // Saved bytes: taken with another model or number of particles.
  FORETUNE_OTHER_MODEL = 22,
  // Saved bytes: learnt on another problem.
  FORETUNE_OTHER_PROBLEM = 23,
  // Saved bytes: taken within a task with other settings or another problem.
  FORETUNE_OTHER_SETTINGS = 24,
  // Saved bytes: they contradict each other.
  FORETUNE_CONTENTS = 25,
  // Anything else.
  FORETUNE_INTERNAL = 26,
  // An answer does not have one KPI for every guard of the problem.
  FORETUNE_KPIS = 27,
  // The conditions are not as many as the problem has, out of their ranges, or others than those that the query which waits
  // was asked under.
  FORETUNE_CONDITIONS = 28,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_error foretune_error;
#else
typedef uint32_t foretune_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a call came to.
enum foretune_progress
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // There is more to do: call again.
  FORETUNE_WORKING = 0,
  // There is a query to answer.
  FORETUNE_QUERY = 1,
  // The query was handed out before and still wants its answer.
  FORETUNE_WAITING = 2,
  // The task has ended.
  FORETUNE_DONE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_progress foretune_progress;
#else
typedef uint32_t foretune_progress;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a dimension is.
enum foretune_dimension_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Any value between low and high.
  FORETUNE_INTERVAL = 0,
  // Evenly spaced levels from low to high, both included.
  FORETUNE_GRID = 1,
  // A list of strictly ascending levels.
  FORETUNE_LEVELS = 2,
  // Not chosen but known, such as a load: any value between low and high, given with foretune_ask_at.
  FORETUNE_CONDITION = 3,
  // Values without an order, as many as levels says, 2 to 8: each is its index, from 0. In FORETUNE_SIZE, one of more than two
  // values counts as so many dimensions. With a floor or guards, a value that was never measured is not tried: hand in a
  // measurement of it with foretune_add_past.
  FORETUNE_CATEGORY = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_dimension_kind foretune_dimension_kind;
#else
typedef uint32_t foretune_dimension_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whether larger or smaller observations are better.
enum foretune_goal
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Larger is better.
  FORETUNE_MAXIMISE = 0,
  // Smaller is better.
  FORETUNE_MINIMISE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_goal foretune_goal;
#else
typedef uint32_t foretune_goal;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How the floor is meant, with v what the point in use gives.
enum foretune_floor
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // There is none.
  FORETUNE_NO_FLOOR = 0,
  // This value.
  FORETUNE_FLOOR_VALUE = 1,
  // So much worse than v; above 0.
  FORETUNE_FLOOR_DROP = 2,
  // This share of v, from 0 to below 1.
  FORETUNE_FLOOR_SHARE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_floor foretune_floor;
#else
typedef uint32_t foretune_floor;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// On which side of its bound a KPI is kept.
enum foretune_side
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It must not fall below: larger is better.
  FORETUNE_AT_LEAST = 0,
  // It must not rise above: smaller is better.
  FORETUNE_AT_MOST = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_side foretune_side;
#else
typedef uint32_t foretune_side;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What settings start from; it decides what the fields of foretune_settings do not say.
enum foretune_preset
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The default.
  FORETUNE_PRESET_DEFAULT = 0,
  // For a system in service, with a floor.
  FORETUNE_PRESET_LIVE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_preset foretune_preset;
#else
typedef uint32_t foretune_preset;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a query came about.
enum foretune_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A point of the random start, or the point in use.
  FORETUNE_KIND_INITIAL = 0,
  // A point carried on from an earlier task.
  FORETUNE_KIND_CARRIED = 1,
  // A point that the search found.
  FORETUNE_KIND_SEARCH = 2,
  // A measurement from before the task.
  FORETUNE_KIND_PAST = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_kind foretune_kind;
#else
typedef uint32_t foretune_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the tuner is busy with.
enum foretune_activity
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Draws or restores particles.
  FORETUNE_PREPARING = 0,
  // Replays what was observed before a restart.
  FORETUNE_REPLAYING = 1,
  // Moves particles.
  FORETUNE_LEARNING = 2,
  // Looks for the next query.
  FORETUNE_SEARCHING = 3,
  // Waits for an answer.
  FORETUNE_AWAITING = 4,
  // The task has ended.
  FORETUNE_ENDED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_activity foretune_activity;
#else
typedef uint32_t foretune_activity;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Why a task ended.
enum foretune_stop_reason
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It has not.
  FORETUNE_STOP_NONE = 0,
  // No fidelity can be paid any more.
  FORETUNE_STOP_BUDGET = 1,
  // All slots for observations are used.
  FORETUNE_STOP_CAPACITY = 2,
  // Everything worth asking has been asked.
  FORETUNE_STOP_EXHAUSTED = 3,
  // Going on is not expected to improve the recommendation by more than the tolerance.
  FORETUNE_STOP_TOLERANCE = 4,
  // foretune_stop was called.
  FORETUNE_STOP_REQUESTED = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_stop_reason foretune_stop_reason;
#else
typedef uint32_t foretune_stop_reason;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the answers say of a fleet's prior.
enum foretune_fleet
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // There is none.
  FORETUNE_NO_FLEET = 0,
  // Not enough: what is tried must be allowed without it, too.
  FORETUNE_FLEET_WEIGHED = 1,
  // The answers speak for it.
  FORETUNE_FLEET_SUPPORTED = 2,
  // They speak against it: it does not count.
  FORETUNE_FLEET_REFUTED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_fleet foretune_fleet;
#else
typedef uint32_t foretune_fleet;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// In which way readings change.
enum foretune_change
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // They are lower.
  FORETUNE_DOWN = 0,
  // They are higher.
  FORETUNE_UP = 1,
  // They spread more.
  FORETUNE_WIDER = 2,
  // They spread less.
  FORETUNE_NARROWER = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum foretune_change foretune_change;
#else
typedef uint32_t foretune_change;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the core's numbers of a dimension mean.
struct Edge;

// A tuner, at the head of the caller's memory. What is in it is the library's affair.
struct foretune;

// One parameter to tune, or a condition.
struct foretune_dimension {
  // A foretune_dimension_kind.
  uint32_t kind;
  // Lower end, but of a list or a category.
  double low;
  // Upper end, but of a list or a category. A range below 1/256 of its larger end, such as 2.400e9 to 2.405e9, loses nothing, nor does
  // a grid with steps below 1/4096 of that; in others parameters and limits are rounded as floats are, to 256 near 2.4e9.
  double high;
  // Number of levels of a grid or a list, 2 to 65535; of values of a category, 2 to 8.
  uint32_t levels;
  // The levels of a list; read as long as the tuner is used.
  const float *values;
};

// How long to measure. The last fidelity of a problem is the truth.
struct foretune_fidelity {
  // Cost of one measurement, in units of the budget; 1e-12 to 1e12.
  float cost;
  // How many samples the measurement averages: for whoever measures, the tuner does not look at it.
  uint32_t samples;
  // Variance of the observation noise, in squared units of the observation; at least 0.
  float noise;
};

// A linear inequality over the parameters: the sum of coefficients times parameters is at most this.
struct foretune_limit {
  // One per dimension; read as long as the tuner is used.
  const float *coefficients;
  // What the sum may be at most.
  double at_most;
};

// A KPI that is measured with the objective and has a bound to keep while the objective is tuned.
struct foretune_guard {
  // A foretune_side.
  uint32_t side;
  // A foretune_floor, but not FORETUNE_NO_FLOOR: how the bound is meant.
  uint32_t floor;
  // The bound's number.
  float level;
  // Share of the time that trials may break it, 0.001 to 0.5; time is what they cost.
  float risk;
  // Variance of the KPI's noise, one per fidelity, at least 0; read as long as the tuner is used.
  const float *noise;
};

// What is tuned. foretune_plain_problem writes one to start from.
struct foretune_problem {
  // The parameters to tune, and the conditions that are known.
  const struct foretune_dimension *dimensions;
  // How many, 1 to FORETUNE_MAX_DIMENSIONS.
  size_t dimension_count;
  // The fidelities, costs ascending; the last is the truth.
  const struct foretune_fidelity *fidelities;
  // How many, 1 to FORETUNE_MAX_FIDELITIES.
  size_t fidelity_count;
  // What a task may spend.
  float budget;
  // A foretune_goal.
  uint32_t goal;
  // The point in use when the first task starts, one value per dimension; null: there is none. It is then the first
  // query, and every query is charged. Later tasks, also after foretune_load, start from the last recommendation or from
  // what foretune_deploy says. Its values for conditions are not looked at.
  const double *deployed;
  // A foretune_floor: what trials should keep above. It needs a point in use.
  uint32_t floor;
  // The floor's number.
  float floor_level;
  // Share of the time that trials may be below the floor, 0.001 to 0.5; time is what they cost.
  float risk;
  // A task ends when going on is not expected to improve the recommendation by more than this share of its value; 0, to
  // use the whole budget, to 1.
  float tolerance;
  // What holds for every query and every recommendation. It needs a point in use that keeps to it.
  const struct foretune_limit *limits;
  // How many, 0 to FORETUNE_MAX_LIMITS.
  size_t limit_count;
  // What other numbers of every measurement must keep. They need a point in use; answers then carry these numbers, in this
  // order: foretune_tell_all.
  const struct foretune_guard *guards;
  // How many, 0 to FORETUNE_MAX_GUARDS.
  size_t guard_count;
};

// How it is tuned. Take a preset, foretune_default_settings say, and change what you want; docs/guide/settings.md explains
// the fields. The preset decides the feature map: one lengthscale per dimension, in foretune_live_settings() after a shear.
struct foretune_settings {
  // Slots for observations of a task, remembered and past ones included, up to 65535. They are a budget, too: with
  // fewer slots than the budget could pay, longer and better measurements win.
  uint32_t observations;
  // A foretune_preset.
  uint32_t preset;
  // Number of particles, 1 to 16.
  uint32_t particles;
  // Learning steps after every observation, at most 1000000.
  uint32_t steps_per_round;
  // Learning steps at the end of a task, at most 1000000.
  uint32_t steps_per_task;
  // Weight of the information about the particles, 0 to 1e6.
  float beta;
  // Whether the next task starts from this one's particles: 0 or 1.
  uint32_t carry_particles;
  // How many of the last tasks' recommendations are carried on, 0 to 8.
  uint32_t carried;
  // How many of a task's answers the next one begins with, those that tell most; each takes a slot. 0: none.
  uint32_t kept;
  // Share of the budget that is spent before carried points and values play a part, 0 to 1.
  float memory_after;
  // Initial points, charged like all others, cheap fidelities drawn more often; at least 1.
  uint32_t initial;
  // Candidates of the search, at least 16.
  uint32_t candidates;
  // Share of the budget that is kept for the end, to measure at the target fidelity what would be recommended, 0 to 0.5.
  // With one fidelity, or if one such measurement takes more than half the budget, nothing is kept.
  float verify;
  // When an answer is an outlier and measured again: how many times farther from all others of the task it lies than these
  // are apart, 2 to 1000000. 0: every answer is believed.
  float confirm;
};

// What to measure next.
struct foretune_query {
  // Number of the task, from 1.
  uint32_t task;
  // Number of the query within the task, from 0.
  uint32_t round;
  // Index of the fidelity to measure with.
  uint32_t fidelity;
  // A foretune_kind.
  uint32_t kind;
  // Values of the parameters, as many as the problem has dimensions; zeros behind.
  double point[FORETUNE_MAX_DIMENSIONS];
  // The same in the unit cube.
  float unit[FORETUNE_MAX_DIMENSIONS];
};

// The point to use when a task has ended.
struct foretune_recommendation {
  // Values of the parameters, as many as the problem has dimensions; zeros behind.
  double point[FORETUNE_MAX_DIMENSIONS];
  // The same in the unit cube.
  float unit[FORETUNE_MAX_DIMENSIONS];
  // What is expected there, in units of the observations.
  float mean;
  // Its standard deviation.
  float deviation;
  // 1 if floor and guards are kept there with the probability that their risks ask for; 0: not, and this is the point in use.
  uint32_t assured;
};

// Where a task stands.
struct foretune_status {
  // Number of the task, from 1.
  uint32_t task;
  // A foretune_activity.
  uint32_t activity;
  // A foretune_stop_reason.
  uint32_t stop;
  // Measurements so far, failed ones included.
  uint32_t observations;
  // Of these, how many failed.
  uint32_t failures;
  // Values remembered of earlier tasks, which take slots, too.
  uint32_t remembered;
  // Past measurements that were handed in, which take slots, too.
  uint32_t past;
  // Slots for more.
  uint32_t room;
  // Observations still to be replayed after a restore.
  uint32_t to_replay;
  // Spent of the budget.
  float spent;
  // Times that a noise variance was raised to what an f32 can bear.
  uint32_t noise_raised;
  // Pivots that were raised.
  uint32_t pivots_raised;
  // Times that a particle had no say, because its likelihood or gradient was not finite.
  uint32_t particles_silent;
  // Whether there is a point in use: 0 or 1. What follows is meaningful only then; NaN: not known.
  uint32_t live;
  // Trials that fell below the floor.
  uint32_t below;
  // Their share of the time, which is held at the risk.
  float below_time;
  // The margin below the mean that a query must have to the floor, in standard deviations.
  float margin;
  // The worst trial.
  float worst;
  // The mean over all trials, by cost.
  float meanwhile;
  // What the query that waits was expected to give.
  float expected;
  // How often the world changed in the middle of the task.
  uint32_t changes;
  // A foretune_fleet; with or without a point in use.
  uint32_t fleet;
  // By how many nats the answers speak for it; NaN without one.
  float fleet_evidence;
};

// How a guard is kept in a task, as the model sees it after each trial.
struct foretune_guard_status {
  // The margin that a query must have to the bound, in standard deviations.
  float margin;
  // The bound, in units of the KPI; NaN before the point in use is measured.
  float bound;
  // Trials that broke it, failed ones included.
  uint32_t broken;
  // What these cost.
  float broken_time;
  // Candidates that it ruled out in the last search.
  uint32_t ruled_out;
};

// What is called on a panic, an error of the library that should not be possible: the file (not terminated by a zero), the
// length of its name, and the line. It should not return: reset, or stop. If it does, the library stops.
typedef void (*foretune_panic_hook)(const char *file, size_t length, uint32_t line);

// A watch: bytes that may be copied, stored and read back at any time. They go on bit for bit, and damage is found.
struct foretune_watch {
  // What foretune_watch_start wrote and foretune_watch_tell keeps up to date.
  uint8_t bytes[FORETUNE_WATCH_BYTES];
};

// How a watch stands.
struct foretune_watch_status {
  // Readings since the start.
  uint32_t readings;
  // What is usual: the median of the first 13 readings; NaN before.
  float centre;
  // Their standard deviation, a multiple of the one told with each; NaN before.
  float deviation;
  // What speaks for a change, from 0 to 1: changed.
  float evidence;
  // The foretune_change that most speaks for; of no meaning while there is little evidence.
  uint32_t change;
};



#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes a problem that says nothing yet: no dimensions, no fidelities, no budget, to be maximised, nothing in use, no floor,
// no limits, no guards.
foretune_error foretune_plain_problem(struct foretune_problem *problem);

// Writes the preset of our choice: 10 particles, 128 candidates, 64 observations.
foretune_error foretune_default_settings(struct foretune_settings *settings);

// Writes the same with 80 candidates, which fits FORETUNE_COMPACT_SIZE.
foretune_error foretune_compact_settings(struct foretune_settings *settings);

// Writes the preset for a system in service, with a floor: it asks nearer to what is known to be good.
foretune_error foretune_live_settings(struct foretune_settings *settings);

// Says whether a problem and settings make sense, in words too, and how many bytes of memory they take (0 if they do not).
// The text is cut to its room and always ends with a zero; no text is written where the room is 0.
foretune_error foretune_check(const struct foretune_problem *problem,
                              const struct foretune_settings *settings,
                              size_t *size,
                              char *text,
                              size_t text_size);

// Starts the first task with a tuner in the caller's memory, and says where the tuner is.
//
// The memory is aligned by FORETUNE_COMPACT_ALIGN, and FORETUNE_SIZE(...) bytes or more. The structs and the point in use
// are copied; the arrays of floats that they point to are read as long as the tuner is used. A tuner that was there before
// is gone. There is nothing to free.
foretune_error foretune_start(void *memory,
                              size_t size,
                              const struct foretune_problem *problem,
                              const struct foretune_settings *settings,
                              uint64_t seed,
                              struct foretune **tuner);

// Does one slice of work, of bounded length: for those who serve a watchdog or a line meanwhile. The query is written if
// there is one (FORETUNE_QUERY, FORETUNE_WAITING).
foretune_error foretune_advance(struct foretune *tuner,
                                foretune_progress *progress,
                                struct foretune_query *query);

// Works until there is a query to answer or the task has ended: never FORETUNE_WORKING.
foretune_error foretune_ask(struct foretune *tuner, foretune_progress *progress, struct foretune_query *query);

// Answers the query with what was measured.
foretune_error foretune_tell(struct foretune *tuner, const struct foretune_query *query, float value);

// The same for a problem with guards: a KPI for each, in their order.
foretune_error foretune_tell_all(struct foretune *tuner,
                                 const struct foretune_query *query,
                                 float value,
                                 const float *kpis,
                                 size_t kpi_count);

// The measurement failed for good. It is charged and takes a slot, and another query follows.
foretune_error foretune_fail(struct foretune *tuner, const struct foretune_query *query);

// Answers the query with what was measured (null: it failed) and what that cost (null: its fidelity's cost).
foretune_error foretune_answer(struct foretune *tuner,
                               const struct foretune_query *query,
                               const float *value,
                               const float *cost);

// The same for a problem with guards: a KPI for each, in their order; of a measurement that failed, none is looked at.
foretune_error foretune_answer_all(struct foretune *tuner,
                                   const struct foretune_query *query,
                                   const float *value,
                                   const float *kpis,
                                   size_t kpi_count,
                                   const float *cost);

// Ends the task: what was observed is learnt by the next calls, and a recommendation made. A query outstanding is void.
foretune_error foretune_stop(struct foretune *tuner);

// Writes the recommendation, once the task has ended.
foretune_error foretune_recommendation(struct foretune *tuner, struct foretune_recommendation *recommendation);

// Starts the next task, once this one has ended.
foretune_error foretune_next_task(struct foretune *tuner);

// Forgets the task's observations and starts it anew; FORETUNE_OUT_OF_TURN once it has ended.
foretune_error foretune_restart(struct foretune *tuner);

// Says which point is in use, one value per dimension, if it is not the last recommendation; before the task's first slice of
// work, and in a problem with a point in use: else FORETUNE_OUT_OF_TURN.
foretune_error foretune_deploy(struct foretune *tuner,
                               const double *point);

// Hands in what was measured before the task; before its first slice of work. It takes a slot, but is not charged.
foretune_error foretune_add_past(struct foretune *tuner, const double *point, uint32_t fidelity, float value);

// The same for a problem with guards: a KPI for each, in their order.
foretune_error foretune_add_past_all(struct foretune *tuner,
                                     const double *point,
                                     uint32_t fidelity,
                                     float value,
                                     const float *kpis,
                                     size_t kpi_count);

// Starts from what other sites have in common: the bytes of a file that `foretune fleet learn` wrote, which stay where they
// are as long as the tuner is used, for instance in flash. Before the first slice of work, and before foretune_load and
// foretune_restore. The memory needs FORETUNE_FLEET_BYTES more per observation, else FORETUNE_CAPACITY is returned. Null: no
// fleet any more.
foretune_error foretune_set_fleet(struct foretune *tuner,
                                  const uint8_t *bytes,
                                  size_t size);

// Writes what the next task starts from, once this one has ended; and how many bytes that is. If they do not fit, what does
// not is cut off, and FORETUNE_TOO_SMALL is returned.
foretune_error foretune_knowledge(struct foretune *tuner,
                                  uint8_t *bytes,
                                  size_t size,
                                  size_t *length);

// Writes all that is needed to go on from here; and how many bytes that is, as foretune_knowledge does. Once the task has ended it
// is that: the next task begins from it, and the recommendation is not in it.
foretune_error foretune_snapshot(struct foretune *tuner,
                                 uint8_t *bytes,
                                 size_t size,
                                 size_t *length);

// Starts the next task from knowledge, which may come from another device, but not from another problem.
foretune_error foretune_load(struct foretune *tuner, const uint8_t *bytes, size_t size);

// The same, on purpose, from knowledge of a problem with other ranges, levels, costs, noise or goal.
foretune_error foretune_load_from_another_problem(struct foretune *tuner, const uint8_t *bytes, size_t size);

// Goes on from a snapshot, with the seed that it was taken with. Answers of a task that was running are replayed by the next
// calls.
foretune_error foretune_restore(struct foretune *tuner,
                                const uint8_t *bytes,
                                size_t size);

// Writes where the task stands.
foretune_error foretune_status(struct foretune *tuner, struct foretune_status *status);

// Writes how the problem's guard number `guard`, from 0, is kept; FORETUNE_KPIS if it has no such guard.
foretune_error foretune_guard_status(struct foretune *tuner, size_t guard, struct foretune_guard_status *status);

// Says under which conditions the next query is asked; a search that goes on under others begins anew. Refused while a query
// asked under others waits for its answer: answer or withdraw it first.
foretune_error foretune_set_conditions(struct foretune *tuner,
                                       const double *conditions,
                                       size_t condition_count);

// Takes the query back that waits for its answer, free of charge: the next one is asked anew, for instance under other conditions.
foretune_error foretune_withdraw(struct foretune *tuner);

// foretune_set_conditions, then foretune_ask.
foretune_error foretune_ask_at(struct foretune *tuner,
                               const double *conditions,
                               size_t condition_count,
                               foretune_progress *progress,
                               struct foretune_query *query);

// Answers the query with what was measured under these conditions, which may differ from those it was asked under.
foretune_error foretune_tell_at(struct foretune *tuner,
                                const struct foretune_query *query,
                                float value,
                                const double *conditions,
                                size_t condition_count);

// The same with all that an answer may have: foretune_answer_all. No conditions: those that it was asked under.
foretune_error foretune_answer_at(struct foretune *tuner,
                                  const struct foretune_query *query,
                                  const float *value,
                                  const float *kpis,
                                  size_t kpi_count,
                                  const float *cost,
                                  const double *conditions,
                                  size_t condition_count);

// Writes what would be recommended under other conditions, once the task has ended or while a query waits for its answer; about
// as much work as the recommendation itself, and nothing else changes.
foretune_error foretune_recommendation_at(struct foretune *tuner,
                                          const double *conditions,
                                          size_t condition_count,
                                          struct foretune_recommendation *recommendation);

// An error in words, for ever valid; "unknown error" for any other number.
const char *foretune_error_text(uint32_t error);

// Says what is called on a panic; null: nothing. It holds for all tuners.
void foretune_on_panic(foretune_panic_hook hook);

// Starts a watch that gives a false alarm in so many readings on average, from 10 to 1e9, or starts it anew, for instance after
// a task. With several watches, one for each KPI, give each this number times their count.
foretune_error foretune_watch_start(struct foretune_watch *watch,
                                    float run_length);

// Takes a reading of the setting in use for each watch, and writes whether one of them has changed: 0 or 1. `deviation` is the
// standard deviation of such a reading relative to others, for instance the root of its fidelity's noise; 1 if all are alike.
foretune_error foretune_watch_tell(struct foretune_watch *watches,
                                   size_t count,
                                   const float *readings,
                                   float deviation,
                                   uint32_t *changed);

// Writes how a watch stands.
foretune_error foretune_watch_status(const struct foretune_watch *watch, struct foretune_watch_status *status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FORETUNE_H */
