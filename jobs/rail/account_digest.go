package rail

import (
	"crypto/sha256"
	"encoding/hex"

	"parapet/model/account"
)

// AccountFingerprint names a paying account without showing its number.
func AccountFingerprint(canonical string) string {
	digest := sha256.Sum256([]byte("paying account\n" + canonical))
	return hex.EncodeToString(digest[:8])
}

// AccountDigest names an account to who knows it already and to nobody else: the
// SHA-256 in hexadecimal of the key, a line feed and the account's canonical form
// («iban:DE89370400440532013000», «us_bank_account:021000021/123456789»,
// «mobile_money:mpesa/+254712345678»). The key makes it another one each time, so
// that it is no name for a person.
func AccountDigest(key string, number account.Number) string {
	digest := sha256.Sum256([]byte(key + "\n" + number.Canonical()))
	return hex.EncodeToString(digest[:])
}
