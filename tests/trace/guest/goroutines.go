// SPDX-License-Identifier: Apache-2.0

// Goroutines that wait for one another, grow their stacks, panic, and continue in any thread.
// All that runs in main.NAME has one caller, which tests/trace_go.py knows.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

//go:noinline
func spin(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i ^ sum
	}
	return sum
}

//go:noinline
func produces(c chan int, n int) {
	for i := 0; i < n; i++ {
		c <- spin(i)
	}
	close(c)
}

//go:noinline
func consumes(c chan int) int {
	sum := 0
	for v := range c {
		sum += spin(v & 63)
	}
	return sum
}

//go:noinline
func deepens(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		runtime.Gosched()
		return spin(500)
	}
	return deepens(n-1) + pad[(n+1)%64]
}

//go:noinline
func yields(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		runtime.Gosched()
		sum += spin(50)
	}
	return sum
}

//go:noinline
func locks(m *sync.Mutex, n int) {
	for i := 0; i < n; i++ {
		m.Lock()
		spin(30)
		m.Unlock()
	}
}

//go:noinline
func catches() (caught int) {
	defer recovers(&caught)
	panics(3)
	return 0
}

//go:noinline
func recovers(caught *int) {
	if recover() != nil {
		*caught = spin(70)
	}
}

//go:noinline
func panics(n int) {
	if n == 0 {
		panic("caught")
	}
	panics(n - 1)
}

//go:noinline
func collects(n int) int {
	kept := make([][]byte, n)
	for i := range kept {
		kept[i] = make([]byte, 100+i)
		spin(3)
		if i%40 == 0 {
			runtime.GC()
		}
	}
	return len(kept)
}

//go:noinline
func waits(n int) {
	for i := 0; i < n; i++ {
		<-time.After(time.Millisecond)
		spin(20)
	}
}

//go:noinline
func doneAfter(wait *sync.WaitGroup, run func()) {
	defer wait.Done()
	run()
}

func main() {
	var wait sync.WaitGroup
	var mutex sync.Mutex
	c := make(chan int)
	runs := []func(){
		func() { produces(c, 300) },
		func() { consumes(c) },
		func() { yields(300) },
		func() { deepens(100) },
		func() { deepens(100) },
		func() { locks(&mutex, 300) },
		func() { locks(&mutex, 300) },
		func() { collects(100) },
		func() { waits(5) },
		func() { catches() },
	}
	wait.Add(len(runs))
	for _, run := range runs {
		go doneAfter(&wait, run)
	}
	yields(300)
	spin(100000)
	wait.Wait()
	fmt.Println("caught", catches() != 0)
}
