package rest

import (
	"net/http"
	"reflect"
	"strconv"

	"parapet/model"
	"parapet/model/wire"
)

const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json" // RFC 7396
	problemType    = "application/problem+json"
)

// answer writes a record as v1 JSON.
func (c *call) answer(status int, record any) error {
	body, err := wire.Encode(record)
	if err != nil {
		return err
	}
	if status == http.StatusCreated && c.route.located {
		c.locate(reflect.Indirect(reflect.ValueOf(record)).FieldByName("ID").String())
	}
	c.send(status, jsonType, body)
	return nil
}

// replay writes the first answer again, to the byte.
func (c *call) replay(first *model.Replay) {
	c.replayed()
	if first.Status == http.StatusCreated && c.route.located {
		c.locate(first.ResourceID)
	}
	c.send(first.Status, jsonType, first.Body)
}

// replayed says that this is the first answer again.
func (c *call) replayed() { c.Header().Set("Idempotent-Replayed", "true") }

// locate tells where a new record can be read, under the base address that was
// called.
func (c *call) locate(id string) {
	c.Header().Set("Location", c.base+c.route.path+"/"+id)
}

// send writes a whole body. A successful read carries a strong ETag and is not
// sent to a caller who has it.
func (c *call) send(status int, mediaType string, body []byte) {
	header := c.Header()
	header.Set("Content-Type", mediaType)
	if status == http.StatusOK && c.reading() {
		tag := entityTag(body)
		header.Set("ETag", tag)
		if known(c.request.Header.Values("If-None-Match"), tag) {
			header.Del("Content-Type")
			c.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(status)
	if c.request.Method != http.MethodHead {
		_, _ = c.Write(body) // a caller who is gone cannot be told
	}
}

func (c *call) reading() bool {
	return c.request.Method == http.MethodGet || c.request.Method == http.MethodHead
}
