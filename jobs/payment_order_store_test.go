package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/jobs/rail/iso20022"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts/reconciliation"
)

// writtenFiles is a rail of pain.001 files in a folder of the test.
func (s *fixture) writtenFiles() (*bankfile.Rail, string) {
	s.t.Helper()
	files, err := pain001(s.pool)
	require.NoError(s.t, err)
	folder := s.t.TempDir()
	store, err := filestore.OpenFolder(folder)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, store.Close()) })
	files.FileStore, files.LoadOrders = store, SentOrderLoader(s.Service, IdentityOf(files))
	return files, folder
}

// pain001 is a rail of pain.001 files that stores orders and writes none.
func pain001(pool *pgxpool.Pool) (*bankfile.Rail, error) {
	format, err := iso20022.New(iso20022.Debtor{Name: "Parapet SE", IBAN: "DE89370400440532013000"}, []string{"USD"})
	return &bankfile.Rail{Format: format, OrderStore: NewPaymentOrderStore(pool)}, err
}

// writeDueFiles writes a bank's files as the workers do.
func (s *fixture) writeDueFiles(by rail.Rail) error {
	return (&writeFiles{service: s.Service, rail: by}).Work(s.t.Context(), &river.Job[WriteFiles]{})
}

// written returns the names of the files that were stored for the bank.
func written(t testing.TB, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "out", "*.xml"))
	require.NoError(t, err)
	return names
}

func TestASliceGoesIntoOneFile(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(7)
	require.NoError(t, s.runReleaseBatch(files))
	var all sync.WaitGroup
	ended := make([]error, 4)
	for i := range ended {
		all.Go(func() { ended[i] = s.writeDueFiles(files) })
	}
	all.Wait()
	require.NoError(t, errors.Join(ended...))
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	for _, job := range fleet {
		require.Equal(t, 1, strings.Count(string(text), "<EndToEndId>"+bankfile.PolicyID(s.RailKey(job.ID, 1))+"<"))
	}
	require.Equal(t, len(fleet), s.countRows("payment_orders where file_id is not null"))
	require.Equal(t, 1, s.countRows("payment_files"))
	s.reported(files, folder, names[0], s.RailKey(fleet[0].ID, 1))
}

// reported makes the bank reject one payment of a file, and then the whole file.
func (s *fixture) reported(files *bankfile.Rail, folder, name, key string) {
	s.t.Helper()
	batch := strings.TrimSuffix(filepath.Base(name), ".xml")
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	report := func(group, payments string) (lines []rail.Line, err error) {
		text := fmt.Sprintf(`<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><CreDtTm>2026-11-22T08:00:00Z</CreDtTm></GrpHdr>
			<OrgnlGrpInfAndSts><OrgnlMsgId>%s</OrgnlMsgId><GrpSts>%s</GrpSts></OrgnlGrpInfAndSts>%s</CstmrPmtStsRpt></Document>`, batch, group, payments)
		require.NoError(s.t, os.MkdirAll(filepath.Join(folder, "in"), 0o700))
		require.NoError(s.t, os.WriteFile(filepath.Join(folder, "in", "2026-11-22.xml"), []byte(text), 0o600))
		err = files.Report(s.t.Context(), day, func(line rail.Line) error { lines = append(lines, line); return nil })
		return lines, err
	}
	_, err := report("PART", "")
	require.NoError(s.t, err)
	lines, err := report("PART", "<OrgnlPmtInfAndSts><OrgnlPmtInfId>"+batch+"</OrgnlPmtInfId><TxInfAndSts><StsId>s</StsId><OrgnlEndToEndId>"+
		bankfile.PolicyID(key)+"</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>")
	require.NoError(s.t, err)
	require.Equal(s.t, []rail.Line{{Key: key, Reference: "s", Amount: money.New(2_000_000, "USD"), Status: rail.Rejected, Date: day}}, lines, "the amount is the books'")
	lines, err = report("RJCT", "")
	require.NoError(s.t, err)
	require.Len(s.t, lines, 7)
	require.ErrorIs(s.t, files.Report(s.t.Context(), day.AddDate(0, 0, 1), nil), rail.ErrNoReport)
}

// TestReportLineOfUnknownOrderStaysUnmatched makes a bank report a day in two files: the
// status of a foreign payment, and a statement that books a file with another sum.
func TestReportLineOfUnknownOrderStaysUnmatched(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	require.NoError(t, s.runReleaseWith(files, s.createPendingPayouts(1)[0]))
	require.NoError(t, s.writeDueFiles(files))
	batch := strings.TrimSuffix(filepath.Base(written(t, folder)[0]), ".xml")
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "in"), 0o700))
	for name, text := range map[string]string{
		"2026-11-22.xml": `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><GrpHdr><CreDtTm>2026-11-22T08:00:00Z</CreDtTm></GrpHdr>
			<OrgnlGrpInfAndSts><OrgnlMsgId>X</OrgnlMsgId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
			<OrgnlPmtInfAndSts><TxInfAndSts><StsId>s</StsId><OrgnlEndToEndId>wages</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts></OrgnlPmtInfAndSts></Document>`,
		"2026-11-22.2.xml": `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><Ntry><Amt Ccy="USD">19999.99</Amt><CdtDbtInd>DBIT</CdtDbtInd>
			<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-22</Dt></BookgDt><NtryDtls><Btch><PmtInfId>` + batch + `</PmtInfId></Btch></NtryDtls></Ntry></Document>`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "in", name), []byte(text), 0o600))
	}
	var lines []rail.Line
	require.NoError(t, files.Report(t.Context(), day, func(line rail.Line) error { lines = append(lines, line); return nil }))
	require.Equal(t, []rail.Line{
		{Key: "wages", Reference: "s", Amount: money.New(0, "USD"), Status: rail.Rejected, Date: day},
		{Reference: batch, Amount: money.New(19_999_99, "USD"), Status: rail.Settled, Date: day},
	}, lines)
	done, err := Reconcile(t.Context(), s.Service, files, day)
	require.NoError(t, err, "the report is imported, and unknown lines become exceptions")
	require.Equal(t, map[string]int{"unknown": 2}, done.Results)
}

// TestABatchHoldsNoMoreThanAFileSumsTo cuts three orders of 20,000 into files of at most
// 50,000: a file whose total has more digits than the format allows could never be
// written.
func TestABatchHoldsNoMoreThanAFileSumsTo(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	for _, job := range s.createPendingPayouts(3) {
		require.NoError(t, s.runReleaseWith(files, job))
	}
	require.NoError(t, files.OrderStore.AssignToFiles(t.Context(), files.Name(), 10, 5_000_000))
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 2)
	require.Equal(t, 1, s.countRows("(select from payment_orders group by file_id having sum(amount) = 4000000) as full_one"))
	require.Zero(t, s.countRows("payment_orders where file_id is null"))
}

// failingStore stores a file, or half of one, and fails.
type failingStore struct {
	bankfile.FileStore

	half bool
}

func (d *failingStore) Put(ctx context.Context, key string, r io.Reader) error {
	if d.half {
		_, err := io.CopyN(io.Discard, r, 100)
		return errors.Join(errHung, err)
	}
	return errors.Join(d.FileStore.Put(ctx, key, r), errHung)
}

func TestAFileIsWrittenAgainWithTheSameBytes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runReleaseWith(files, job))
	good := files.FileStore
	files.FileStore = &failingStore{FileStore: good, half: true}
	require.ErrorIs(t, s.writeDueFiles(files), errHung)
	require.Empty(t, written(t, folder))
	files.FileStore = &failingStore{FileStore: good}
	require.ErrorIs(t, s.writeDueFiles(files), errHung)
	first, err := os.ReadFile(written(t, folder)[0])
	require.NoError(t, err)
	files.FileStore = good
	require.NoError(t, s.writeDueFiles(files))
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 1)
	again, err := os.ReadFile(written(t, folder)[0])
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, again))
	digest := sha256.Sum256(again)
	require.Equal(t, 1, s.countRows("payment_files where written_digest = $1", hex.EncodeToString(digest[:])))

	// The order store settles a doubt, and no second file contains the order.
	result := files.Inquire(t.Context(), s.RailKey(job.ID, 1))
	require.Equal(t, rail.Accepted, result.Outcome)
	require.Equal(t, rail.NotFound, files.Inquire(t.Context(), s.RailKey(job.ID, 2)).Outcome)
	orders, err := files.LoadOrders(t.Context(), []string{s.RailKey(job.ID, 1)})
	require.NoError(t, err)
	require.Equal(t, result, files.Send(t.Context(), orders[s.RailKey(job.ID, 1)].Instruction))
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 1)
}

func TestAChangedOrderIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runReleaseWith(files, job))
	s.execSQL("update payment_orders set amount = amount + 1")
	require.ErrorContains(t, s.writeDueFiles(files), "not what was accepted")
	require.Empty(t, written(t, folder))
	s.execSQL("alter table payment_orders rename to mislaid")
	require.Equal(t, rail.Unknown, files.Inquire(t.Context(), s.RailKey(job.ID, 1)).Outcome)
	_, err := os.Stat(filepath.Join(folder, "in"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestChangedOrderDoesNotBlockItsFile changes one of three orders, and restores it later.
func TestChangedOrderDoesNotBlockItsFile(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(3)
	require.NoError(t, s.runReleaseBatch(files))
	wrong := s.RailKey(fleet[1].ID, 1)
	s.execSQL("update payment_orders set amount = amount + 1 where key = $1", wrong)
	require.ErrorContains(t, s.writeDueFiles(files), wrong)
	names := written(t, folder)
	require.Len(t, names, 1)
	text, err := os.ReadFile(names[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "<NbOfTxs>2</NbOfTxs>")
	require.NotContains(t, string(text), bankfile.PolicyID(wrong))
	stats, err := s.Service.Operations.HealthStats(t.Context(), actor.System())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.OrdersExcluded)
	require.ErrorContains(t, s.writeDueFiles(files), wrong, "the error repeats until it is corrected")
	require.Len(t, written(t, folder), 1)
	s.execSQL("update payment_orders set amount = amount - 1 where key = $1", wrong)
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 2, "it goes out with the next file")
	require.Zero(t, s.countRows("payment_orders where file_id is null or set_aside_at is not null"))
}

// TestSealedFileIsNotWrittenWithOtherOrders stops a writer after the file was stored and
// changes an order before the next attempt: the bank may already have the file.
func TestSealedFileIsNotWrittenWithOtherOrders(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(2)
	require.NoError(t, s.runReleaseBatch(files))
	good := files.FileStore
	files.FileStore = &failingStore{FileStore: good}
	require.ErrorIs(t, s.writeDueFiles(files), errHung)
	files.FileStore = good
	s.execSQL("update payment_orders set amount = amount + 1 where key = $1", s.RailKey(fleet[0].ID, 1))
	require.ErrorIs(t, s.writeDueFiles(files), bankfile.ErrFileSealed)
	require.Zero(t, s.countRows("payment_orders where file_id is null"), "it goes into no other file")
	require.Len(t, written(t, folder), 1)
}

// TestReportedOrderIsNotWritten makes the bank report a payment of an order that was not
// written yet, as after a restore from a backup.
func TestReportedOrderIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(2)
	require.NoError(t, s.runReleaseBatch(files))
	paid := s.readPayout(fleet[0])
	_, err := s.Service.Reconciliation.Reconcile(t.Context(), s.Operator, reconciliation.Report{Rail: files.Name(), Name: "r"}, func(each func(reconciliation.ReportLine) error) error {
		return each(reconciliation.ReportLine{Key: s.RailKey(paid.ID, 1), Reference: "r", Amount: paid.Amount, Status: reconciliation.LineSettled})
	})
	require.NoError(t, err)
	require.Equal(t, "reconciled", s.readPayout(fleet[0]).Status)
	require.NoError(t, s.writeDueFiles(files))
	text, err := os.ReadFile(written(t, folder)[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), bankfile.PolicyID(s.RailKey(paid.ID, 1)))
	require.Contains(t, string(text), bankfile.PolicyID(s.RailKey(fleet[1].ID, 1)))
}

// TestOrderKnownToBankIsNotWritten makes the bank report an order in flight that this
// database never wrote: the file was written after the backup from which it was restored.
func TestOrderKnownToBankIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	order := s.readPayout(s.createPendingPayouts(1)[0])
	require.NoError(t, s.runReleaseBatch(files))
	s.applyBankReport(files, reconciliation.ReportLine{Key: s.RailKey(order.ID, 1), Reference: "r", Amount: order.Amount, Status: reconciliation.LineUnderway})
	require.NoError(t, s.writeDueFiles(files))
	require.Empty(t, written(t, folder))
}

// TestOrderOfPolicyWithSuspectLineIsNotWritten makes the bank report an unknown payment
// for the policy of one of two orders.
func TestOrderOfPolicyWithSuspectLineIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	fleet := s.createPendingPayouts(2)
	require.NoError(t, s.runReleaseBatch(files))
	order := s.readPayout(fleet[0])
	s.applyBankReport(files, reconciliation.ReportLine{Key: order.PolicyID + ".01234567", Reference: "r", Amount: order.Amount, Status: reconciliation.LineSettled})
	require.NoError(t, s.writeDueFiles(files))
	text, err := os.ReadFile(written(t, folder)[0])
	require.NoError(t, err)
	require.NotContains(t, string(text), bankfile.PolicyID(s.RailKey(fleet[0].ID, 1)))
	require.Contains(t, string(text), bankfile.PolicyID(s.RailKey(fleet[1].ID, 1)))
	list, err := s.Service.Reconciliation.ListExceptions(t.Context(), s.Operator, false, store.PageRequest{})
	require.NoError(t, err)
	_, err = s.Service.Reconciliation.CloseException(t.Context(), s.Operator, reconciliation.CloseExceptionRequest{ID: list.Data[0].ID, Reason: "Another debt."})
	require.NoError(t, err)
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 2)
}

// applyBankReport imports a report with one line.
func (s *fixture) applyBankReport(by rail.Rail, line reconciliation.ReportLine) {
	s.t.Helper()
	_, err := s.Service.Reconciliation.Reconcile(s.t.Context(), s.Operator, reconciliation.Report{Rail: by.Name(), Name: line.Reference}, func(each func(reconciliation.ReportLine) error) error { return each(line) })
	require.NoError(s.t, err)
}

func TestFileOfAnotherRailHasNoOrders(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	require.NoError(t, s.runReleaseWith(files, s.createPendingPayouts(1)[0]))
	require.NoError(t, files.OrderStore.AssignToFiles(t.Context(), files.Name(), 10, 5_000_000))
	unwritten, err := files.OrderStore.ListUnwritten(t.Context(), files.Name())
	require.NoError(t, err)
	require.Len(t, unwritten, 1)
	for name, count := range map[string]int{files.Name(): 1, "another": 0} {
		orders, err := files.OrderStore.FileOrders(t.Context(), name, unwritten[0].ID)
		require.NoError(t, err)
		require.Len(t, orders, count, name)
	}
}
