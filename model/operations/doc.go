// Package operations runs the periodic work and what operators do with the installation.
//
// Sweep makes due records move: expiry, purges, retries. health_stats.go has the figures of
// the metrics. A heartbeat in the file store records how far the database was, so that
// restore.go notices a restored backup before a worker sends anything. key_rotation.go
// seals all secrets with a new key.
//
// Start reading at sweep.go.
package operations
