// Package apperr is the error that the APIs show: a Code from a closed list, the
// partner's sentence, field errors with JSON pointers, and a cause for the log. Validator
// collects the field errors of a request, so that an answer names all of them. No states,
// no locks. Start reading at error.go.
package apperr
