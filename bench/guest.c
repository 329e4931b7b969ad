/* SPDX-License-Identifier: Apache-2.0 */
/* The traced program of the benchmark of live traces: sorts, hashes, walks a tree recursively
 * and formats numbers. ROUNDS of about 20 million instructions each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 20000

struct node {
    struct node *left, *right;
    uint32_t key;
};

static uint32_t seed = 1;

static uint32_t draw(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static struct node *put(struct node *at, struct node *made)
{
    if (!at)
        return made;
    if (made->key < at->key)
        at->left = put(at->left, made);
    else
        at->right = put(at->right, made);
    return at;
}

static uint64_t sum(const struct node *at)
{
    return at ? sum(at->left) + at->key + sum(at->right) : 0;
}

static uint64_t hash(const char *text, size_t length)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

int main(int argc, char **argv)
{
    static uint32_t numbers[COUNT];
    static struct node nodes[COUNT];
    uint64_t total = 0;
    for (int round = argc > 1 ? atoi(argv[1]) : 20; round > 0; round--) {
        struct node *root = NULL;
        char text[32];
        for (int i = 0; i < COUNT; i++) {
            numbers[i] = draw();
            nodes[i] = (struct node){NULL, NULL, draw()};
            root = put(root, &nodes[i]);
        }
        qsort(numbers, COUNT, sizeof numbers[0], by_value);
        for (int i = 0; i < COUNT; i += 10)
            total += hash(text, (size_t)snprintf(text, sizeof text, "%u", numbers[i]));
        total += sum(root);
    }
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
