// SPDX-License-Identifier: Apache-2.0
// The same in Go. A chain of multiplications takes the time of its count.
package main

var sink uint64

// It is inlined.
func spin(count uint64) uint64 {
	x := uint64(3)
	for i := uint64(0); i < count; i++ {
		x *= x
		x *= x
		x *= x
		x *= x
	}
	return x
}

//go:noinline
func direct(scale uint64) {
	sink += spin(50 * scale) // @50
}

func inner(scale uint64) {
	sink += spin(10 * scale) // @10
}

func between(scale uint64) {
	inner(scale)
	sink += spin(20 * scale) // @20
}

//go:noinline
func outer(scale uint64) {
	between(scale)
	sink++
}

//go:noinline
func far_leaf(scale uint64) {
	sink += spin(15 * scale) // @15
}

//go:noinline
func far(scale uint64) {
	far_leaf(scale)
	sink++
}

//go:noinline
func rare(scale uint64) {
	sink += spin(5 * scale) // @5
}

//go:noinline
func descend(scale uint64, left int) {
	if left > 0 {
		descend(scale, left-1)
		sink++
		return
	}
	direct(scale)
	outer(scale)
	far(scale)
	rare(scale)
	sink++
}

func main() {
	state := uint64(1)
	for i := 0; i < 700; i++ {
		state = state*6364136223846793005 + 1442695040888963407
		descend(200+(state>>33)%400, 2)
	}
}
