// Package privacy erases the personal data of a policyholder: in rows, in the events of the
// feed (which keep their hashes) and in files. Start reading at erase.go.
package privacy
