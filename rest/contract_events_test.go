package rest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/model"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/event"
	"parapet/model/modeltest"
	"parapet/model/wire"
	"parapet/rest"
)

// eventRows are the sentences of section 11 of the contract.
var eventRows = contractSection{
	"a_change_writes_one_event_and_one_entry": "model/events TestEveryChangeHasOneEvent",
	"in_its_own_transaction":                  "model/modeltest CheckInvariants",
	"the_types":                               eventTypesAreTheContract,
	"every_type_happens":                      "rest TestEventCatalogue",
	"the_feed_rebuilds_every_record":          "jobs TestEventFeedRebuildsLostDeliveries",
	"readable_once_numbered":                  "rest TestEventFeedFilters",
	"within_a_second":                         "jobs BenchmarkLatency",
	"members_of_an_event":                     eventHasContractMembers,
	"gapless_and_cause_before_effect":         "model/events TestEventsAreNumberedPerPartnerInTheOrderTheyHappened",
	"no_event_is_numbered_twice":              "model/events TestManyRelaysNumberNothingTwice",
	"a_late_commit_is_numbered":               "model/events TestALateCommitIsNumberedWhenItIsVisible",
	"whoever_is_killed":                       "cmd/parapet TestEventsSurviveKilledWorkers",
	"data_is_the_record_as_it_was":            eventDataIsASnapshot,
	"the_feed_is_ascending_and_narrows":       "rest TestEventFeedFilters",
	"the_feed_is_kept_for_ever":               eventsAreNeverPurged,
	"a_webhook_is_byte_identical":             "jobs TestAnEventReachesItsEndpointAsTheFeedShowsIt",
	"what_the_hash_covers":                    hashCoversThePreviousEvent,
	"what_was_tampered_with_is_found":         "model/events TestVerifyChainFindsTampering",
	"Standard_Webhooks_reference_vector":      "jobs/webhook TestSign",
	"Standard_Webhooks_own_library":           "jobs TestAnEventReachesItsEndpointAsTheFeedShowsIt",
	"secrets_begin_with_whsec":                "rest TestWebhookEndpointLifecycle",
	"two_signatures_for_24_hours":             "jobs TestRotationSignsTwiceForADay",
	"at_least_once":                           "jobs TestDeadDeliveryRunIsRepeated",
	"2xx_within_15_s_is_success":              "jobs/webhook TestAnAnswerHasFifteenSeconds",
	"redirects_are_failures":                  "jobs TestARedirectIsNotFollowed",
	"410_disables":                            "jobs TestEndpointAnswering410IsDisabled",
	"Retry-After_is_honoured_up_to_24_hours":  "jobs TestDeliveryResultPerReceiverBehaviour",
	"attempts_and_their_jitter":               "jobs TestDeliveryFailsAfterAllScheduledRetries",
	"the_schedule":                            deliveryScheduleIsTheContract,
	"failed_and_listed":                       failedDeliveriesAreListed,
	"retryable_by_hand":                       "jobs TestFailedDeliveriesCanBeRetried",
	"five_days_of_failures_disable":           "jobs TestFiveDaysOfFailuresDisable",
	"targets_are_https_and_public":            endpointURLsAreChecked,
	"checked_at_connect_time":                 "internal/egress TestDNSRebindingIsRefused",
	"every_range_that_is_not_public":          "internal/egress TestNonPublicAddressesAreNeverConnectedTo",
	"one_slow_receiver_does_not_delay_others": "jobs TestHangingReceiversDelayNobody",
}

// eventTypesAreTheContract checks the event types of the contract: each one filters the
// feed, and no other is accepted.
func eventTypesAreTheContract(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	promised := strings.Fields(`quote.created quote.bound quote.expired policy.activated policy.exhausted policy.expired policy.cancelled policy.archived
		claim.opened claim.approved claim.deferred claim.declined claim.withdrawn claim.closed claim.reopened claim.attachment_added claim.message_added claim.challenged claim.challenge_decided
		payout_method.recorded payout_method.verified payout_method.rejected payout_method.replaced payout.created payout.releasing payout.released
		payout.blocked payout.unblocked payout.reconciling payout.reconciled payout.returned payout.cancelled webhook_endpoint.enabled
		webhook_endpoint.disabled policy.updated claim.updated payout.updated occurrence.watch`)
	have := []string{}
	for _, kind := range event.Types() {
		have = append(have, string(kind))
	}
	require.ElementsMatch(t, promised, have)
	for _, kind := range promised {
		h.get(t, "/v1/events?types="+kind)
		h.expectStatus(t, 400, request{"GET", "/v1/events?types=" + kind + "s", "", nil})
	}
}

// createEvent returns the body of one event, unchanged.
func (h *testServer) createEvent(t *testing.T) (body []byte, claim *wire.Claim) {
	t.Helper()
	_, _, claim = h.createClaim(t)
	h.Relay()
	list := decodeRecord[wire.List[wire.Event]](t, h.get(t, "/v1/events?types=claim.approved&subject="+claim.ID))
	require.Len(t, list.Data, 1)
	return h.get(t, "/v1/events/"+list.Data[0].ID).Body, claim
}

func eventHasContractMembers(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	body, claim := h.createEvent(t)
	var event map[string]any
	require.NoError(t, json.Unmarshal(body, &event))
	var names []string
	for name := range event {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"id", "object", "type", "partner", "sequence", "generation", "subject", "occurred_at", "data", "hash", "created_at", "updated_at", "version"}, names)
	require.Equal(t, []any{"event", "claim.approved", "acme"}, []any{event["object"], event["type"], event["partner"]})
	require.Equal(t, map[string]any{"type": "claim", "id": claim.ID, "version": 2.0}, event["subject"])
	require.Contains(t, event["data"], "object")
}

// eventDataIsASnapshot reads the claim before and after it changes.
func eventDataIsASnapshot(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	body, claim := h.createEvent(t)
	was := h.get(t, "/v1/events?types=claim.approved").Body
	h.post(t, 201, "/v1/claims/"+claim.ID+"/messages", `{"body":"When?"}`)
	h.post(t, 201, "/v1/payout_methods", `{"claim_id":"`+claim.ID+`",`+ibanMembers)
	h.RunJobs()
	h.Relay()
	require.NotEqual(t, claim, decodeRecord[wire.Claim](t, h.get(t, "/v1/claims/"+claim.ID)))
	require.Equal(t, string(was), string(h.get(t, "/v1/events?types=claim.approved").Body))
	require.Contains(t, string(was), string(body))
}

func eventsAreNeverPurged(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	h.createEvent(t)
	before := h.listEvents(t)
	h.AdvanceClock(10 * 365 * 24 * time.Hour)
	h.Sweep()
	h.Relay()
	require.Equal(t, before, h.listEvents(t)[:len(before)])
}

// hashCoversThePreviousEvent recomputes the hash of every event from the previous one,
// from the bytes of the feed.
func hashCoversThePreviousEvent(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	h.createEvent(t)
	before := strings.Repeat("0", 64)
	for i, event := range h.listEvents(t) {
		body := string(h.get(t, "/v1/events/"+event.ID).Body)
		_, data, _ := strings.Cut(body, `"data":`)
		data, _, _ = strings.Cut(data, `,"hash":"`+event.Hash)
		at := strings.SplitN(strings.SplitN(body, `"occurred_at":"`, 2)[1], `"`, 2)[0]
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s\n%s\n%s\n%x", before, i+1, event.ID, event.Type, at, sha256.Sum256([]byte(data))))
		before = hex.EncodeToString(sum[:])
		require.Equal(t, before, event.Hash, body)
	}
}

func deliveryScheduleIsTheContract(t *testing.T) {
	t.Helper()
	const minute, hour = time.Minute, time.Hour
	require.Equal(t, []time.Duration{5 * time.Second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour}, webhooks.DeliverySchedule())
}

// failedDeliveriesAreListed lists the failed deliveries by their status, and sends one
// again.
func failedDeliveriesAreListed(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	sent := h.deliverTestEvent(t)
	at := webhookEndpointsPath + "/" + sent.EndpointID + "/deliveries?status="
	require.Empty(t, decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"failed")).Data)
	_, err := h.DB.Pool.Exec(t.Context(), "update deliveries set status = 'failed', attempts_in_round = 10, next_attempt_at = null")
	require.NoError(t, err)
	failed := decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"failed")).Data
	require.Len(t, failed, 1)
	require.Nil(t, failed[0].NextAttemptAt)
	h.post(t, 202, "/v1/deliveries/"+failed[0].ID+"/retry", "")
	require.Empty(t, decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"failed")).Data)
	h.RunJobs()
	require.Equal(t, "delivered", decodeRecord[wire.List[wire.Delivery]](t, h.get(t, at+"delivered")).Data[0].Status)
}

// endpointURLsAreChecked checks which addresses are refused at the registration; only a
// development setting allows addresses on this machine.
func endpointURLsAreChecked(t *testing.T) {
	t.Helper()
	h := newTestServer(t)
	guarded := func(loopback bool) http.Handler {
		service, err := model.New(model.Config{
			DB: h.DB, Queue: modeltest.Queue{}, Keys: testKeys(), Webhooks: webhooks.Config{TargetProblem: egress.New(egress.Config{Loopback: loopback}).CheckURL},
		})
		require.NoError(t, err)
		handler, err := rest.New(rest.Config{Service: service, Authenticate: h.authenticate})
		require.NoError(t, err)
		return handler
	}
	for address, allowed := range map[string][2]bool{ // without and with the setting
		"https://hooks.example.com/p": {true, true}, "http://hooks.example.com/p": {false, false}, "https://10.0.0.1/": {false, false},
		"https://169.254.169.254/": {false, false}, "https://[::ffff:10.0.0.1]/": {false, false}, "https://user@hooks.example.com/": {false, false},
		"http://127.0.0.1:3000/": {false, true}, "http://localhost:3000/": {false, true}, "https://intranet/": {false, false}, "ftp://hooks.example.com/": {false, false},
	} {
		for i, loopback := range []bool{false, true} {
			h.handler = guarded(loopback)
			answer := h.sendAs(t, "acme", nil, request{"POST", webhookEndpointsPath, `{"url":"` + address + `"}`, nil})
			require.Equal(t, map[bool]int{true: 201, false: 422}[allowed[i]], answer.StatusCode, "%s: %s", address, answer.Body)
		}
	}
}
