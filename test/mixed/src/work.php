<?php
// SPDX-License-Identifier: GPL-2.0
function hot(int $n): int
{
    $a = 1;
    for ($i = 1; $i < $n; $i++) {
        $a = ($a * 31 + ($a >> 7) + $i) & 0xffffff;
    }
    return $a;
}

function deep(int $depth): int
{
    return $depth == 0 ? hot(2000) : deep($depth - 1) + 1;
}

for ($round = 1; ; $round++) {
    // A callback, which the interpreter's own code calls
    array_map('deep', [10]);
    if ($round == 5000) {
        echo "ready\n";
    }
}
