package payouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
)

// owed is a payout of a policy's debt.
func owed(policy uuid.UUID, digest string, number int) *claims.PayoutRow {
	return &claims.PayoutRow{PolicyID: policy, DebtDigest: digest, IdempotencySeq: number}
}

func TestRailKeyIsParsedAsItIsWritten(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		row := owed(store.NewID(), fmt.Sprintf("%016x", random.Uint64()), 1+random.IntN(1000))
		key, ok := ParseRailKey(IdempotencyKey(row))
		require.True(t, ok)
		require.True(t, HasKey(row, key))
		require.Equal(t, row.IdempotencySeq, key.Number)
		require.False(t, HasKey(owed(store.NewID(), row.DebtDigest, row.IdempotencySeq), key), "of another policy")
		require.False(t, HasKey(owed(row.PolicyID, "0"+row.DebtDigest[1:]+"0", row.IdempotencySeq), key), "of another debt")
	}
}

func TestOtherTextsAreNoRailKey(t *testing.T) {
	t.Parallel()
	policy := store.ResourcePolicy.FormatID(store.NewID())
	for _, text := range []string{
		"", ".", "..", "1", "..1", policy, policy + ".abc", policy + ".abc.", policy + ".abc.0", policy + ".abc.-1", policy + ".abc.1.1", policy + ".abc.x", policy + ".abc.99999999999999999999",
		"clm" + policy[3:] + ".abc.1", policy[:len(policy)-1] + ".abc.1", " " + policy + ".abc.1",
	} {
		_, ok := ParseRailKey(text)
		require.False(t, ok, "%q", text)
	}
}

func TestShortKeyFindsItsDebtUpToTheKeysThatARestoreCanLose(t *testing.T) {
	t.Parallel()
	row := owed(store.NewID(), "0123456789abcdef", 3)
	short := func(n int) string {
		digest := sha256.Sum256([]byte(IdempotencyKey(owed(row.PolicyID, row.DebtDigest, n))))
		return store.ResourcePolicy.FormatID(row.PolicyID) + "." + hex.EncodeToString(digest[:4])
	}
	for n := 1; n <= 3+maxLostKeys; n++ {
		key, ok := parseShortKey(short(n))
		require.True(t, ok)
		require.Equal(t, IdempotencyKey(owed(row.PolicyID, row.DebtDigest, n)), expandShortKey(row, key), n)
		require.Empty(t, expandShortKey(owed(store.NewID(), row.DebtDigest, 3), key), "of another policy")
		require.True(t, isNamedBy(row, short(n)))
	}
	for _, n := range []int{0, 3 + maxLostKeys + 1} {
		key, ok := parseShortKey(short(n))
		require.True(t, ok)
		require.Empty(t, expandShortKey(row, key), n)
		require.False(t, isNamedBy(row, short(n)))
	}
	require.True(t, isNamedBy(row, IdempotencyKey(row)))
	require.False(t, isNamedBy(owed(row.PolicyID, "other", 3), IdempotencyKey(row)))
	require.False(t, isNamedBy(row, "invoice 7"))
	policy := store.ResourcePolicy.FormatID(row.PolicyID)
	for _, text := range []string{"", policy, policy + ".", policy + ".0123456", policy + ".012345678", policy + ".0123456789", policy + ".0123456g", "01234567", policy + ".01234567.1"} {
		_, ok := parseShortKey(text)
		require.False(t, ok, text)
	}
}

// The digest must never change: after a restore from a backup the same debt must get the
// same key from a newer release.
func TestDigestOfADebtIsFixed(t *testing.T) {
	t.Parallel()
	id := func(last byte) uuid.UUID { return uuid.UUID{15: last} }
	claim := func(change func(*claims.ClaimRow)) *claims.ClaimRow {
		row := &claims.ClaimRow{PolicyID: id(2), OccurrenceKey: new("usgs/earthquake/us1")}
		row.ID, row.Partner = id(1), "acme"
		change(row)
		return row
	}
	same := func(*claims.ClaimRow) {}
	text := "acme\n" + store.ResourcePolicy.FormatID(id(2)) + "\n1\nusgs/earthquake/us1"
	sum := sha256.Sum256([]byte(text))
	require.Equal(t, hex.EncodeToString(sum[:])[:16], DebtDigest(claim(same), 1))
	require.Equal(t, DebtDigest(claim(same), 1), DebtDigest(claim(func(c *claims.ClaimRow) { c.ID = id(9) }), 1), "the occurrence identifies it, not the claim")
	digests := map[string]string{DebtDigest(claim(same), 1): "itself"}
	for name, digest := range map[string]string{
		"part":              DebtDigest(claim(same), 2),
		"partner":           DebtDigest(claim(func(c *claims.ClaimRow) { c.Partner = "globex" }), 1),
		"policy":            DebtDigest(claim(func(c *claims.ClaimRow) { c.PolicyID = id(3) }), 1),
		"occurrence":        DebtDigest(claim(func(c *claims.ClaimRow) { c.OccurrenceKey = new("usgs/earthquake/us2") }), 1),
		"no occurrence":     DebtDigest(claim(func(c *claims.ClaimRow) { c.OccurrenceKey = nil }), 1),
		"none, other claim": DebtDigest(claim(func(c *claims.ClaimRow) { c.OccurrenceKey, c.ID = nil, id(9) }), 1),
	} {
		require.Empty(t, digests[digest], name)
		digests[digest] = name
	}
}

func TestNaturalKeyDistinguishesOccurrences(t *testing.T) {
	t.Parallel()
	row := func(change func(*occurrence.OccurrenceRow)) string {
		o := &occurrence.OccurrenceRow{ID: uuid.New(), Source: "ghcn", Kind: "station_day", SourceEventID: "Seattle/2026-01-02"}
		change(o)
		return NaturalKey(o)
	}
	require.Equal(t, "ghcn/station_day/Seattle/2026-01-02", row(func(*occurrence.OccurrenceRow) {}))
	require.Equal(t, "acme:ghcn/station_day/Seattle/2026-01-02", row(func(o *occurrence.OccurrenceRow) { o.Scope = "acme" }))
	spell := func(o *occurrence.OccurrenceRow) { o.Station, o.Definition = new("Seattle"), new("spell/1.0/3") }
	require.Equal(t, "ghcn/station_day/Seattle/2026-01-02/spell/1/3", row(spell))
	require.Equal(t, "ghcn/station_day/Seattle/2026-01-02/month", row(func(o *occurrence.OccurrenceRow) { o.Station, o.Definition = new("Seattle"), new("month") }))
}

func TestIdentityOfARailChangesWithEachOfItsParts(t *testing.T) {
	t.Parallel()
	bank := RailIdentity{Name: "iso20022", Address: "https://bank.test", Account: "f1"}
	ids := map[string]bool{}
	for _, r := range []RailIdentity{bank, {"other", bank.Address, bank.Account}, {bank.Name, "https://bank2.test", bank.Account}, {bank.Name, bank.Address, "f2"}, {bank.Name, bank.Address, ""}, {bank.Name, "", bank.Account}} {
		require.Regexp(t, `^rid_[0-9a-f]{16}$`, r.ID())
		require.False(t, ids[r.ID()])
		ids[r.ID()] = true
		require.Equal(t, r.ID(), *r.ColumnValue())
		require.Equal(t, Recipient{Rail: r.Name, Bank: r.ID()}, r.Recipient())
	}
	require.Nil(t, RailIdentity{Name: "sim"}.ColumnValue(), "a rail that only its name identifies")
	require.Equal(t, Recipient{Rail: "sim"}, RailIdentity{Name: "sim"}.Recipient())
	require.NotContains(t, bank.ID(), "bank")
}

func TestAnswerThatMovedMoneyIsStoredAsAccepted(t *testing.T) {
	t.Parallel()
	for outcome, stored := range map[Outcome]string{
		OutcomeAccepted: "accepted", OutcomeMismatch: "accepted", OutcomeRefused: "refused", OutcomeUnknown: "unknown", OutcomeNotSent: "not_sent",
	} {
		require.Equal(t, stored, RailAnswer{Outcome: outcome}.AttemptOutcome())
		require.Equal(t, stored == "accepted", outcome.MovedMoney(), outcome)
	}
}
