// SPDX-License-Identifier: Apache-2.0
// The same in D. A chain of multiplications takes the time of its count.
module program;
import core.volatile : volatileLoad;

__gshared ulong sink;

pragma(inline, true) void spin(ulong count)
{
    ulong x = 3;
    for (ulong i = 0; i < count; i++)
    {
        x *= x;
        x *= x;
        x *= x;
        x *= x;
    }
    sink += x;
}

pragma(inline, false) void direct(ulong scale)
{
    spin(50 * scale); // @50
    sink += 1;
}

pragma(inline, true) void inner(ulong scale)
{
    spin(10 * scale); // @10
}

pragma(inline, true) void between(ulong scale)
{
    inner(scale);
    spin(20 * scale); // @20
}

pragma(inline, false) void outer(ulong scale)
{
    between(scale);
    sink += 1;
}

pragma(inline, false) void far_leaf(ulong scale)
{
    spin(15 * scale); // @15
    sink += 1;
}

pragma(inline, false) void far(ulong scale)
{
    far_leaf(scale);
    sink += volatileLoad(&sink) & 1;
}

pragma(inline, false) void rare(ulong scale)
{
    spin(5 * scale); // @5
    sink += 1;
}

pragma(inline, false) void descend(ulong scale, int left)
{
    if (left)
    {
        descend(scale, left - 1);
        sink += volatileLoad(&sink) & 1;
        return;
    }
    direct(scale);
    outer(scale);
    far(scale);
    rare(scale);
    sink += volatileLoad(&sink) & 1;
}

void main()
{
    ulong state = 1;
    foreach (i; 0 .. 700)
    {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        descend(200 + (state >> 33) % 400, 2);
    }
}
