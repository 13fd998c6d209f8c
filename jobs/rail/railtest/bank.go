// Package railtest implements the bank's side of the rail protocols. Tests run it in
// their own process or in a separate one; it keeps its own book of executed orders.
package railtest

import (
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"parapet/jobs/rail"
	"parapet/jobs/rail/httprail"
)

// BookEntry is an executed order in the bank's book, with the bank's answer.
type BookEntry struct {
	PayoutID string            `json:"payout_id"`
	At       time.Time         `json:"at"`
	Answer   httprail.Transfer `json:"told"`
}

// Bank implements the protocol of package httprail: it executes an order once per key and
// returns it in transfers, inquiries and reports.
type Bank struct {
	secrets  httprail.Secrets
	now      func() time.Time
	bookFile bookFile

	mu       sync.Mutex
	executed map[string]BookEntry // by key, including voided keys, while the bank remembers them
	booked   []BookEntry          // the whole book
	sends    int
	voids    int
	// onSend and onInquiry replace the correct answer; they may call it.
	onSend, onInquiry Behaviour
	changeTransfer    func(*httprail.Transfer) // changes the returned transfer
	groupLimit        int
	changeGroup       func(*httprail.TransferGroup)
	groups            []int // number of orders of each group
}

// Behaviour answers a call that the bank has decoded and, for an order, executed; good
// writes the correct answer.
type Behaviour func(w http.ResponseWriter, r *http.Request, good func())

// SetBehaviour changes the bank's behaviour from now on; nil restores the correct one.
func (b *Bank) SetBehaviour(send, ask Behaviour, bend func(*httprail.Transfer)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onSend, b.onInquiry, b.changeTransfer = send, ask, bend
}

// Secrets returns the secrets shared with the rail's client.
func (b *Bank) Secrets() httprail.Secrets { return b.secrets }

// Sends counts the orders received, including repeated ones.
func (b *Bank) Sends() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sends
}

// Executed returns the order executed under a key.
func (b *Bank) Executed(key string) (BookEntry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry, known := b.executed[key]
	return entry, known
}

// Handler serves the protocol below /v1.
func (b *Bank) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/accounts/check", b.handleCheck)
	mux.HandleFunc("POST /v1/transfers", b.handleTransfer)
	mux.HandleFunc("POST /v1/transfers/batch", b.handleGroup)
	mux.HandleFunc("GET /v1/transfers/{key}", b.handleInquiry)
	mux.HandleFunc("POST /v1/transfers/{key}/void", b.handleVoid)
	mux.HandleFunc("GET /v1/reports/{day}", b.handleReport)
	return mux
}

// readSigned reads a call and reports whether its signature and body are valid.
func (b *Bank) readSigned(r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	return err == nil && b.secrets.VerifyRequest(r, body, b.now()) && (into == nil || json.Unmarshal(body, into) == nil)
}

func (b *Bank) handleCheck(w http.ResponseWriter, r *http.Request) {
	var asked httprail.AccountCheck
	if !b.readSigned(r, &asked) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.WriteSigned(w, r, http.StatusOK, httprail.AccountCheckResult{Verified: new(true), Code: "account_found"})
}

func (b *Bank) handleTransfer(w http.ResponseWriter, r *http.Request) {
	var order httprail.Order
	if !b.readSigned(r, &order) || r.Header.Get("Idempotency-Key") != order.Key {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.sends++
	transfer, err := b.executeInTime(order)
	send := b.onSend
	b.mu.Unlock()
	switch {
	case err != nil:
		w.WriteHeader(http.StatusInsufficientStorage)
	case transfer.Status == "expired":
		b.WriteSigned(w, r, http.StatusUnprocessableEntity, transfer)
	default:
		b.applyBehaviour(w, r, send, func() { b.WriteSigned(w, r, statusOf(transfer), transfer) })
	}
}

// executeInTime pays once per key, unless the order has expired and its key is unused.
func (b *Bank) executeInTime(order httprail.Order) (httprail.Transfer, error) {
	_, known := b.executed[order.Key]
	if !known && !order.ExpiresAt.IsZero() && !b.now().Before(order.ExpiresAt) {
		return httprail.Transfer{Key: order.Key, Status: "expired"}, nil
	}
	entry, err := b.executeOnce(order)
	return entry.Answer, err
}

// statusOf returns the HTTP status of a first answer.
func statusOf(transfer httprail.Transfer) int {
	if transfer.Status == "refused" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusCreated
}

// handleVoid promises never to pay under a key, unless it has been paid.
func (b *Bank) handleVoid(w http.ResponseWriter, r *http.Request) {
	var asked httprail.VoidRequest
	key := r.PathValue("key")
	if !b.readSigned(r, &asked) || asked.Key != key || r.Header.Get("Idempotency-Key") != key {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.voids++
	entry, known := b.executed[key]
	if !known {
		entry = BookEntry{At: b.now().UTC(), Answer: httprail.Transfer{Key: key, Status: "refused", Code: "voided"}}
		if err := b.bookFile.appendEntry(entry); err != nil {
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		b.executed[key] = entry
	}
	said := entry.Answer
	if said.Status == "refused" {
		said.Status = "voided"
	}
	b.WriteSigned(w, r, http.StatusOK, said)
}

// Voids counts the void requests.
func (b *Bank) Voids() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.voids
}

// ForgetKeys makes the bank forget every key; its book stays unchanged.
func (b *Bank) ForgetKeys() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.executed)
}

// executeOnce pays once per key. Only entries in the book count as paid.
func (b *Bank) executeOnce(order httprail.Order) (BookEntry, error) {
	if entry, known := b.executed[order.Key]; known {
		return entry, nil
	}
	entry := BookEntry{PayoutID: order.PayoutID, At: b.now().UTC(), Answer: httprail.Transfer{
		Key: order.Key, Status: "accepted", Reference: "T-" + order.Key, Amount: order.Amount,
		Account: order.Account.String(), AccountDigest: rail.AccountDigest(order.Key, order.Account),
	}}
	if b.changeTransfer != nil {
		b.changeTransfer(&entry.Answer)
	}
	if err := b.bookFile.appendEntry(entry); err != nil {
		return entry, err
	}
	b.executed[order.Key], b.booked = entry, append(b.booked, entry)
	return entry, nil
}

func (b *Bank) handleInquiry(w http.ResponseWriter, r *http.Request) {
	if !b.readSigned(r, nil) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := r.PathValue("key")
	b.mu.Lock()
	entry, known := b.executed[key]
	ask := b.onInquiry
	b.mu.Unlock()
	b.applyBehaviour(w, r, ask, func() {
		if known {
			b.WriteSigned(w, r, http.StatusOK, entry.Answer)
		} else {
			b.WriteSigned(w, r, http.StatusNotFound, httprail.Transfer{Key: key, Status: "not_found"})
		}
	})
}

// handleReport returns the book entries of a day on one page.
func (b *Bank) handleReport(w http.ResponseWriter, r *http.Request) {
	if !b.readSigned(r, nil) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	day := r.PathValue("day")
	page := httprail.ReportPage{Date: day}
	b.mu.Lock()
	for _, entry := range b.booked {
		if entry.At.Format(time.DateOnly) == day && entry.Answer.Status == "accepted" {
			page.Lines = append(page.Lines, httprail.ReportLine{
				Key: entry.Answer.Key, Reference: entry.Answer.Reference, Amount: entry.Answer.Amount, Account: entry.Answer.Account, Status: rail.Settled,
			})
		}
	}
	b.mu.Unlock()
	page.TotalLines = new(len(page.Lines))
	b.WriteSigned(w, r, http.StatusOK, page)
}

func (b *Bank) applyBehaviour(w http.ResponseWriter, r *http.Request, otherwise Behaviour, good func()) {
	if otherwise == nil {
		good()
		return
	}
	otherwise(w, r, good)
}

// WriteSigned writes a signed response.
func (b *Bank) WriteSigned(w http.ResponseWriter, r *http.Request, status int, said any) {
	body, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	b.secrets.SignResponse(w.Header(), status, r.Header.Get("Parapet-Signature"), body)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Open opens a bank. Its book is a file that persists across processes, or in memory when
// the path is empty.
func Open(secrets httprail.Secrets, now func() time.Time, path string) (*Bank, error) {
	b := &Bank{secrets: secrets, now: now, executed: map[string]BookEntry{}}
	if path == "" {
		return b, nil
	}
	entries, err := ReadBook(path)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		b.executed[entry.Answer.Key], b.booked = entry, append(b.booked, entry)
	}
	b.bookFile, err = openBookFile(path)
	return b, err
}
