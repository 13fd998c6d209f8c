// Package replica runs reads on streaming replicas of Postgres where that is safe, and on
// the primary otherwise.
//
// A read may run on a replica if its request allows it (Allow) and no transaction is open.
// Set.Read chooses a replica that follows the present primary and has replayed at least
// what the primary had written MaxStaleness ago. A request with the position of a write
// (WithReadAfter) is answered by a replica only once the replica has replayed that
// position on the same timeline; a request waits MaxWait for it. In all other cases, and
// when the replica fails, the primary answers, so a caller sees no error of a replica.
//
// A replica is current, lagging, unreachable, promoted, on another timeline, or a copy of
// another database. Set.Run observes the primary and the replicas. The package takes no
// locks of the database. Start reading at set.go.
package replica
