package bankfile

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// ShortID returns an end-to-end id of 15 characters: the beginning of the key's SHA-256.
func ShortID(key string) string {
	digest := sha256.Sum256([]byte(key))
	return strings.ToUpper(hex.EncodeToString(digest[:]))[:15]
}

const policyPrefix = "pol_"

var policyIDPattern = regexp.MustCompile(`^([0-9a-z]{26})-([0-9a-f]{8})$`)

// PolicyID returns an end-to-end id of 35 characters: the policy id in the key without
// its prefix, a hyphen and 8 characters of the key's SHA-256. So the payee's policy is
// known even if the database lost the key. A key without a policy gets a ShortID.
func PolicyID(key string) string {
	policy, _, _ := strings.Cut(key, ".")
	digest := sha256.Sum256([]byte(key))
	if id := strings.TrimPrefix(policy, policyPrefix) + "-" + hex.EncodeToString(digest[:4]); policyIDPattern.MatchString(id) {
		return id
	}
	return ShortID(key)
}

// IsPolicyID reports whether a text has the form of a PolicyID.
func IsPolicyID(id string) bool { return policyIDPattern.MatchString(id) }

// unknownKey returns the key of a line that is not in the order store: for a PolicyID a
// key that names the policy, otherwise the id itself.
func unknownKey(id string) string {
	if parts := policyIDPattern.FindStringSubmatch(id); parts != nil {
		return policyPrefix + parts[1] + "." + parts[2]
	}
	return id
}
