// Package summary says where an occurrence was measured and what its main value is, for maps
// and lists. It reads committed rows and changes nothing: no states, no locks.
package summary
