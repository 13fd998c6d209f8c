// Command verifypage is the program of the page /verify: it verifies receipts as parapet
// verify does, in the browser, without the history of prices. make generate compiles it to
// WebAssembly.
package main

import (
	"github.com/go-json-experiment/json"

	"parapet/jobs/feed"
	"parapet/model/receipts/receipt"
)

// verify returns the report as JSON, or {"error"} with why the receipt proves nothing.
// keys is the document of the server's keys; pin is used without it.
func verify(text, keys, pin string) string {
	report, err := verifyText(text, keys, pin)
	if err != nil {
		failure, _ := json.Marshal(map[string]string{"error": err.Error()})
		return string(failure)
	}
	answer, err := json.Marshal(report)
	if err != nil {
		return `{"error":"the report cannot be written"}`
	}
	return string(answer)
}

func verifyText(text, keys, pin string) (*receipt.Report, error) {
	trust := receipt.Trust{Pin: pin}
	if keys != "" {
		set, err := receipt.ParseKeySet([]byte(keys))
		if err != nil {
			return nil, err
		}
		trust = receipt.Trust{Keys: set}
	}
	return receipt.Verify([]byte(text), trust, receipt.Data{ParseRecord: feed.ParseRecord})
}
