package groupcommit

import "reflect"

// Reads are queries without arguments that several calls of a group send in one round trip:
// each is sent once, and every call gets a copy of the slice that it reads. The nil map is that of a call without a group.
type Reads map[string][]any

// Join adds the destination of a query's result. It reports whether the query is sent
// already.
func (r Reads) Join(query string, into any) (sent bool) {
	_, sent = r[query]
	r[query] = append(r[query], into)
	return sent
}

// Copy copies the result of a query from the first destination to the others. They share
// no memory, because a call that runs again scans into its slice again.
func (r Reads) Copy(query string) {
	for i, into := range r[query] {
		if i > 0 {
			rows := reflect.ValueOf(into).Elem()
			rows.Set(reflect.AppendSlice(rows.Slice(0, 0), reflect.ValueOf(r[query][0]).Elem()))
		}
	}
}
