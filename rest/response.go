package rest

import (
	"net/http"
	"reflect"
	"strconv"

	"parapet/model/kernel/store"
	"parapet/model/wire"
)

const (
	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json" // RFC 7396
	problemType    = "application/problem+json"
)

// writeRecord writes a record as v1 JSON.
func (c *requestContext) writeRecord(status int, record any) error {
	body, err := wire.Encode(record)
	if err != nil {
		return err
	}
	if c.route.locates(status) {
		c.setLocation(reflect.Indirect(reflect.ValueOf(record)).FieldByName("ID").String())
	}
	c.writeBody(status, jsonType, body)
	return nil
}

// successStatus returns the status of an answer: of two, the first is that of a new record.
func (r *route) successStatus(created bool) int {
	if created {
		return r.successStatuses[0]
	}
	return r.successStatuses[len(r.successStatuses)-1]
}

// locates reports whether a response with a status has a Location.
func (r *route) locates(status int) bool {
	return r.location != "" && (status == http.StatusCreated || status == http.StatusAccepted)
}

// writeReplay writes the first response again, byte for byte.
func (c *requestContext) writeReplay(first *store.Replay) {
	c.markReplayed()
	if c.route.locates(first.Status) {
		c.setLocation(first.ResourceID)
	}
	c.writeBody(first.Status, jsonType, first.Body)
}

// markReplayed marks the response as a replay of the first one.
func (c *requestContext) markReplayed() { c.Header().Set("Idempotent-Replayed", "true") }

// setLocation writes the address of a new record or of a run, under the base address that
// was called.
func (c *requestContext) setLocation(id string) {
	c.Header().Set("Location", c.basePath+c.route.location+"/"+id)
}

// writeBody writes a whole body. A successful read carries a strong ETag; a caller that
// already has the body gets 304.
func (c *requestContext) writeBody(status int, mediaType string, body []byte) {
	header := c.Header()
	header.Set("Content-Type", mediaType)
	if status == http.StatusOK && c.isReadRequest() {
		tag := entityTag(body)
		header.Set("ETag", tag)
		if matchesEntityTag(c.request.Header.Values("If-None-Match"), tag) {
			header.Del("Content-Type")
			c.WriteHeader(http.StatusNotModified)
			return
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	c.WriteHeader(status)
	if c.request.Method != http.MethodHead {
		_, _ = c.Write(body) // an error means that the caller has left
	}
}

func (c *requestContext) isReadRequest() bool {
	return c.request.Method == http.MethodGet || c.request.Method == http.MethodHead
}
