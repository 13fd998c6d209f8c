package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"parapet/model"
)

// verifyEvents proves partners' histories unbroken, from what the database holds.
func verifyEvents(ctx context.Context, args []string, out io.Writer) error {
	set := flags("verify-events")
	only := set.String("partner", "", "the partner whose history to prove; all without")
	if err := parseOnly(set, args); err != nil {
		return err
	}
	service, closeDomain, err := openDomain(ctx)
	if err != nil {
		return err
	}
	defer closeDomain()
	key, err := service.CheckpointKey()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "checkpoints are signed with Ed25519, public key %s\n", base64.StdEncoding.EncodeToString(key))
	broken := 0
	for page := (model.PageRequest{Limit: model.MaxPageSize}); ; {
		partners, err := service.ListPartners(ctx, model.System(), page)
		if err != nil {
			return err
		}
		for i := range partners.Data {
			if name := partners.Data[i].Slug; *only == "" || *only == name {
				intact, err := verifyHistory(ctx, service, name, out)
				if err != nil {
					return err
				}
				if !intact {
					broken++
				}
			}
		}
		if !partners.HasMore {
			break
		}
		page.Cursor = *partners.NextCursor
	}
	if broken > 0 {
		return errors.New("a history is not what it was; see above")
	}
	return nil
}

func verifyHistory(ctx context.Context, service *model.Service, partner string, out io.Writer) (intact bool, err error) {
	proof, err := service.ProveHistory(ctx, model.System(), partner)
	if err != nil {
		return false, err
	}
	verdict := "intact"
	if !proof.Intact {
		verdict = "BROKEN"
	}
	_, _ = fmt.Fprintf(out, "%s: %s, %d events up to %d, %d redacted, %d checkpoints, hash %s\n", partner, verdict, proof.Events, proof.Last, proof.Redacted, proof.Checkpoints, proof.Hash)
	for _, fault := range proof.Faults {
		_, _ = fmt.Fprintf(out, "  %d %s: %s\n", fault.Sequence, fault.Kind, fault.Detail)
	}
	return proof.Intact, nil
}
