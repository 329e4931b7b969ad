/* A user program: recursion, and system calls from deep frames. */
typedef unsigned long word;
word call_kernel(word value, word number);

__attribute__((noinline, noclone)) word alpha_tree(word depth)
{
    if (depth == 0)
        return call_kernel(5, 1);
    word left = alpha_tree(depth - 1);
    if (depth == 3)
        call_kernel(0, 2);
    return left + alpha_tree(depth - 1);
}

int main(void)
{
    word sum = 0;
    for (int i = 0; i < 4; i++)
        sum += alpha_tree(4);
    return (int)sum;
}
