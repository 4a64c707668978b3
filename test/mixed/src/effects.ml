(* SPDX-License-Identifier: GPL-2.0 *)
(* A function below a handler of effects, on a stack of its own, which it leaves and enters. *)
open Effect
open Effect.Deep

type _ Effect.t += Yield : unit t

let[@inline never] spin n =
  let a = ref 1 in
  for i = 1 to n do
    a := (!a * 31) + (!a lsr 7) + i
  done;
  !a

let rec work depth = if depth = 0 then spin 20000 else 1 + work (depth - 1)

let task () =
  let first = work 10 in
  perform Yield;
  first + work 10

let round () =
  match_with task ()
    { retc = Fun.id;
      exnc = raise;
      effc =
        (fun (type a) (e : a t) ->
          match e with
          | Yield -> Some (fun (k : (a, _) continuation) -> 1 + continue k ())
          | _ -> None) }

let () =
  for _ = 1 to 20 do
    ignore (Sys.opaque_identity (round ()))
  done;
  print_endline "ready";
  while true do
    ignore (Sys.opaque_identity (round ()))
  done
