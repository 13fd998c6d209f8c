// Package partition keeps the partitions of the tables that only grow ahead of the clock.
//
// Events, timeline entries and the ledger are partitioned by range of a UUIDv7, one
// partition a month (UTC): by events.id, timeline_entries.claim_id and
// ledger_entries.event_id. These columns are in the primary keys, so keys stay unique and
// foreign keys stay, and a row is found by its id in one partition. Vacuum, statistics and
// backups then work on the newest months, and the indexes that binds write to stay small
// however many policies there are. No partition is ever dropped: the history is kept for ever.
//
// Two clocks make the ids. Those of events, and so of postings, have the time of the process
// (store.NewID); those of claims have business time, which a rehearsal moves. AddAhead creates
// partitions of the present month and the next three by both clocks. A row of any other id, of
// a month that was missing or of a test, goes to the default partition. A month of which the
// default has rows stays in it: to move rows that others refer to would need the owner of the
// system's triggers, and a default partition answers queries like any other.
//
// The first partition, called before, has all ids below the border that migration 0026 chose.
// Partitions of events and of the ledger have the same borders, and the foreign key of the
// ledger is one of each partition to that of events. The foreign key of event_sequence, a table
// that stays whole, refers to all of events; the relay uses generic plans for its check.
// Idempotency keys are partitioned by a hash of their whole key into a fixed number, so that a
// key stays unique for ever.
//
// Autovacuum collects no statistics of a partitioned table as a whole: AnalyzeGrown does.
//
// AddAhead takes the advisory lock of partitions, and waits half a second for the locks of
// tables, so it never delays writers for longer. It may run in any number of processes. Start
// reading at partition.go, and at add_month_partitions in migration 0028.
package partition
