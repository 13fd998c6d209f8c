// Package money represents amounts as whole minor units of an ISO 4217 currency. Amounts
// never use floating point: rounding happens once, half up, where an exact quantity
// becomes an amount. Money is a value: no states, no locks.
//
// Start reading at money.go.
package money
