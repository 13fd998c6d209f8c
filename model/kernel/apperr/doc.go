// Package apperr is the error that the APIs show: a code from a closed list, the partner's
// sentence, field errors with JSON pointers, and a cause for the log.
package apperr
