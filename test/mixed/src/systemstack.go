// SPDX-License-Identifier: GPL-2.0
// Most of the time is spent on Go's system stack: large allocations, maps that grow, collections.
package main

import "fmt"

type tree struct{ left, right *tree }

//go:noinline
func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

//go:noinline
func request(n int) int {
	sum := 0
	for i := 0; i < 10; i++ {
		big := make([]byte, 300000+n%7)
		sum += len(big)
		m := map[int]*tree{}
		for k := 0; k < 100; k++ {
			m[k*n] = grow(2)
		}
		sum += len(m)
	}
	return sum
}

//go:noinline
func serve(n int) int { return request(n) + 1 }

func main() {
	for n := 1; ; n++ {
		serve(n)
		if n == 20 {
			fmt.Println("ready")
		}
	}
}
