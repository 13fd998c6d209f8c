package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// newVerifyEventsCommand verifies the hash chains of partners' events from the database.
func newVerifyEventsCommand() *cobra.Command {
	var partner string
	cmd := &cobra.Command{
		Use: "verify-events", Example: "  parapet verify-events --partner acme",
		Short: "prove that no event was changed, lost or cut off", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runVerifyEvents(cmd.Context(), partner, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&partner, "partner", "", "the partner whose history to verify (default: all partners)")
	return cmd
}

func runVerifyEvents(ctx context.Context, only string, out io.Writer) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	if s.FingerprintKey == "" { // with another key every checkpoint would be invalid
		return errors.New("verify-events needs the server's settings: DATABASE_URL, PARAPET_FILES and PARAPET_FINGERPRINT_KEY, from which the key of the checkpoints comes")
	}
	service, closeDomain, err := openWithFiles(ctx)
	if err != nil {
		return err
	}
	defer closeDomain()
	key, err := service.Events.CheckpointPublicKey()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "checkpoints are signed with Ed25519, public key %s\n", base64.StdEncoding.EncodeToString(key))
	var intact bool
	if only != "" {
		intact, err = verifyPartner(ctx, service, only, out)
	} else {
		intact, err = verifyAllPartners(ctx, service, out)
	}
	if err == nil && !intact {
		err = errors.New("a history has changed; see above")
	}
	return err
}

func verifyAllPartners(ctx context.Context, service *model.Service, out io.Writer) (intact bool, err error) {
	intact = true
	for page := (store.PageRequest{Limit: store.MaxPageSize}); ; {
		partners, err := service.Partners.List(ctx, actor.System(), page)
		if err != nil {
			return false, err
		}
		for i := range partners.Data {
			whole, err := verifyPartner(ctx, service, partners.Data[i].Slug, out)
			if err != nil {
				return false, err
			}
			intact = intact && whole
		}
		if !partners.HasMore {
			return intact, nil
		}
		page.Cursor = *partners.NextCursor
	}
}

func verifyPartner(ctx context.Context, service *model.Service, partner string, out io.Writer) (intact bool, err error) {
	proof, err := service.Events.VerifyChain(ctx, actor.System(), partner)
	if err != nil {
		return false, err
	}
	verdict := "intact"
	if !proof.Intact {
		verdict = "BROKEN"
	}
	_, _ = fmt.Fprintf(out, "%s: %s, %d events up to %d, %d redacted, %d checkpoints, hash %s\n", partner, verdict, proof.Events, proof.Last, proof.Redacted, proof.Checkpoints, proof.Hash)
	for _, lost := range proof.Lost {
		_, _ = fmt.Fprintf(out, "  restored from a backup: generation %d had events up to %d at least, signed at %s\n", lost.Generation, lost.Sequence, lost.SignedAt.Format(time.RFC3339))
	}
	for _, fault := range proof.Faults {
		_, _ = fmt.Fprintf(out, "  %d %s: %s\n", fault.Sequence, fault.Kind, fault.Detail)
	}
	return proof.Intact, nil
}
