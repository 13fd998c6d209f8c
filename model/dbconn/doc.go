// Package dbconn opens connections to Postgres that detect the loss of their server:
// connects have a timeout, TCP keepalive detects a dead machine, only a writable server
// is accepted, and a Monitor ends connections to a server that was replaced. It has no
// states and takes no database locks. Start reading at config.go, then monitor.go.
package dbconn
