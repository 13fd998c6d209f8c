package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"parapet/internal/devpg"
	"parapet/jobs"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
)

const backupCheckHelp = `Restores a dump of the database (pg_dump, custom or plain format, "-" for standard input) into a scratch database,
brings it to the schema of this release, and checks the chains of events, the ledger, every invariant that does not depend on time and that the keys open
what they sealed. It needs psql and pg_restore, and PARAPET_SEAL_KEYS and PARAPET_FINGERPRINT_KEY of the server.

Without --scratch it starts a Postgres of its own, from the programs on this machine. The copy is removed afterwards.
No job of the copy runs: every release refuses to serve a copy, also one that --keep leaves.`

// backupCheck are the flags of backup check.
type backupCheck struct {
	scratch string
	keep    bool
}

func newBackupCommand() *cobra.Command {
	var check backupCheck
	verb := &cobra.Command{
		Use: "check FILE", Short: "prove that a dump can be restored and is intact", Long: backupCheckHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one dump: parapet backup check FILE")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return check.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	verb.Flags().StringVar(&check.scratch, "scratch", "", "`ADDRESS` of a Postgres where the scratch database is created")
	verb.Flags().BoolVar(&check.keep, "keep", false, "leave the scratch database of --scratch, to look at")
	return addVerbs(&cobra.Command{Use: "backup", Short: "check that a backup can be restored"}, verb)
}

func (b backupCheck) run(ctx context.Context, file string, out io.Writer) (err error) {
	s, err := loadSettings()
	if err != nil {
		return err
	}
	keys, err := s.parseKeys()
	if err == nil {
		err = keys.Check()
	}
	if err != nil {
		return fmt.Errorf("backup check needs PARAPET_SEAL_KEYS and PARAPET_FINGERPRINT_KEY of the server: a backup without its keys cannot be read: %w", err)
	}
	if b.scratch == "" {
		server, err := devpg.Start(ctx, devpg.Options{})
		if err != nil {
			return fmt.Errorf("start a scratch Postgres (or name one with --scratch): %w", err)
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
		b.scratch = server.URL("postgres")
	}
	name := "parapet_backup_check_" + strings.ToLower(rand.Text()[:10])
	if err := devpg.CreateDatabase(ctx, b.scratch, name); err != nil {
		return fmt.Errorf("create the scratch database: %w", err)
	}
	if !b.keep {
		defer func() { err = errors.Join(err, devpg.DropDatabase(context.WithoutCancel(ctx), b.scratch, name)) }()
	}
	url, err := devpg.WithDatabase(b.scratch, name)
	if err != nil {
		return err
	}
	if err := restoreDump(ctx, file, url); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "restored into the scratch database %s\n", name)
	return checkCopy(ctx, url, keys, out)
}

// restoreDump restores a dump of either format into an empty database.
func restoreDump(ctx context.Context, file, url string) error {
	dump := os.Stdin
	if file != "-" {
		opened, err := os.Open(file) //nolint:gosec // the operator chooses the file
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }()
		dump = opened
	}
	magic := make([]byte, 5)
	if _, err := io.ReadFull(dump, magic); err != nil {
		return fmt.Errorf("%s is no dump: %w", file, err)
	}
	command := exec.CommandContext(ctx, "psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", "--dbname="+url) //nolint:gosec // the operator's own database, as one argument
	if string(magic) == "PGDMP" {                                                                                                           // the custom format
		command = exec.CommandContext(ctx, "pg_restore", "--exit-on-error", "--no-owner", "--no-privileges", "--single-transaction", "--dbname="+url) //nolint:gosec // as above
	}
	var said bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = io.MultiReader(bytes.NewReader(magic), dump), io.Discard, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("the dump cannot be restored: %w: %s", err, oneLine(said.String()))
	}
	return nil
}

// checkCopy checks a restored copy. It first makes every release refuse to serve it.
func checkCopy(ctx context.Context, url string, keys seal.Keys, out io.Writer) error {
	db, err := dbpool.Open(ctx, url, 4)
	if err != nil {
		return err
	}
	defer db.Close()
	applied, err := migrations.Apply(ctx, db.Pool)
	if err != nil {
		return fmt.Errorf("the copy is no database of Parapet, or of a newer release: %w", err)
	}
	if _, err := db.Pool.Exec(ctx, "update schema_compatibility set minimum_binary = 999999"); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "schema: at this release, %d migrations were applied to the copy\n", len(applied))
	queue, err := jobs.NewQueue(db.Pool)
	if err != nil {
		return err
	}
	service, err := model.New(model.Config{DB: db, Queue: queue, Keys: keys})
	if err != nil {
		return err
	}
	intact, err := verifyAllPartners(ctx, service, out)
	if err != nil {
		return err
	}
	var faults []error
	if !intact {
		faults = append(faults, errors.New("a history of events has changed"))
	}
	faults = append(faults, checkLedger(ctx, db, out), checkCopiedInvariants(ctx, db, out))
	if err := service.Operations.VerifyKeys(ctx, actor.System()); err != nil {
		faults = append(faults, fmt.Errorf("the keys do not open what they sealed: %w", err))
	} else {
		_, _ = fmt.Fprintln(out, "keys: they open what they sealed")
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("the backup is not intact: %w", err)
	}
	var last *time.Time
	if err := db.Pool.QueryRow(ctx, "select max(occurred_at) from events").Scan(&last); err != nil {
		return err
	}
	if last == nil {
		_, err = fmt.Fprintln(out, "the backup is intact; it has no event")
		return err
	}
	_, err = fmt.Fprintf(out, "the backup is intact; its last event is of %s\n", last.Format(time.RFC3339))
	return err
}

// checkLedger checks that debits equal credits in every currency.
func checkLedger(ctx context.Context, db *dbpool.Database, out io.Writer) error {
	var postings, unbalanced int
	err := db.Pool.QueryRow(ctx, `select coalesce(sum(n), 0), count(*) filter (where total <> 0)
		from (select count(*) as n, sum(amount) as total from ledger_entries group by currency) c`).Scan(&postings, &unbalanced)
	if err != nil {
		return err
	}
	if unbalanced > 0 {
		return fmt.Errorf("the ledger does not balance in %d currencies", unbalanced)
	}
	_, _ = fmt.Fprintf(out, "ledger: %d entries, balanced in every currency\n", postings)
	return nil
}

// checkCopiedInvariants checks every invariant for all records. It leaves out those that
// depend on the time since the dump, and violations that operators acknowledged.
func checkCopiedInvariants(ctx context.Context, db *dbpool.Database, out io.Writer) error {
	rows, err := db.Pool.Query(ctx, `select relname from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace and relname like 'inv\_%'
		and relname not in ('inv_events_sequenced', 'inv_matchings') order by 1`)
	if err != nil {
		return err
	}
	views, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var faults []error
	for _, view := range views {
		var violations int
		err := db.Pool.QueryRow(ctx, "select count(*) from "+pgx.Identifier{view}.Sanitize()+` v where not exists
			(select from invariant_violations k where k.name = $1 and k.subject = v.subject and k.partner = v.partner and k.acknowledged_at is not null)`, view).Scan(&violations)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("%s: %w", view, err))
		case violations > 0:
			faults = append(faults, fmt.Errorf("%s is violated by %d records", view, violations))
		}
	}
	if len(faults) == 0 {
		_, _ = fmt.Fprintf(out, "invariants: all %d that do not depend on time hold\n", len(views))
	}
	return errors.Join(faults...)
}
