package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"parapet/model/operations/privacy"
)

// newEraseCommand removes a policyholder's personal data.
func newEraseCommand() *cobra.Command {
	var in privacy.ErasureRequest
	cmd := &cobra.Command{
		Use: "erase", Example: "  parapet erase --partner acme --policyholder lin@example.com --reason @request.txt",
		Short: "remove a policyholder's personal data; amounts and histories stay provable", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := requireFlags(cmd, "--partner", "--policyholder or --policy", "--reason"); err != nil {
				return err
			}
			return runErase(cmd.Context(), in, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&in.Partner, "partner", "", "the partner who sold the cover")
	set.StringVar(&in.Email, "policyholder", "", "the e-mail address of the policyholder, as the partner gave it")
	set.StringVar(&in.PolicyID, "policy", "", "or one policy of that partner, pol_…")
	set.StringVar(&in.Reason, "reason", "", "why, for the audit log, without naming the person")
	return cmd
}

func runErase(ctx context.Context, in privacy.ErasureRequest, out io.Writer) error {
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
