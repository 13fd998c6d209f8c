package reconciliation

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"parapet/model/account"
	"parapet/model/audit"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
)

// reportSpool holds the checked lines of a report until they are saved. The rail is
// read before the transaction begins, because a slow rail would otherwise keep the
// transaction open. Lines beyond spoolMemory are in a temporary file.
type reportSpool struct {
	buffer bytes.Buffer
	file   *os.File
	out    *bufio.Writer
	lines  *gob.Encoder

	count      int
	sums       map[string]int64 // by currency
	overflowed bool             // a sum does not fit 64 bits
	hasher     hash.Hash
}

// spoolMemory is the number of bytes of a report kept in memory.
const spoolMemory = 4 << 20

// readReport reads and checks every line of a report. The caller closes the spool.
// Errors: validation_failed, and errors of read.
func readReport(in Report, read func(each func(ReportLine) error) error) (*reportSpool, error) {
	s := &reportSpool{sums: map[string]int64{}, hasher: sha256.New()}
	s.out = bufio.NewWriterSize(s, 1<<16)
	s.lines = gob.NewEncoder(s.out)
	err := read(s.addLine)
	if err == nil {
		err = s.verifyTotals(in)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// Write implements io.Writer. The temporary file is unlinked once it is open, so that
// it disappears with the process.
func (s *reportSpool) Write(p []byte) (int, error) {
	if s.file == nil && s.buffer.Len()+len(p) <= spoolMemory {
		return s.buffer.Write(p)
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "parapet-report-*")
		if err != nil {
			return 0, fmt.Errorf("spool report: %w", err)
		}
		s.file = file
		if err := os.Remove(file.Name()); err != nil {
			return 0, fmt.Errorf("spool report: %w", err)
		}
		if _, err := s.buffer.WriteTo(file); err != nil {
			return 0, fmt.Errorf("spool report: %w", err)
		}
	}
	return s.file.Write(p)
}

func (s *reportSpool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// addLine checks a line and appends it.
func (s *reportSpool) addLine(line ReportLine) error {
	if fields := line.validate(fmt.Sprintf("/lines/%d", s.count)); len(fields) > 0 {
		return apperr.Invalid(fields...)
	}
	s.count++
	s.sums[line.Amount.Currency] += line.Amount.Amount
	// No amount is negative, so a sum is less than 0 once it has overflowed.
	s.overflowed = s.overflowed || s.sums[line.Amount.Currency] < 0
	if line.Account != "" { // a report imported before lines had accounts keeps its digest
		fmt.Fprintf(s.hasher, "%q ", line.Account)
	}
	fmt.Fprintf(s.hasher, "%q %q %d %s %s %q %s\n", line.Key, line.Reference, line.Amount.Amount, line.Amount.Currency, line.Status, line.Code, line.At.UTC().Format(time.RFC3339Nano))
	return s.lines.Encode(line)
}

// validate returns the faults of a line.
func (line ReportLine) validate(at string) []apperr.FieldError {
	v := apperr.Validator{}
	v.Require(line.Key != "" || line.Reference != "", at+"/key", "required", "Give the payment's key or the rail's reference.")
	for name, text := range map[string]string{"/key": line.Key, "/reference": line.Reference, "/code": line.Code} {
		v.Require(len(text) <= payouts.MaxRailReference && audit.IsStorableText(text), at+name, "length", fmt.Sprintf("Use at most %d bytes.", payouts.MaxRailReference))
	}
	v.Require(line.Account == "" || account.IsMasked(line.Account), at+"/account", "format", "Write the account masked, as iban ····3000: only the masked form is stored.")
	v.Require(money.IsCurrency(line.Amount.Currency), at+"/amount/currency", "value", "Use an ISO 4217 code in capitals, such as USD.")
	v.Require(line.Amount.Amount >= 0, at+"/amount/amount", "minimum", "Use an amount of 0 or more; the status gives the direction.")
	switch line.Status {
	case LineSettled, LineRejected, LineReturned, LineUnderway:
	default:
		v.Require(false, at+"/status", "enum", "Use settled, rejected, returned or underway.")
	}
	return v.FieldErrors
}

// verifyTotals compares the lines with the totals stated in the report.
func (s *reportSpool) verifyTotals(in Report) error {
	switch {
	case in.Lines != nil && *in.Lines != s.count:
		return apperr.Invalid(apperr.NewFieldError("/line_count", "value", fmt.Sprintf("The report announces %d lines and has %d; send the whole report.", *in.Lines, s.count)))
	case in.Sums != nil && (s.overflowed || !maps.Equal(in.Sums, s.sums)):
		return apperr.Invalid(apperr.NewFieldError("/sums", "value", "The sums of the lines, by currency, differ from the sums that the report announces; send the whole report, unchanged."))
	}
	if s.count == 0 { // only its name distinguishes an empty report from another
		fmt.Fprintf(s.hasher, "nothing in %q\n", in.Name)
	}
	return s.out.Flush()
}

// hexDigest returns the digest that identifies the report by its lines.
func (s *reportSpool) hexDigest() string { return hex.EncodeToString(s.hasher.Sum(nil)) }

// saveLines copies the lines into the database.
func (s *reportSpool) saveLines(ctx context.Context, tx *store.Tx, report uuid.UUID, rail string) error {
	var source io.Reader = bytes.NewReader(s.buffer.Bytes())
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read spooled report: %w", err)
		}
		source = bufio.NewReaderSize(s.file, 1<<16)
	}
	lines, number := gob.NewDecoder(source), 0
	columns := []string{"report_id", "number", "rail", "key", "reference", "amount", "currency", "account", "status", "code", "reported_at"}
	_, err := tx.PgxConn.CopyFrom(ctx, pgx.Identifier{"rail_report_lines"}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		if number == s.count {
			return nil, nil
		}
		var line ReportLine
		if err := lines.Decode(&line); err != nil {
			return nil, fmt.Errorf("read spooled report: %w", err)
		}
		number++
		return []any{report, number, rail, line.Key, line.Reference, line.Amount.Amount, line.Amount.Currency, line.Account, line.Status, line.Code, line.At}, nil
	}))
	if err != nil {
		return fmt.Errorf("save report lines: %w", err)
	}
	return nil
}
