package rest_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/receipts"
	"parapet/model/receipts/receipt"
	"parapet/rest"
)

func TestReceiptKeysArePublic(t *testing.T) {
	t.Parallel()
	for _, keys := range []receipt.Keys{{}, modeltest.ReceiptKeys()} {
		handler := newHandler(t, func(c *rest.Config) { c.Service = &model.Service{Receipts: receipts.New(nil, keys)} })
		response := request{"GET", "/.well-known/parapet-receipt-keys.json", "", []string{"Authorization: "}}.sendTo(t, handler)
		require.Equal(t, 200, response.StatusCode)
		if !keys.CanSign() {
			require.JSONEq(t, `{"keys":[]}`, string(response.Body))
			continue
		}
		set, err := receipt.ParseKeySet(response.Body)
		require.NoError(t, err)
		require.Equal(t, keys.Public(), set)
		var members struct {
			Keys []map[string]string `json:"keys"`
		}
		require.NoError(t, json.Unmarshal(response.Body, &members))
		require.Len(t, members.Keys[0], 7, "no member d, the secret")
		require.Equal(t, "active", members.Keys[0]["status"])
	}
}
