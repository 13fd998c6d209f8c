package event_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/event"
)

// publicTypes lists the event types of the contract. Partners subscribe to them by name.
const publicTypes = `quote.created quote.bound quote.expired
	policy.activated policy.exhausted policy.expired policy.cancelled policy.archived policy.updated
	occurrence.watch
	claim.opened claim.approved claim.deferred claim.declined claim.withdrawn claim.closed claim.reopened claim.updated
	claim.attachment_added claim.message_added claim.challenged claim.challenge_decided
	payout_method.recorded payout_method.verified payout_method.rejected payout_method.replaced
	payout.created payout.releasing payout.released payout.blocked payout.unblocked payout.reconciling payout.reconciled
	payout.returned payout.cancelled payout.updated
	webhook_endpoint.enabled webhook_endpoint.disabled`

func TestTypesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	var types []string
	for _, kind := range event.Types() {
		types = append(types, string(kind))
	}
	require.Equal(t, strings.Fields(publicTypes), types, "in the order of the life cycle")
}

func TestEveryTypeHasOneSubject(t *testing.T) {
	t.Parallel()
	subjects := map[string]bool{}
	for _, kind := range event.Kinds() {
		subjects[kind.Subject] = true
	}
	for _, kind := range event.Kinds() {
		for subject := range subjects {
			err := kind.Type.CheckSubject(subject)
			require.Equal(t, subject == kind.Subject, err == nil, "%s of a %s", kind.Type, subject)
		}
	}
	require.Equal(t, "attachment", kindOf(event.ClaimAttachmentAdded).Subject, "the event shows what was added to the claim")
	require.Equal(t, "message", kindOf(event.ClaimMessageAdded).Subject)
}

func kindOf(name event.Type) event.Kind {
	kinds := event.Kinds()
	return kinds[slices.IndexFunc(kinds, func(kind event.Kind) bool { return kind.Type == name })]
}
