// Package progress shows how far an occurrence is matched to policies, decided and paid.
// Package adjudication counts the policies that each slice has to decide; claims and payouts are added
// up at each read. A Cursor follows the progress of an occurrence: all cursors of one
// occurrence and partner in a process share one reader.
//
// It changes nothing: no states, no locks. Start reading at progress.go.
package progress
