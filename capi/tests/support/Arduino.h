/* What Tune.ino needs of Arduino, on an emulated board: a sensor that reads most at a duty cycle of 140. For the test only. */
#include <stdint.h>

extern "C" void print_line(const char *line);
void setup();
void loop();

enum { A0 = 14 };
static int duty_cycle;

static inline void analogWrite(int, int value) { duty_cycle = value; }
static inline int analogRead(int) { return 900 - (duty_cycle - 140) * (duty_cycle - 140) / 20; }
static inline void delay(unsigned long) {}

static struct {
    void begin(long) {}
    void println(const char *text) { print_line(text); }
    void println(int number)
    {
        const char text[] = {(char)('0' + number / 100), (char)('0' + number / 10 % 10), (char)('0' + number % 10), 0};
        print_line(text);
    }
} Serial;

int main()
{
    setup();
    for (int i = 0; i < 100000; i++) {
        loop();
    }
    return 0;
}
