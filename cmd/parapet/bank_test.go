package main

import (
	"cmp"
	"encoding/base64"
	"flag"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail/httprail"
	"parapet/jobs/rail/railtest"
)

// These variables are the parameters of a bank process: the file of its book, its
// address, and the file with its mode, which it reads at each call.
const (
	bankLedgerVar  = "TEST_BANK_BOOKS"
	bankAddressVar = "TEST_BANK_ADDRESS"
	bankModeVar    = "TEST_BANK_MODE"
)

// The modes of a bank.
const (
	bankBusy            = ""         // answers slowly and sometimes loses an answer
	bankLosesAnswers    = "loses"    // executes orders and loses every answer, also to inquiries
	bankSignsWrongly    = "missigns" // executes orders and signs every answer wrongly
	bankForgetsKeys     = "forgets"  // denies every key, signed
	bankNormal          = "well"
	bankForgotAll       = "forgot"        // has lost its keys when it starts, but not its book
	bankRejects         = "refuses"       // refuses orders for demoIBAN
	bankRejectsSilently = "refuses, mute" // refuses orders for demoIBAN and loses every answer
)

var ordersPerCall = flag.Int("orders-per-call", 1, "most orders of one call to the bank of TestEachPayoutIsPaidOnceDespiteCrashes")

var bankSecrets = httprail.Secrets{[]byte(strings.Repeat("b", 32))}

// startBank runs a bank in its own process and makes it the rail of the test's servers.
// It returns the file of its book.
func (c *processGroup) startBank(t *testing.T) (books string) {
	t.Helper()
	books = filepath.Join(t.TempDir(), "bank.jsonl")
	c.environment = append(c.environment, bankLedgerVar+"="+books)
	bank := c.startProcess(t, "bank")
	c.environment = append(c.environment, "PARAPET_RAIL=http", "PARAPET_RAIL_URL="+bank.base+"/v1",
		"PARAPET_RAIL_SECRET="+base64.StdEncoding.EncodeToString(bankSecrets[0]), "PARAPET_LOOPBACK_TARGETS=true", "PARAPET_RAIL_BATCH="+strconv.Itoa(*ordersPerCall))
	return books
}

// runBank runs a slow bank, so that callers can die during a call. Sometimes it executes
// an order without an answer or with an invalid one.
func runBank() error {
	bank, err := railtest.Open(bankSecrets, time.Now, os.Getenv(bankLedgerVar))
	if err != nil {
		return err
	}
	if readBankMode() == bankForgotAll {
		bank.ForgetKeys()
	}
	bank.SetBehaviour(func(w http.ResponseWriter, r *http.Request, good func()) {
		if answerHostile(bank, w, r, good) {
			return
		}
		<-time.After(time.Duration(rand.IntN(400)) * time.Millisecond)
		switch rand.IntN(40) {
		case 0:
			w.WriteHeader(http.StatusInternalServerError)
		case 1:
			panic(http.ErrAbortHandler)
		default:
			good()
		}
	}, func(w http.ResponseWriter, r *http.Request, good func()) {
		if !answerHostile(bank, w, r, good) {
			good()
		}
	}, refuseDemoIBAN)
	listener, err := net.Listen("tcp", cmp.Or(os.Getenv(bankAddressVar), "127.0.0.1:0"))
	if err != nil {
		return err
	}
	slog.New(slog.NewJSONHandler(os.Stderr, nil)).Info("serving", "address", listener.Addr().String())
	return http.Serve(listener, bank.Handler())
}

// readBankMode returns the mode that the bank's file has now; a bank without a file is
// busy.
func readBankMode() string {
	mode, _ := os.ReadFile(os.Getenv(bankModeVar))
	return string(mode)
}

// answerHostile answers according to the bank's mode; it returns false to let the slow
// bank answer.
func answerHostile(bank *railtest.Bank, w http.ResponseWriter, r *http.Request, good func()) bool {
	switch readBankMode() {
	case bankLosesAnswers, bankRejectsSilently:
		w.WriteHeader(http.StatusInternalServerError)
	case bankForgetsKeys:
		bank.WriteSigned(w, r, http.StatusNotFound, httprail.Transfer{Key: r.PathValue("key"), Status: "not_found"})
	case bankSignsWrongly:
		w.Header().Set("Parapet-Signature", "v1="+strings.Repeat("0", 64))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"status": "accepted"}`))
	case bankNormal, bankForgotAll, bankRejects:
		good()
	default:
		return false
	}
	return true
}

// refuseDemoIBAN answers a definite refusal, as a bank in a refusing mode.
func refuseDemoIBAN(transfer *httprail.Transfer) {
	mode := readBankMode()
	if (mode == bankRejects || mode == bankRejectsSilently) && strings.HasSuffix(transfer.Account, demoIBAN[len(demoIBAN)-4:]) {
		transfer.Status, transfer.Code = "refused", "account_closed"
	}
}

// executedByBank returns how much the bank's book shows as executed for each payout.
func executedByBank(t *testing.T, books string) map[string]int64 {
	t.Helper()
	entries, err := railtest.ReadBook(books)
	require.NoError(t, err)
	paid := make(map[string]int64, len(entries))
	for _, entry := range entries {
		if entry.Answer.Status != "accepted" {
			continue // a key that was refused or voided
		}
		_, before := paid[entry.PayoutID] // NotContains compares every element
		require.False(t, before, "%s is paid twice", entry.PayoutID)
		require.Equal(t, "USD", entry.Answer.Amount.Currency)
		paid[entry.PayoutID] = entry.Answer.Amount.Amount
	}
	return paid
}
