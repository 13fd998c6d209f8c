// Package operations runs the periodic work and what operators do with the installation.
//
// Sweep finds records that are due and expires, purges or re-enqueues them. HealthStats
// has the figures of the metrics, JobAdmin is the queue for operators. A heartbeat in the
// file store records how far the database was, so that restore.go notices a restored
// backup before a worker sends anything. key_rotation.go seals all secrets with a new
// key.
//
// A restore is suspected, begun, then finished or dismissed. One turn of a kind of due
// work runs at a time, under the advisory lock of that kind; steps skip locked rows.
// Start reading at sweep.go.
package operations
