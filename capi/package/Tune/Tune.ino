// Finds the duty cycle on pin 9 at which the sensor on A0 reads most, in slices: the board does its work in between.
#include <foretune.h>

static const foretune_dimension duty = {FORETUNE_GRID, 0.0, 255.0, 52, nullptr};
static const foretune_fidelity reading = {1.0f, 1, 25.0f};  // cost, samples, variance of the noise

// 1 dimension, 1 fidelity, 24 observations, 10 particles, 80 candidates: some 14 KB.
alignas(FORETUNE_COMPACT_ALIGN) static unsigned char memory[FORETUNE_SIZE(1, 1, 24, 10, 80)];
static struct foretune *tuner;

void setup() {
  struct foretune_problem problem;
  struct foretune_settings settings;
  Serial.begin(115200);
  foretune_plain_problem(&problem);
  problem.dimensions = &duty;
  problem.dimension_count = 1;
  problem.fidelities = &reading;
  problem.fidelity_count = 1;
  problem.budget = 20.0f;
  foretune_compact_settings(&settings);
  settings.observations = 24;
  foretune_error error = foretune_start(memory, sizeof memory, &problem, &settings, 7, &tuner);
  if (error != FORETUNE_OK) {
    Serial.println(foretune_error_text(error));
    tuner = nullptr;
  }
}

void loop() {
  foretune_progress progress;
  struct foretune_query query;
  struct foretune_recommendation best;
  if (tuner == nullptr || foretune_advance(tuner, &progress, &query) != FORETUNE_OK) {
    return;
  }
  if (progress == FORETUNE_QUERY) {
    analogWrite(9, (int)query.point[0]);
    delay(20);
    foretune_tell(tuner, &query, (float)analogRead(A0));
  } else if (progress == FORETUNE_DONE && foretune_recommendation(tuner, &best) == FORETUNE_OK) {
    analogWrite(9, (int)best.point[0]);
    Serial.println((int)best.point[0]);
    tuner = nullptr;
  }
}
