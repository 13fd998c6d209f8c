// Package sources registers hazard sources: which names may report observations, of which
// perils and in which stages, and whose tokens may report for them. Only operators
// register. It also shows partners the health of each source.
//
// A source is enabled or disabled. Require decides whether an observation of a source is
// accepted; package occurrence calls it in the transaction that records the observation. A
// registration locks its own row and nothing else. The policies that wait are counted every
// few seconds at most. Start reading at source.go, then
// registry.go.
package sources
