// Package sums adds amounts of money and checks that a sum fits into 64 bits. It has no
// database and no clock.
package sums
