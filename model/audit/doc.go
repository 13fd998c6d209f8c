// Package audit keeps the audit log: one line for each change that an operator made and
// for refused requests, which are counted per minute.
//
// Refusals are collected in memory and saved by the sweep, so that a flood of refused
// requests writes few rows. Start reading at audit.go.
package audit
