package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/user"
	"slices"

	"github.com/spf13/cobra"

	"parapet/model"
	"parapet/model/kernel/actor"
)

// shellActor is who works at the machine itself, for the audit log.
func shellActor(doing string) actor.Actor {
	name := "shell"
	if who, err := user.Current(); err == nil {
		name += " " + who.Username
	}
	return actor.Actor{Kind: actor.KindOperator, Name: name, Client: "parapet", Scopes: []actor.Scope{actor.ScopeOperator}, Operation: doing}
}

// newKeysCommand seals stored secrets with the first key. Servers may run meanwhile.
func newKeysCommand() *cobra.Command {
	return addVerbs(&cobra.Command{Use: "keys", Short: "rotate the keys that seal stored secrets"}, &cobra.Command{
		Use: "rotate", Short: "seal every stored secret again with the first key", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runKeysRotate(cmd.Context(), cmd.OutOrStdout()) },
		Long: `parapet keys rotate seals every stored secret again with the first key of PARAPET_SEAL_KEYS.

1. Add the new key after the old one, k1:…,k2:…, and restart every process: now each can open what the new key seals.
2. Put it first, k2:…,k1:…, and restart every process: now the new key seals new secrets.
3. Run parapet keys rotate. You can interrupt it and run it again.
4. When it says that no older key is needed, remove the old key. Partners' cursors of lists become invalid with it.`,
	})
}

func runKeysRotate(ctx context.Context, out io.Writer) error {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	if len(s.SealKeys) == 0 {
		return errors.New("PARAPET_SEAL_KEYS is missing: the keys of the server, the new one first")
	}
	service, closeDomain, err := openDomain(ctx, nil)
	if err != nil {
		return err
	}
	defer closeDomain()
	return rotateKeys(ctx, service, s, out)
}

func rotateKeys(ctx context.Context, service *model.Service, s settings, out io.Writer) error {
	keys, err := s.parseKeys()
	if err != nil {
		return err
	}
	who := shellActor("keys rotate")
	n, err := service.Operations.Reseal(ctx, who)
	_, _ = fmt.Fprintf(out, "%d records sealed again with key %s\n", n, keys.Seal[0].ID)
	if err != nil {
		return err
	}
	left, err := service.Operations.CountSecretsByKey(ctx, who)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		_, _ = fmt.Fprintf(out, "%s: %d secrets\n", id, left[id])
	}
	if len(left) > 1 || len(left) == 1 && left[keys.Seal[0].ID] == 0 {
		return errors.New("some secrets are still sealed by an older key: a server was writing, or was not restarted with the new key first; run it again")
	}
	_, _ = fmt.Fprintln(out, "no older key is needed any more")
	return nil
}
