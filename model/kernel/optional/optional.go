// Package optional converts between values and pointers to them. A nil pointer means that
// there is no value.
package optional

// NonZero returns a pointer to the value, nil for the zero value.
func NonZero[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// Or returns the given value, or otherwise for nil.
func Or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// OrZero returns the given value, or the zero value for nil.
func OrZero[T any](given *T) T { return Or(given, *new(T)) }
