package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// chooseStateFile chooses the file for the position: a separate file for each server,
// address and client, so that runs do not share positions.
func (l *eventForwarder) chooseStateFile() error {
	if l.hasStateFlag {
		return nil
	}
	folder, err := settingsFolder()
	if err != nil {
		return fmt.Errorf("--state: name a file, or none: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{l.server, l.forward, l.token.holderName()}, "\n")))
	l.stateFile = filepath.Join(folder, "listen-"+hex.EncodeToString(sum[:8]))
	return nil
}

// findStart sets the position to --after, the state file's position or the newest event.
func (l *eventForwarder) findStart(ctx context.Context, after int64) error {
	l.lastSequence = after
	if text, err := os.ReadFile(l.stateFile); after < 0 && l.stateFile != "" && err == nil {
		if n, _ := fmt.Sscan(string(text), &l.lastSequence, &l.generation); n == 0 || l.lastSequence < 0 { // older files lack the generation
			return fmt.Errorf("%s holds no sequence; remove it, or name --after", l.stateFile)
		}
	}
	if l.lastSequence < 0 {
		newest, err := l.findNewestSequence(ctx)
		if err != nil {
			return err
		}
		l.lastSequence = newest
	}
	return l.saveState() // events before the first forwarded one are not lost
}

// maxGenerations limits the search for the newest generation.
const maxGenerations = 100

// feedQuery returns the query parameters of a feed position.
func (l *eventForwarder) feedQuery(after int64) url.Values {
	query := url.Values{"after_sequence": {strconv.FormatInt(after, 10)}}
	if l.generation > 1 {
		query.Set("generation", strconv.Itoa(l.generation))
	}
	return query
}

// findNewestSequence finds the sequence of the newest event by binary search: sequences
// have no gaps.
func (l *eventForwarder) findNewestSequence(ctx context.Context) (int64, error) {
	there := func(sequence int64) (bool, error) {
		query := l.feedQuery(sequence - 1)
		query.Set("limit", "1")
		page, err := l.fetchPage(ctx, query)
		return err == nil && len(page.Data) > 0, err
	}
	low, high := int64(0), int64(1) // low exists, high does not
	for {
		if found, err := there(high); err != nil {
			if refused := new(statusError); errors.As(err, &refused) && refused.status == http.StatusBadRequest && l.generation < maxGenerations {
				l.generation++ // the history was restored: its end has a later generation
				continue
			}
			return 0, err
		} else if !found {
			break
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		found, err := there(middle)
		if err != nil {
			return 0, err
		}
		if found {
			low = middle
		} else {
			high = middle
		}
	}
	return low, nil
}

// saveState writes the position atomically.
func (l *eventForwarder) saveState() error {
	if l.stateFile == "" {
		return nil
	}
	fresh := l.stateFile + ".new"
	if err := os.WriteFile(fresh, fmt.Appendf(nil, "%d %d\n", l.lastSequence, l.generation), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, l.stateFile)
}
