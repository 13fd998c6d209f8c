package operations

import (
	"context"
	"strings"
)

// SealedSecrets selects the columns that Reseal seals again.
const SealedSecrets = sealedColumnsQuery

// ExplainUnsettled returns the plan of the query for unsettled payouts.
func (s *Service) ExplainUnsettled(ctx context.Context) (string, error) {
	var lines []string
	err := s.DB.NewRaw("explain "+unsettledQuery).Scan(ctx, &lines)
	return strings.Join(lines, "\n"), err
}

// Parts of SweepDue("policies").
var (
	ExpirePolicies  = expirePolicies
	ArchivePolicies = archivePolicies
)
