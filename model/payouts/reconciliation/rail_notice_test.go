package reconciliation_test

import (
	"fmt"

	"parapet/model/modeltest"
)

// notice sends the rail's notice that it paid under one of the keys. A report about a key
// overrides the notice, and a later refusal revokes it.
func (s *chainStory) notice() {
	key := s.RailKey(s.first.ID, 1+s.random.IntN(len(s.Claim(s.claim.ID).Payouts)+2))
	known := modeltest.ReportRailPayment(s.t, s.Bundle, key)
	s.steps = append(s.steps, fmt.Sprintf("%s accepted by notice: %v", key[len(key)-1:], known))
	if known && !s.reported[key] {
		s.promised[key] = true
	}
}
