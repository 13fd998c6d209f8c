package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/iso20022"
	"parapet/jobs/rail/nacha"
)

// TestBatchSettingMatchesTheRail compares the setting for batches with the capability of
// each rail.
func TestBatchSettingMatchesTheRail(t *testing.T) {
	t.Parallel()
	accounts := map[string]string{
		iso20022.Name: `{"name":"Parapet SE","iban":"DE89370400440532013000"}`,
		nacha.Name:    `{"name":"Parapet","id":"1234567890","routing":"021000021","bank":"First Bank","description":"CLAIM"}`,
	}
	for _, name := range []string{rail.SimulatorName, httprail.Name, iso20022.Name, nacha.Name} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := filepath.Join(t.TempDir(), "account.json")
			require.NoError(t, os.WriteFile(account, []byte(accounts[name]), 0o600))
			a := &app{egressGuard: egress.New(egress.Config{}), settings: settings{
				Rail: name, RailAccount: account, RailFiles: t.TempDir(),
				RailURL: "https://rail.example.com/v1", RailSecrets: []string{base64.StdEncoding.EncodeToString(make([]byte, 32))},
			}}
			opened, err := a.openRail()
			require.NoError(t, err)
			_, takes := opened.(rail.BatchRail)
			require.Equal(t, takes, a.settings.isBatchRail())
		})
	}
}

func TestRailTakesGroupsOfTheSetSize(t *testing.T) {
	t.Parallel()
	for _, name := range []string{rail.SimulatorName, httprail.Name} {
		a := &app{egressGuard: egress.New(egress.Config{}), settings: settings{
			Rail: name, RailURL: "https://rail.example.com/v1", RailSecrets: []string{base64.StdEncoding.EncodeToString(make([]byte, 32))},
		}}
		for size, valid := range map[int]bool{-1: false, 0: true, 1: true, 2: true, 1000: true, 1001: false} {
			a.settings.RailBatch = size
			opened, err := a.openRail()
			if !valid {
				require.EqualError(t, err, "PARAPET_RAIL_BATCH: use 0 to 1000")
				continue
			}
			require.NoError(t, err)
			_, most, takes := rail.TakesGroups(opened)
			require.Equal(t, size > 1, takes)
			require.Equal(t, takes, a.settings.isBatchRail())
			if takes {
				require.Equal(t, size, most)
			}
		}
	}
}
