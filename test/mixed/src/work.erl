%% SPDX-License-Identifier: GPL-2.0
-module(work).
-export([main/0]).

hot(0, A) -> A;
hot(N, A) -> hot(N - 1, (A * 31 + (A bsr 7) + N) band 16#ffffff).

deep(0) -> hot(5000, 1);
deep(Depth) -> deep(Depth - 1) + 1.

main() -> loop(1).

loop(Round) ->
    deep(30),
    %% A function of the runtime system's own
    erlang:phash2(lists:seq(1, 2000)),
    Round =:= 2000 andalso io:format("ready~n"),
    loop(Round + 1).
