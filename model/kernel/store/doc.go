// Package store is the database as all subdomains use it: transactions (Tx, InTx), prepared
// statements, lists and pages, idempotency keys, sealed columns, events with their outbox,
// audit rows and jobs. Start reading at Store.InTx, then Tx.
//
// A transaction has one instant, one actor, and everything that is written at commit:
// events first, then the rows that subdomains collected, then jobs. It asks subdomains
// through Hooks. Nothing calls the network while a transaction is open. Frequent short
// writes share transactions: see InGroupTx.
//
// # Locks
//
// Rows are locked FOR NO KEY UPDATE in the order policy, claim, payout; sets of rows by id.
// Matching locks its occurrence FOR SHARE before the policies.
//
// Advisory locks are taken before row locks, except where the table says otherwise. All
// belong to the transaction, except where the table names a session. A bind takes BindLock,
// the row of its quote, and the lock of its capacity if there is one.
//
//	lock                          holder                          mode
//	idempotency/owner/op/key      a write with that key           exclusive, tried
//	BindLock                      a bind, before it reads the     shared; matching only lists
//	                              clock (see InBindTx)            its holders
//	capacity/product/currency/    a bind with a capacity,         exclusive
//	place                         after its rows
//	relay                         the one active relay            exclusive, tried
//	scope/source                  an ingestion of observations    exclusive
//	scope/source                  a slice of a matching, after    shared
//	                              its row
//	scope/source                  the sweep of ended periods,     exclusive
//	                              after its row of period_ends
//	source/digest                 a replay of history             exclusive
//	rail report, rail             an import of a report           exclusive
//	match reports                 the matching of report lines    exclusive
//	release stop, 0               the preparation of an order     shared; a stop lists holders
//	release stop, 1               a process that sends            shared, by session; as above
//	sweep, kind                   one turn of a kind of due work  exclusive, tried
//	partitions                      the addition of partitions      exclusive
//	payment_files/rail            the files of a rail             exclusive
//	migrations                    the migrations                  exclusive, by session
package store
