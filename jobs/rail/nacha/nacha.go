// Package nacha writes files of the Automated Clearing House for accounts in the United
// States and reads its return files, both with moov's library. The layout follows the
// Nacha Operating Rules.
package nacha

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moov-io/ach"

	"parapet/jobs/rail"
	"parapet/jobs/rail/bankfile"
	"parapet/model/account"
	"parapet/model/money"
)

// Name is the rail's name as payouts show it.
const Name = "nacha"

// Originator is the paying company and its bank.
type Originator struct {
	Name        string `json:"name"`        // of the company; the file carries 16 characters
	ID          string `json:"id"`          // the company's identification, ten characters
	Routing     string `json:"routing"`     // of the bank that takes the file, nine digits
	Bank        string `json:"bank"`        // its name
	Description string `json:"description"` // shown to payees, ten characters; CLAIM when empty
}

// Format implements bankfile.Format.
type Format struct{ Originator Originator }

// New checks the originator.
func New(o Originator) (*Format, error) {
	bank := account.Number{Type: account.TypeUSBankAccount, USBankAccount: &account.USBankAccount{
		RoutingNumber: o.Routing, AccountNumber: "0000", AccountType: account.Checking,
	}}
	problems := bank.Validate()
	switch {
	case len(problems) > 0:
		return nil, fmt.Errorf("the originator's routing number: %s", problems[0].Detail)
	case strings.TrimSpace(o.Name) == "" || strings.TrimSpace(o.Bank) == "":
		return nil, errors.New("the originator's name or its bank's is missing")
	case len(o.ID) != 10:
		return nil, errors.New("the originator's identification has ten characters")
	}
	if o.Description == "" {
		o.Description = "CLAIM"
	}
	return &Format{o}, nil
}

// Name implements bankfile.Format.
func (*Format) Name() string { return Name }

// Extension implements bankfile.Format.
func (*Format) Extension() string { return "ach" }

// Account implements bankfile.Format: the originator's identification at its bank
// identifies the account.
func (f *Format) Account() string {
	return rail.AccountFingerprint("nacha:" + f.Originator.Routing + "/" + f.Originator.ID)
}

// EndToEndID implements bankfile.Format: the receiver's identification has 15 characters.
func (*Format) EndToEndID(key string) string { return bankfile.ShortID(key) }

// Capabilities implements bankfile.Format.
func (*Format) Capabilities() rail.Capabilities {
	return rail.Capabilities{ReportsReturnsOnly: true, Currencies: []string{"USD"}}
}

// The limits of an entry's ten digits and of the twelve digits of a batch total, in
// cents.
const (
	maxEntryAmount = 99_999_999_99
	maxBatchTotal  = 9_999_999_999_99
)

// MaxTotal implements bankfile.Format.
func (*Format) MaxTotal() int64 { return maxBatchTotal }

// RefusalCode implements bankfile.Format.
func (f *Format) RefusalCode(i rail.Instruction) string {
	switch {
	case !f.Capabilities().SupportsCurrency(i.Amount.Currency):
		return rail.CodeCurrencyUnsupported
	case i.Amount.Amount <= 0 || i.Amount.Amount > maxEntryAmount:
		return rail.CodeAmountInvalid
	case i.Payee.Number.Type != account.TypeUSBankAccount || len(i.Payee.Number.Validate()) > 0:
		return rail.CodeInvalid
	default:
		return ""
	}
}

// fileIDModifiers distinguish the files of one day.
const fileIDModifiers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Write implements bankfile.Format: one batch of prearranged credits (PPD). Each entry
// has the order's short id as the receiver's identification.
func (f *Format) Write(w io.Writer, b bankfile.PaymentFile) error {
	created := b.CreatedAt.UTC()
	header := ach.NewFileHeader()
	header.ImmediateDestination, header.ImmediateDestinationName = f.Originator.Routing, clipText(f.Originator.Bank, 23)
	header.ImmediateOrigin, header.ImmediateOriginName = f.Originator.ID, clipText(f.Originator.Name, 23)
	header.FileCreationDate, header.FileCreationTime = created.Format("060102"), created.Format("1504")
	header.FileIDModifier = string(fileIDModifiers[b.Number%int64(len(fileIDModifiers))])
	batch, err := ach.NewBatch(f.batchHeader(b, created))
	if err != nil {
		return fmt.Errorf("batch header: %w", err)
	}
	for i, order := range b.Orders {
		batch.AddEntry(f.newEntry(order, i+1))
	}
	if err := batch.Create(); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	file := ach.NewFile()
	file.SetHeader(header)
	file.AddBatch(batch)
	if err := file.Create(); err != nil {
		return fmt.Errorf("file: %w", err)
	}
	return ach.NewWriter(w).Write(file)
}

func (f *Format) batchHeader(b bankfile.PaymentFile, created time.Time) *ach.BatchHeader {
	header := ach.NewBatchHeader()
	header.ServiceClassCode, header.StandardEntryClassCode = ach.CreditsOnly, ach.PPD
	header.CompanyName, header.CompanyIdentification = clipText(f.Originator.Name, 16), f.Originator.ID
	header.CompanyEntryDescription = clipText(f.Originator.Description, 10)
	header.CompanyDiscretionaryData = clipText(b.ID, 20)
	header.EffectiveEntryDate = nextWorkday(created.AddDate(0, 0, 1)).Format("060102")
	header.ODFIIdentification = f.Originator.Routing[:8]
	return header
}

// nextWorkday returns the first weekday from day on. The bank moves payments that fall on
// its holidays.
func nextWorkday(day time.Time) time.Time {
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

func (f *Format) newEntry(order rail.Instruction, place int) *ach.EntryDetail {
	us := order.Payee.Number.Normalize().USBankAccount
	entry := ach.NewEntryDetail()
	entry.TransactionCode = ach.CheckingCredit
	if us.AccountType == account.Savings {
		entry.TransactionCode = ach.SavingsCredit
	}
	entry.SetRDFI(us.RoutingNumber)
	entry.DFIAccountNumber = us.AccountNumber
	entry.Amount = int(order.Amount.Amount)
	entry.IdentificationNumber = f.EndToEndID(order.Key)
	entry.IndividualName = clipText(order.Payee.Beneficiary.Name, 22)
	entry.SetTraceNumber(f.Originator.Routing[:8], place)
	entry.Category = ach.CategoryForward
	return entry
}

func clipText(text string, length int) string {
	text = toASCII(text)
	return strings.TrimSpace(text[:min(length, len(text))])
}

// toASCII replaces characters that an ACH record cannot hold; the account number
// determines the payee.
func toASCII(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r <= '~':
			return r
		default:
			return '?'
		}
	}, text)
}

// maxFileSize limits a file, in bytes.
const maxFileSize = 64 << 20

// Read implements bankfile.Format: a file of returns. A dishonored return is money that
// left after all; a contested one is money that came back for good. Corrections (NOC)
// move no money and are left to an operator.
func (f *Format) Read(r io.Reader, each func(rail.Line) error) error {
	limited := &io.LimitedReader{R: r, N: maxFileSize}
	file, err := ach.NewReader(limited).Read()
	if err != nil || limited.N == 0 {
		return fmt.Errorf("%w: it is cut short, too long or not a file of the clearing house", rail.ErrInvalidReport)
	}
	if err := file.Validate(); err != nil {
		return fmt.Errorf("%w: its controls do not hold", rail.ErrInvalidReport)
	}
	day, err := time.Parse("060102", file.Header.FileCreationDate)
	if err != nil {
		return fmt.Errorf("%w: it has no day", rail.ErrInvalidReport)
	}
	for _, batch := range file.Batches { // ReturnEntries lacks dishonored and contested returns
		for _, entry := range batch.GetEntries() {
			line := rail.Line{Key: strings.TrimSpace(entry.IdentificationNumber), Amount: money.New(int64(entry.Amount), "USD"), Date: day}
			switch {
			case entry.Addenda99 != nil:
				line.Status, line.Reference, line.Code = rail.Returned, entry.Addenda99.OriginalTrace, entry.Addenda99.ReturnCode
			case entry.Addenda99Dishonored != nil:
				dishonored := entry.Addenda99Dishonored
				line.Status, line.Reference, line.Code = rail.Settled, dishonored.OriginalEntryTraceNumber, dishonored.DishonoredReturnReasonCode
			case entry.Addenda99Contested != nil:
				contested := entry.Addenda99Contested
				line.Status, line.Reference, line.Code = rail.Returned, contested.OriginalEntryTraceNumber, contested.ContestedReturnCode
			default:
				continue
			}
			if err := each(line); err != nil {
				return err
			}
		}
	}
	return nil
}
