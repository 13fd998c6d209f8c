package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"parapet/model/kernel/replica"
)

// replicaCollector shows this process's view of the replicas; nothing without replicas.
type replicaCollector struct{ replicas *replica.Set }

var (
	replicaLag   = newGaugeDesc("replica_lag_seconds", "How old the answers of a replica are at most, as this process sees it.", "replica")
	replicaUp    = newGaugeDesc("replica_up", "1 while a replica may answer reads, otherwise 0.", "replica")
	replicaReads = newGaugeDesc("replica_reads_total", "Reads that a replica may answer, by the server that answered and why: current, or why the primary answered.", "server", "reason")
)

// Describe implements prometheus.Collector.
func (replicaCollector) Describe(out chan<- *prometheus.Desc) {
	out <- replicaLag
	out <- replicaUp
	out <- replicaReads
}

// Collect implements prometheus.Collector.
func (c replicaCollector) Collect(out chan<- prometheus.Metric) {
	if c.replicas == nil {
		return
	}
	for _, s := range c.replicas.Servers() {
		up := 0.0
		if s.State == replica.ReasonCurrent {
			up = 1
		}
		out <- prometheus.MustNewConstMetric(replicaLag, prometheus.GaugeValue, s.Lag.Seconds(), s.Name)
		out <- prometheus.MustNewConstMetric(replicaUp, prometheus.GaugeValue, up, s.Name)
	}
	for _, why := range replica.Reasons() {
		server := "primary"
		if why == replica.ReasonCurrent {
			server = "replica"
		}
		out <- prometheus.MustNewConstMetric(replicaReads, prometheus.CounterValue, float64(c.replicas.Reads(why)), server, why.String())
	}
}
