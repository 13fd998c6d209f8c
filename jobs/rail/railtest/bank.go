// Package railtest is the other side of the rails' protocols: a bank that tests can
// run in their own process or in one of its own, with books of its own, and that
// behaves as they say.
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

// Entry is a line of the bank's books: an order that it executed, and what it says
// of it.
type Entry struct {
	PayoutID string            `json:"payout_id"`
	At       time.Time         `json:"at"`
	Told     httprail.Transfer `json:"told"`
}

// Bank speaks the protocol of package httprail: it executes an order once per key
// and tells of it, in transfers, inquiries and reports.
type Bank struct {
	secrets httprail.Secrets
	now     func() time.Time
	books   books

	mu       sync.Mutex
	executed map[string]Entry // by key, voided keys too, as far as the bank remembers them
	booked   []Entry          // everything in the books
	sends    int
	voids    int
	// send and ask answer instead of the good bank; they may call it.
	send, ask Behaviour
	bend      func(*httprail.Transfer) // changes what is told
}

// Behaviour answers a call that the bank has understood and, where it was an order,
// executed; good is the answer of a good bank.
type Behaviour func(w http.ResponseWriter, r *http.Request, good func())

// Behave makes the bank behave otherwise from now on; nil is well.
func (b *Bank) Behave(send, ask Behaviour, bend func(*httprail.Transfer)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send, b.ask, b.bend = send, ask, bend
}

// Secrets are shared with our side.
func (b *Bank) Secrets() httprail.Secrets { return b.secrets }

// Sends is how many orders came, the same again included.
func (b *Bank) Sends() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sends
}

// Executed is what was executed under a key.
func (b *Bank) Executed(key string) (Entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	entry, known := b.executed[key]
	return entry, known
}

// Handler answers below /v1.
func (b *Bank) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/accounts/check", b.check)
	mux.HandleFunc("POST /v1/transfers", b.transfer)
	mux.HandleFunc("GET /v1/transfers/{key}", b.inquiry)
	mux.HandleFunc("POST /v1/transfers/{key}/void", b.void)
	mux.HandleFunc("GET /v1/reports/{day}", b.report)
	return mux
}

// hear reads a call that is signed by our side.
func (b *Bank) hear(r *http.Request, into any) bool {
	body, err := io.ReadAll(r.Body)
	return err == nil && b.secrets.VerifyRequest(r, body, b.now()) && (into == nil || json.Unmarshal(body, into) == nil)
}

func (b *Bank) check(w http.ResponseWriter, r *http.Request) {
	var asked httprail.Check
	if !b.hear(r, &asked) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.Answer(w, r, http.StatusOK, httprail.Checked{Verified: new(true), Code: "account_found"})
}

func (b *Bank) transfer(w http.ResponseWriter, r *http.Request) {
	var order httprail.Order
	if !b.hear(r, &order) || r.Header.Get("Idempotency-Key") != order.Key {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.sends++
	_, known := b.executed[order.Key]
	if !known && !order.ExpiresAt.IsZero() && !b.now().Before(order.ExpiresAt) {
		b.mu.Unlock()
		b.Answer(w, r, http.StatusUnprocessableEntity, httprail.Transfer{Key: order.Key, Status: "expired"})
		return
	}
	entry, err := b.execute(order)
	send := b.send
	b.mu.Unlock()
	if err != nil {
		w.WriteHeader(http.StatusInsufficientStorage)
		return
	}
	b.behave(w, r, send, func() { b.Answer(w, r, statusOf(entry.Told), entry.Told) })
}

// statusOf is the HTTP status of a first answer.
func statusOf(told httprail.Transfer) int {
	if told.Status == "refused" {
		return http.StatusUnprocessableEntity
	}
	return http.StatusCreated
}

// void promises never to pay under a key, unless it was paid.
func (b *Bank) void(w http.ResponseWriter, r *http.Request) {
	var asked httprail.Voiding
	key := r.PathValue("key")
	if !b.hear(r, &asked) || asked.Key != key || r.Header.Get("Idempotency-Key") != key {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.voids++
	entry, known := b.executed[key]
	if !known {
		entry = Entry{At: b.now().UTC(), Told: httprail.Transfer{Key: key, Status: "refused", Code: "voided"}}
		if err := b.books.keep(entry); err != nil {
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		b.executed[key] = entry
	}
	said := entry.Told
	if said.Status == "refused" {
		said.Status = "voided"
	}
	b.Answer(w, r, http.StatusOK, said)
}

// Voids is how often it was asked to void a key.
func (b *Bank) Voids() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.voids
}

// Forget makes the bank forget every key; its books stay as they are.
func (b *Bank) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.executed)
}

// execute pays, once per key. What is not in the books did not happen.
func (b *Bank) execute(order httprail.Order) (Entry, error) {
	if entry, known := b.executed[order.Key]; known {
		return entry, nil
	}
	entry := Entry{PayoutID: order.PayoutID, At: b.now().UTC(), Told: httprail.Transfer{
		Key: order.Key, Status: "accepted", Reference: "T-" + order.Key, Amount: order.Amount,
		Account: order.Account.String(), AccountDigest: rail.AccountDigest(order.Key, order.Account),
	}}
	if b.bend != nil {
		b.bend(&entry.Told)
	}
	if err := b.books.keep(entry); err != nil {
		return entry, err
	}
	b.executed[order.Key], b.booked = entry, append(b.booked, entry)
	return entry, nil
}

func (b *Bank) inquiry(w http.ResponseWriter, r *http.Request) {
	if !b.hear(r, nil) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := r.PathValue("key")
	b.mu.Lock()
	entry, known := b.executed[key]
	ask := b.ask
	b.mu.Unlock()
	b.behave(w, r, ask, func() {
		if known {
			b.Answer(w, r, http.StatusOK, entry.Told)
		} else {
			b.Answer(w, r, http.StatusNotFound, httprail.Transfer{Key: key, Status: "not_found"})
		}
	})
}

// report shows what the books have of a day, on one page.
func (b *Bank) report(w http.ResponseWriter, r *http.Request) {
	if !b.hear(r, nil) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	day := r.PathValue("day")
	page := httprail.Page{Date: day}
	b.mu.Lock()
	for _, entry := range b.booked {
		if entry.At.Format(time.DateOnly) == day && entry.Told.Status == "accepted" {
			page.Lines = append(page.Lines, httprail.Reported{
				Key: entry.Told.Key, Reference: entry.Told.Reference, Amount: entry.Told.Amount, Account: entry.Told.Account, Status: rail.Settled,
			})
		}
	}
	b.mu.Unlock()
	page.TotalLines = new(len(page.Lines))
	b.Answer(w, r, http.StatusOK, page)
}

func (b *Bank) behave(w http.ResponseWriter, r *http.Request, otherwise Behaviour, good func()) {
	if otherwise == nil {
		good()
		return
	}
	otherwise(w, r, good)
}

// Answer says something signed.
func (b *Bank) Answer(w http.ResponseWriter, r *http.Request, status int, said any) {
	body, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	b.secrets.SignResponse(w.Header(), status, r.Header.Get("Parapet-Signature"), body)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// Open opens a bank. Its books are a file, which remembers across processes, or in
// memory when the path is empty.
func Open(secrets httprail.Secrets, now func() time.Time, path string) (*Bank, error) {
	b := &Bank{secrets: secrets, now: now, executed: map[string]Entry{}}
	if path == "" {
		return b, nil
	}
	entries, err := Read(path)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		b.executed[entry.Told.Key], b.booked = entry, append(b.booked, entry)
	}
	b.books, err = openBooks(path)
	return b, err
}
