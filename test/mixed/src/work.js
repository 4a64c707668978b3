// SPDX-License-Identifier: GPL-2.0
function hot(n) {
    let a = 1;
    for (let i = 1; i < n; i++)
        a = (a * 31 + (a >>> 7) + i) | 0;
    return a;
}

function deep(depth) {
    return depth === 0 ? hot(5000) : deep(depth - 1) + 1;
}

let sink = 0;
for (let round = 1; ; round++) {
    // A callback, which runtime code calls
    sink += [30].map(deep)[0];
    if (round === 10000)
        require('fs').writeSync(1, 'ready\n');
}
