--  SPDX-License-Identifier: Apache-2.0
--  The same in Ada. A chain of multiplications takes the time of its count.
with Interfaces; use Interfaces;

procedure Program is
   package Work is
      procedure Descend (Scale : Unsigned_64; Left : Integer);
   end Work;

   package body Work is
      Sink : Unsigned_64 := 0 with Volatile;

      procedure Spin (Count : Unsigned_64) is
         X : Unsigned_64 := 3;
      begin
         for I in 1 .. Count loop
            X := X * X;
            X := X * X;
            X := X * X;
            X := X * X;
         end loop;
         Sink := Sink + X;
      end Spin;
      pragma Inline_Always (Spin);

      procedure Direct (Scale : Unsigned_64) is
      begin
         Spin (50 * Scale); --  @50
         Sink := Sink + 1;
      end Direct;
      pragma No_Inline (Direct);

      procedure Inner (Scale : Unsigned_64) is
      begin
         Spin (10 * Scale); --  @10
      end Inner;
      pragma Inline_Always (Inner);

      procedure Between (Scale : Unsigned_64) is
      begin
         Inner (Scale);
         Spin (20 * Scale); --  @20
      end Between;
      pragma Inline_Always (Between);

      procedure Outer (Scale : Unsigned_64) is
      begin
         Between (Scale);
         Sink := Sink + 1;
      end Outer;
      pragma No_Inline (Outer);

      procedure Far_Leaf (Scale : Unsigned_64) is
      begin
         Spin (15 * Scale); --  @15
         Sink := Sink + 1;
      end Far_Leaf;
      pragma No_Inline (Far_Leaf);

      procedure Far (Scale : Unsigned_64) is
      begin
         Far_Leaf (Scale);
         Sink := Sink + 1;
      end Far;
      pragma No_Inline (Far);

      procedure Rare (Scale : Unsigned_64) is
      begin
         Spin (5 * Scale); --  @5
         Sink := Sink + 1;
      end Rare;
      pragma No_Inline (Rare);

      procedure Descend (Scale : Unsigned_64; Left : Integer) is
      begin
         if Left > 0 then
            Descend (Scale, Left - 1);
            Sink := Sink + 1;
            return;
         end if;
         Direct (Scale);
         Outer (Scale);
         Far (Scale);
         Rare (Scale);
         Sink := Sink + 1;
      end Descend;
      pragma No_Inline (Descend);
   end Work;

   State : Unsigned_64 := 1;
begin
   for I in 1 .. 700 loop
      State := State * 6364136223846793005 + 1442695040888963407;
      Work.Descend (200 + Shift_Right (State, 33) mod 400, 2);
   end loop;
end Program;
