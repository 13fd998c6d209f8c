// Package privacy erases the personal data of a policyholder: in rows, in the events of
// the feed (which keep their hashes) and in files. Amounts, decisions and hashes stay.
// Erasure counts what was erased.
//
// It refuses policies in force and open claims. It locks the policies first. Files are
// deleted after the commit; a job deletes those that are left. Start reading at erase.go.
package privacy
