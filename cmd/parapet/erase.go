package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"parapet/model/operations/privacy"
)

// runErase removes a policyholder's personal data.
func runErase(ctx context.Context, args []string, out io.Writer) error {
	var in privacy.ErasureRequest
	set := newFlagSet("erase")
	set.StringVar(&in.Partner, "partner", "", "the partner who sold the cover")
	set.StringVar(&in.Email, "policyholder", "", "the e-mail address of the policyholder, as the partner gave it")
	set.StringVar(&in.PolicyID, "policy", "", "or one policy of that partner, pol_…")
	set.StringVar(&in.Reason, "reason", "", "why, for the audit log, without naming the person")
	if err := parseFlags(set, args); err != nil {
		return err
	}
	s, err := loadSettings()
	if err != nil {
		return err
	}
	if s.DatabaseURL == "" || len(s.SealKeys) == 0 || s.FingerprintKey == "" {
		return errors.New("erase needs the server's settings: DATABASE_URL, PARAPET_SEAL_KEYS, PARAPET_FINGERPRINT_KEY and PARAPET_FILES")
	}
	service, closeDomain, err := openWithFiles(ctx)
	if err != nil {
		return err
	}
	defer closeDomain()
	done, err := service.Privacy.ErasePolicyholder(ctx, shellActor("erase"), in)
	if done != nil {
		_, _ = fmt.Fprintf(out, "erased from %d quotes, %d policies, %d claims, %d documents, %d messages, %d payout methods and %d events; parapet verify-events proves that nothing else changed\n",
			done.Quotes, done.Policies, done.Claims, done.Attachments, done.Messages, done.PayoutMethods, done.Events)
	}
	return err
}
