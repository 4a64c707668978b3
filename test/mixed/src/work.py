# SPDX-License-Identifier: GPL-2.0
def hot(n):
    a = 1
    for i in range(n):
        a = (a * 31 + (a >> 7) + i) & 0xffffff
    return a


def deep(depth):
    return hot(3000) if depth == 0 else deep(depth - 1) + 1


def main():
    rounds = 0
    while True:
        # A callback, which the interpreter's own code calls
        sorted([10, 9], key=deep)
        rounds += 1
        if rounds == 8000:
            print("ready", flush=True)


main()
