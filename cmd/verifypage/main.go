//go:build !js

package main

import (
	"fmt"
	"os"
)

// Without a browser the program verifies its arguments: a receipt, keys and a thumbprint.
func main() {
	if len(os.Args) == 4 {
		_, _ = fmt.Fprintln(os.Stdout, verify(os.Args[1], os.Args[2], os.Args[3]))
	}
}
