// SPDX-License-Identifier: GPL-2.0
// C code that keeps frame pointers, called from Go.
package main

/*
#cgo CFLAGS: -O2 -fno-omit-frame-pointer
static volatile long sink;
static __attribute__((noinline)) void c_inner(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
__attribute__((noinline)) void c_outer(int n)
{
	c_inner(n);
	sink++;
}
void c_outer(int n);
*/
import "C"
import "fmt"

//go:noinline
func request(n int) int { C.c_outer(C.int(n)); return n + 1 }

//go:noinline
func serve(n int) int { return request(n) + 1 }

func main() {
	for n := 1; ; n++ {
		serve(300000)
		if n == 20 {
			fmt.Println("ready")
		}
	}
}
