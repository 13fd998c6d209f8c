package rest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// contractSection are sentences of the contract and the proof of each: a function that
// tests it over HTTP, or the package and name of the test that covers it.
type contractSection map[string]any // func(*testing.T) or "package TestName"

// contractRows are the sections about what a partner can rely on in the REST API.
var contractRows = map[string]contractSection{
	"2_shape": {
		"members_are_snake_case":                          membersAreSnakeCase,
		"times_are_UTC_with_microseconds":                 "rest TestGolden",
		"unknown_members_are_refused":                     "rest TestParseReportsSyntaxErrorsFirst",
		"unknown_context_is_kept_and_named":               "model/quoting TestAQuoteIsReadAsItWasAnswered",
		"known_context_satisfies_the_product's_schema":    "model/quoting TestAQuoteIsRefused",
		"every_record_has_the_header":                     "rest TestGolden",
		"ids_are_TypeIDs_with_their_prefix":               "rest TestGolden",
		"version_grows_by_one_per_change":                 "model/modeltest CheckInvariants",
		"reads_carry_a_strong_ETag_and_answer_304":        "rest TestIfNoneMatchReturns304",
		"an_ETag_covers_embedded_records":                 "rest TestIfMatch",
		"If-Match_that_does_not_match_is_412":             "rest TestIfMatch",
		"partner_reference_and_metadata_bounds":           referencesAreBounded,
		"partner_reference_is_unique_by_partner_and_kind": referencesAreUnique,
		"money_is_whole_minor_units":                      "model/money TestCurrencies",
		"no_floating_point_touches_money":                 moneyIsWholeMinorUnits,
		"measured_values_are_strings_with_a_unit":         "rest TestWalkEveryOperation",
		"durations_are_ISO_8601":                          "model/hazard/trigger TestAddDuration",
		"intervals_are_half_open":                         "model/hazard/trigger TestCoverTimes",
		"the_database_clock_decides":                      "model/quoting TestAQuoteExpiresAfterADay",
	},
	"4_endpoints": {
		"":                                           contractEndpoints, // each
		"paths_and_scopes":                           "rest TestOpenAPIMatchesTheContract",
		"both_bases_answer_alike":                    "rest TestWalkEveryOperation",
		"who_may_do_what":                            rolesAreEnforced,
		"a_token_of_nobody_is_403":                   "internal/auth TestActorOfClaims",
		"a_partner_who_observes_is_refused":          "internal/auth TestActorOfClaims",
		"rehearsals_touch_the_caller's_own":          sandboxIsPerPartner,
		"rehearsals_are_for_development":             "rest TestSandboxIsForDevelopment",
		"POST_carries_Location":                      "rest TestFromQuoteToPayout",
		"lists_are_narrowed_by_filters":              "rest TestListFilters",
		"a_claim_met_is_201_and_again_200":           "rest TestFromQuoteToPayout",
		"a_claim_of_the_matcher_is_200":              "model/claims/adjudication TestOpenClaimReturnsClaimOpenedByMatching",
		"a_claim_not_met_says_by_how_much":           "model/claims/adjudication TestTriggerNotMetErrorHasMissedBy",
		"a_claim_without_occurrence_is_for_approval": "model/claims/adjudication TestApprovalClaimWaitsForOperator",
		"an_unknown_occurrence_is_404":               "model/claims/adjudication TestTriggerNotMetErrorHasMissedBy",
		"observations_alone_and_in_batches":          "rest TestObservationBatch",
		"attachments_come_back_as_they_went":         "rest TestAttachmentContent",
	},
	"7_tokens": {
		"signature_and_allowed_algorithms":       "internal/auth TestVerifyMalformed",
		"configured_algorithms":                  "internal/auth TestNewRefusesConfiguration",
		"iss_aud_exp_nbf_iat_and_lifetime":       "internal/auth TestVerifyClaims",
		"never_an_ID_token":                      "internal/auth TestVerifyClaims",
		"typ_where_the_issuer_sends_it":          "internal/auth TestVerifyType",
		"scope_or_scp_partner_operator_source":   "internal/auth TestActorOfClaims",
		"missing_or_invalid_is_401_and_says_how": "rest TestRequestsAreRejectedBeforeTheDomain",
		"every_operation_asks_for_a_token":       "rest TestEveryOperationAsksForAToken",
		"foreign_ids_look_unknown":               "rest contractEndpoints",
		"bad_tokens_fetch_once_per_30_s":         "internal/auth TestForgedTokensFetchKeysOnce",
		"a_new_key_works_within_30_s":            "internal/auth TestNewKeyWorksWithinHalfAMinute",
		"a_withdrawn_key_stops_within_5_min":     "internal/auth TestWithdrawnKeyStops",
		"known_keys_bridge_an_outage":            "internal/auth TestKnownKeysWorkWhileTheIssuerIsDown",
	},
	"8_errors": {
		"":                                   contractErrors, // each code
		"problem_documents":                  "rest TestProblemContainsTheErrorsFields",
		"request_id_on_every_answer":         "rest TestRequestID",
		"syntax_comes_first":                 "rest TestParseReportsSyntaxErrorsFirst",
		"wrong_members_are_told_all_at_once": "rest TestParseReportsEveryFieldError",
		"malformed_ids_are_404":              "rest TestMalformedIDsAreNotFound",
		"no_input_causes_a_500":              "rest TestWalkEveryOperation",
		"an_internal_text_stays_inside":      "rest TestInternalErrorTextIsOnlyLogged",
		"lost_databases_are_503":             "rest TestLostDatabase",
		"every_text_comes_back":              "model TestTextsRoundTripUnchanged",
	},
	"9_idempotency": {
		"on_every_POST":                     replaysAreByteEqual,
		"the_same_status_and_body":          "rest TestIdempotency",
		"even_if_it_would_be_refused_today": replaysIgnoreLaterState,
		"a_key_is_its_operation's":          "rest TestIdempotency",
		"a_key_is_its_partner's":            "model/kernel/store TestReplayReturnsSameBytes",
		"stored_with_its_effect":            "model/kernel/store TestIdempotencyKeyIsInFlightUntilConnectionEnds",
		"only_successes_are_stored":         "model/kernel/store TestFailedRequestIsNotStoredUnderKey",
		"forgotten_after_30_days":           "model/partners TestIdempotencyKeyIsPurgedAfterThirtyDays",
		"authorisation_before_replay":       "rest TestIdempotency",
		"100_at_once_over_two_doors":        "rest TestSameKeyConcurrentlyOverTwoServers",
		"100_at_once_over_two_processes":    "cmd/parapet TestSameKeyConcurrentlyOverTwoProcesses",
		"a_killed_process_holds_no_key":     "cmd/parapet TestIdempotencyKeyIsReleasedWhenItsProcessDies",
	},
	"10_lists": {
		"25_by_default_and_100_at_most":         pageSizesAreBounded,
		"a_cursor_is_bound_to_its_filter":       "rest TestListFilters",
		"a_cursor_is_bound_to_its_partner":      foreignCursorsAreRejected,
		"newest_first":                          "rest TestListFilters",
		"messages_and_timelines_oldest_first":   "model/claims TestMessagesAreListedInOrder",
		"pages_are_stable_while_more_come_in":   "model TestAListIsStableWhileQuotesComeIn",
		"whatever_a_cursor_says_nothing_breaks": "model/kernel/store FuzzCursor",
	},
	"11_events": eventRows,
	"13_limits": {
		"100_requests_a_second_and_200_at_once": "rest TestBurstThenRate",
		"over_all_nodes":                        "rest TestNodesShareAQuota",
		"1_MiB_of_body_and_15_of_attachment":    bodiesAreBounded,
		"10_MiB_of_file":                        filesAreBounded,
		"50_attachments_per_claim":              "rest newErrorFixture",
		"64_levels_of_JSON":                     "rest TestParseBoundsDepthAndErrorCount",
		"10000_characters_of_message":           messagesAreBounded,
		"30_seconds":                            "rest TestTimeoutReturnsUnavailable",
	},
}

// TestContract runs the test of each sentence of the contract. To find the test of a
// promise, run it with -v and read the names.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, section := range slices.Sorted(maps.Keys(contractRows)) {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			for _, row := range slices.Sorted(maps.Keys(contractRows[section])) {
				switch shown := contractRows[section][row].(type) {
				case func(*testing.T):
					if row == "" { // it has subtests
						shown(t)
						continue
					}
					t.Run(row, func(t *testing.T) { t.Parallel(); shown(t) })
				case string:
					t.Run(row+" in "+shown, func(t *testing.T) { t.Parallel(); requireTestExists(t, shown) })
				}
			}
		})
	}
}

// requireTestExists finds a function, given by its package and name, in the source.
func requireTestExists(t *testing.T, named string) {
	t.Helper()
	dir, name, _ := strings.Cut(named, " ")
	packages, err := parser.ParseDir(token.NewFileSet(), "../"+dir, nil, parser.SkipObjectResolution) //nolint:staticcheck // build tags do not matter here
	require.NoError(t, err)
	found := false
	for _, files := range packages {
		ast.Inspect(files, func(n ast.Node) bool {
			function, is := n.(*ast.FuncDecl)
			found = found || is && function.Name.Name == name
			return !found
		})
	}
	require.True(t, found, "%s is not there any more: name the test that checks this row now", named)
}
