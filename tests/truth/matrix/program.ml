(* SPDX-License-Identifier: Apache-2.0 *)
(* The same in OCaml. A chain of multiplications takes the time of its count. *)
let sink = ref 0

let[@inline] spin count =
  let x = ref 3 in
  for _ = 1 to count do
    x := !x * !x;
    x := !x * !x;
    x := !x * !x;
    x := !x * !x
  done;
  sink := !sink + !x

let[@inline never] direct scale = spin (50 * scale) (* @50 *); incr sink
let[@inline] inner scale = spin (10 * scale) (* @10 *)
let[@inline] between scale = inner scale; spin (20 * scale) (* @20 *)
let[@inline never] outer scale = between scale; incr sink
let[@inline never] far_leaf scale = spin (15 * scale) (* @15 *); incr sink
let[@inline never] far scale = far_leaf scale; incr sink
let[@inline never] rare scale = spin (5 * scale) (* @5 *); incr sink

let[@inline never] rec descend scale left =
  if left > 0 then (descend scale (left - 1); incr sink)
  else (direct scale; outer scale; far scale; rare scale; incr sink)

let () =
  let state = ref 1 in
  for _ = 1 to 700 do
    state := (!state * 636413622384679) + 144269504088896;
    descend (200 + (!state lsr 33) mod 400) 2
  done
