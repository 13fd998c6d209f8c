package rest

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"parapet/model"
)

// paging are the query parameters of every list.
var paging = []string{"limit", "cursor"}

// parameters refuses query parameters that the route does not have: a misspelt
// one would silently answer another question.
func (c *call) parameters() error {
	query, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return model.Fail(model.CodeParameterInvalid, "The query string is not well formed.").Because(err)
	}
	for name, values := range query {
		switch {
		case !c.route.takes(name):
			return parameterInvalid(name, "unknown", "There is no such parameter here.")
		case len(values) > 1:
			return parameterInvalid(name, "duplicate", "Give it once.")
		}
	}
	return nil
}

func (r *route) takes(name string) bool {
	return r.listed && slices.Contains(paging, name) || slices.Contains(r.filters, name)
}

// page reads limit and cursor.
func (c *call) page() (model.PageRequest, error) {
	query := c.request.URL.Query()
	page := model.PageRequest{Cursor: query.Get("cursor")}
	if !query.Has("limit") {
		return page, nil
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > model.MaxPageSize {
		return page, parameterInvalid("limit", "value", fmt.Sprintf("Use a whole number from 1 to %d.", model.MaxPageSize))
	}
	page.Limit = limit
	return page, nil
}

func parameterInvalid(name, code, detail string) *model.Error {
	if !visible(name) || len(name) > 64 {
		name = "?"
	}
	e := model.Fail(model.CodeParameterInvalid, "The parameter %s is not right: %s", name, detail)
	e.Fields = []model.FieldError{{Pointer: name, Code: code, Detail: detail}}
	return e
}
