/* SPDX-License-Identifier: Apache-2.0 */
/* Spends 60, 30 and 10% of its time in libraries without unwind information. */
void most(unsigned long), middle(unsigned long), least(unsigned long);

int main(void)
{
    for (int i = 0; i < 3000; i++) {
        most(24000);
        middle(12000);
        least(4000);
    }
    return 0;
}
