package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"parapet/internal/filestore"
	"parapet/jobs"
	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/iso20022"
	"parapet/jobs/rail/nacha"
	"parapet/model/payouts/controls"
	"parapet/model/wire"
)

// maxRailBatch bounds the orders of one call: their answers must fit into one body, and a
// transaction locks their payouts.
const maxRailBatch = 1000

// openRail opens the rail that PARAPET_RAIL names.
func (a *app) openRail() (rail.Rail, error) {
	if n := a.settings.RailBatch; n < 0 || n > maxRailBatch {
		return nil, fmt.Errorf("PARAPET_RAIL_BATCH: use 0 to %d", maxRailBatch)
	}
	switch a.settings.Rail {
	case rail.SimulatorName:
		return rail.NewSimulator(jobs.NewSimulatorStore(a.riverPool), rail.WithGroups(a.settings.RailBatch)), nil
	case httprail.Name:
		return a.openHTTPRail()
	case iso20022.Name:
		var debtor iso20022.Debtor
		if err := readAccount(a.settings.RailAccount, &debtor); err != nil {
			return nil, err
		}
		format, err := iso20022.New(debtor, a.settings.RailCurrencies)
		if err != nil {
			return nil, fmt.Errorf("PARAPET_RAIL_ACCOUNT: %w", err)
		}
		return a.openFileRail(format)
	case nacha.Name:
		var originator nacha.Originator
		if err := readAccount(a.settings.RailAccount, &originator); err != nil {
			return nil, err
		}
		format, err := nacha.New(originator)
		if err != nil {
			return nil, fmt.Errorf("PARAPET_RAIL_ACCOUNT: %w", err)
		}
		return a.openFileRail(format)
	default:
		return nil, fmt.Errorf("PARAPET_RAIL: there is no rail %q; use http, iso20022 or nacha; simulator moves no money", a.settings.Rail)
	}
}

// isBatchRail reports whether the rail accepts batches; see rail.BatchRail and
// rail.GroupRail.
func (s settings) isBatchRail() bool {
	return s.Rail == iso20022.Name || s.Rail == nacha.Name || s.RailBatch > 1
}

// payingAccountFingerprint returns the fingerprint of PARAPET_RAIL_ACCOUNT for a rail
// that needs no account file; empty without one.
func (s settings) payingAccountFingerprint() string {
	if s.RailAccount == "" {
		return ""
	}
	return rail.AccountFingerprint(s.RailAccount)
}

func (a *app) openHTTPRail() (rail.Rail, error) {
	base, err := url.Parse(a.settings.RailURL)
	if err != nil || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, errors.New("PARAPET_RAIL_URL: use the base address of the rail, https://rail.example.com/v1")
	}
	if wrong := a.egressGuard.CheckURL(base); wrong != "" {
		return nil, fmt.Errorf("PARAPET_RAIL_URL: %s", strings.TrimSuffix(wrong, "."))
	}
	secrets, err := httprail.ParseSecrets(a.settings.RailSecrets)
	if err != nil {
		return nil, fmt.Errorf("PARAPET_RAIL_SECRET: %w", err)
	}
	return httprail.New(httprail.Config{
		URL: base, Account: a.settings.payingAccountFingerprint(), Secrets: secrets, Client: a.egressGuard.Client(httprail.Timeout), Now: time.Now,
		Capabilities: a.settings.httpCapabilities(), GroupSize: a.settings.RailBatch,
	}), nil
}

func (s settings) httpCapabilities() rail.Capabilities {
	return rail.Capabilities{KeyWindow: s.RailKeyWindow, CanVoid: s.RailVoids, SettlementDelay: 24 * time.Hour, Currencies: s.RailCurrencies}
}

// reportCapabilities returns the capabilities of the rail's reports without a connection.
func (s settings) reportCapabilities() rail.Capabilities {
	switch s.Rail {
	case httprail.Name:
		return s.httpCapabilities()
	case iso20022.Name:
		return (&iso20022.Format{}).Capabilities()
	case nacha.Name:
		return (&nacha.Format{}).Capabilities()
	default:
		return rail.Capabilities{}
	}
}

func (a *app) openFileRail(format bankfile.Format) (rail.Rail, error) {
	var err error
	if a.bankFiles, err = filestore.Open(a.settings.RailFiles); err != nil {
		return nil, fmt.Errorf("PARAPET_RAIL_FILES: %w", err)
	}
	files := &bankfile.Rail{Format: format, OrderStore: jobs.NewPaymentOrderStore(a.riverPool), FileStore: a.bankFiles, Address: a.settings.RailFiles}
	files.LoadOrders = jobs.SentOrderLoader(a.service, jobs.IdentityOf(files))
	return files, nil
}

// readAccount reads the file that describes the paying account.
func readAccount(path string, into any) error {
	text, err := os.ReadFile(path) //nolint:gosec // the operator chooses the file
	if err == nil {
		err = json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return fmt.Errorf("PARAPET_RAIL_ACCOUNT: name a JSON file about the paying account: %w", wire.JSONError(err))
	}
	return nil
}

// railHandlers returns the handlers of notices from the rail.
func (a *app) railHandlers() map[string]http.Handler {
	payment, speaks := a.rail.(*httprail.Rail)
	if !speaks {
		return nil
	}
	notices := &jobs.NoticeRecorder{Service: a.service, Rail: a.rail, Log: a.log}
	return map[string]http.Handler{httprail.NoticePath: payment.NoticeHandler(notices.HTTPRecorder())}
}

// newRailCommand lists the banks to which orders were sent and declares two of them to be
// one, with the API operations of the same name; unseal works on the database directly.
func newRailCommand() *cobra.Command {
	all := operatorVerbs()
	return addVerbs(&cobra.Command{Use: "rail", Short: "handle the banks to which orders were sent"},
		newOperationCommand("identities", all["rail-identities"]), newOperationCommand("adopt", all["adopt-rail"]), newUnsealCommand())
}

// newUnsealCommand allows a file that the bank does not have to be written again with
// other orders.
func newUnsealCommand() *cobra.Command {
	var in controls.UnsealRequest
	cmd := &cobra.Command{
		Use: "unseal", Short: "rewrite a file that the bank does not have", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := requireFlags(cmd, "--batch", "--reason"); err != nil {
				return err
			}
			return runUnseal(cmd.Context(), in, cmd.OutOrStdout())
		},
	}
	set := cmd.Flags()
	set.StringVar(&in.Batch, "batch", "", "the file's name without its extension, such as PPT-20261122-0123456789AB")
	set.StringVar(&in.Reason, "reason", "", "who at the bank said that it does not have the file, for the audit log")
	return cmd
}

func runUnseal(ctx context.Context, in controls.UnsealRequest, out io.Writer) error {
	service, closeDomain, err := openWithFiles(ctx)
	if err != nil {
		return err
	}
	defer closeDomain()
	if err := service.Controls.UnsealBankFile(ctx, shellActor("rail unseal"), in); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s is written again with the orders that can still be paid, after: parapet ops resume-releases\n", in.Batch)
	return nil
}
