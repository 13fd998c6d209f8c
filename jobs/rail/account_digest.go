package rail

import (
	"crypto/sha256"
	"encoding/hex"

	"parapet/model/account"
)

// AccountFingerprint identifies a paying account without showing its number.
func AccountFingerprint(canonical string) string {
	digest := sha256.Sum256([]byte("paying account\n" + canonical))
	return hex.EncodeToString(digest[:8])
}

// AccountDigest confirms an account to a reader that already knows it, without revealing
// it to others: the SHA-256 in hexadecimal of the key, a line feed and the account's
// canonical form («iban:DE89370400440532013000», «us_bank_account:021000021/123456789»,
// «mobile_money:mpesa/+254712345678»). The key makes each digest different, so that it
// does not identify a person.
func AccountDigest(key string, number account.Number) string {
	digest := sha256.Sum256([]byte(key + "\n" + number.Canonical()))
	return hex.EncodeToString(digest[:])
}
