// SPDX-License-Identifier: Apache-2.0
// A program whose functions are compiled while it runs, for the given number of seconds. Prints its
// process id first.
public class Work {
    static double first(int n) {
        double s = 0;
        for (int i = 1; i < n; i++)
            s += Math.sqrt(i) * 1.5 + i % 7;
        return s;
    }

    static long second(int n) {
        long s = n;
        for (int i = 1; i < n; i++)
            s = s * 6364136223846793005L + i;
        return s;
    }

    public static void main(String[] arguments) {
        System.out.println(ProcessHandle.current().pid());
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        double s = 0;
        while (System.nanoTime() < end)
            s += first(30000) + second(90000);
        System.out.println(s == 0);
    }
}
