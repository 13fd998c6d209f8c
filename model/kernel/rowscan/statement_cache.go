package rowscan

import (
	"reflect"
	"sync"
)

// StatementCache caches the SQL text that bun builds for a row type, so that columns are
// named once, in the struct.
type StatementCache struct{ cached sync.Map }

type statementKey struct {
	row reflect.Type
	use string
}

// Get returns the text for a use of a row type. The first call builds it.
func (t *StatementCache) Get(row any, use string, write func() string) string {
	name := statementKey{reflect.TypeOf(row), use}
	if text, ok := t.cached.Load(name); ok {
		return text.(string)
	}
	text := write()
	t.cached.Store(name, text)
	return text
}
