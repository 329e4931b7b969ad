/* SPDX-License-Identifier: Apache-2.0 */
/* The main thread ends; another one uses CPU time until its standard input is closed. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile unsigned long counter;

__attribute__((noinline)) static void works(void)
{
    for (unsigned i = 0; i < 1000000; i++)
        counter += i;
}

static void *other(void *main_thread)
{
    char byte;
    pthread_join(*(pthread_t *)main_thread, NULL);
    fcntl(0, F_SETFL, O_NONBLOCK);
    puts("ended");
    fflush(stdout);
    while (read(0, &byte, 1) != 0)
        works();
    _exit(0);
}

int main(void)
{
    static pthread_t self, thread;
    self = pthread_self();
    if (pthread_create(&thread, NULL, other, &self) != 0)
        return 1;
    pthread_exit(NULL);
}
