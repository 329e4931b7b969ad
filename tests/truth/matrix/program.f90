! SPDX-License-Identifier: Apache-2.0
! The same in Fortran. A chain of multiplications takes the time of its count.
module work
  use iso_fortran_env, only: int64
  implicit none
  integer(int64), volatile :: sink = 0
contains
  subroutine spin(count)
    integer(int64), value :: count
    integer(int64) :: i, x
    x = 3
    do i = 1, count
      x = x * x
      x = x * x
      x = x * x
      x = x * x
    end do
    sink = sink + x
  end subroutine

  subroutine direct(scale)
    integer(int64), value :: scale
    call spin(50 * scale) ! @50
    sink = sink + 1
  end subroutine

  subroutine inner(scale)
    integer(int64), value :: scale
    call spin(10 * scale) ! @10
  end subroutine

  subroutine between(scale)
    integer(int64), value :: scale
    call inner(scale)
    call spin(20 * scale) ! @20
  end subroutine

  subroutine outer(scale)
    integer(int64), value :: scale
    call between(scale)
    sink = sink + 1
  end subroutine

  subroutine far_leaf(scale)
    integer(int64), value :: scale
    call spin(15 * scale) ! @15
    sink = sink + 1
  end subroutine

  subroutine far(scale)
    integer(int64), value :: scale
    call far_leaf(scale)
    sink = sink + 1
  end subroutine

  subroutine rare(scale)
    integer(int64), value :: scale
    call spin(5 * scale) ! @5
    sink = sink + 1
  end subroutine

  recursive subroutine descend(scale, left)
    integer(int64), value :: scale
    integer, value :: left
    if (left > 0) then
      call descend(scale, left - 1)
      sink = sink + 1
      return
    end if
    call direct(scale)
    call outer(scale)
    call far(scale)
    call rare(scale)
    sink = sink + 1
  end subroutine
end module

program matrix
  use work
  implicit none
  integer(int64) :: state = 1
  integer :: i
  do i = 1, 700
    state = state * 6364136223846793005_int64 + 1442695040888963407_int64
    call descend(200 + modulo(shiftr(state, 33), 400_int64), 2)
  end do
end program
