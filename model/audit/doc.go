// Package audit keeps the audit log: one line for each change that an operator made, and
// for refused requests, which are counted per minute. OperatorActionRow records an
// operator's action on a partner's record with its reason. Entry is a line of the log.
//
// Lines never change, so they have no states. Refusals are collected in memory under a
// mutex and saved every minute, so that a flood of refused requests writes few rows. The
// package takes no database locks. Start reading at audit.go.
package audit
