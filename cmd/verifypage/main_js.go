package main

import "syscall/js"

func main() {
	js.Global().Set("parapetVerify", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return verify(args[0].String(), args[1].String(), args[2].String())
	}))
	select {} // the page calls the function as long as it is open
}
