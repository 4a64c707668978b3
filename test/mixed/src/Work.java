// SPDX-License-Identifier: GPL-2.0
/** A thread "worker" with a chain of methods. */
public class Work {
    static volatile long sink;

    static long hot(int n) {
        long a = 1;
        for (int i = 1; i < n; i++) {
            a = a * 31 + (a >>> 7) + i;
        }
        return a;
    }

    static long deep(int depth) {
        return depth == 0 ? hot(2000) : deep(depth - 1) + 1;
    }

    /** The argument is the number of rounds in which it warms up. */
    public static void main(String[] args) {
        int warm = Integer.parseInt(args[0]);
        new Thread(() -> {
            for (int round = 1; ; round++) {
                sink += deep(30);
                if (round == warm) {
                    System.out.println("ready");
                }
            }
        }, "worker").start();
    }
}
