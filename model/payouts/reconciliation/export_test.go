package reconciliation

// MatchLines matches a slice of waiting lines in a transaction.
var MatchLines = matchLines
