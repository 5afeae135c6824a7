/* Stands before the C library of a server, and adds to its wall time the seconds that a file holds, which may change.
 * The time that passes goes on as it is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none;
static volatile int64_t *seconds = &none;

__attribute__((constructor)) static void open_seconds(void) {
    const char *path = getenv("WALL_SECONDS");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        if (page != MAP_FAILED) seconds = page;
        close(file);
    }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int outcome = (int)syscall(SYS_clock_gettime, clock, time);
    if (outcome == 0 && clock == CLOCK_REALTIME) time->tv_sec += *seconds;
    return outcome;
}
