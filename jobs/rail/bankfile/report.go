package bankfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"parapet/jobs/rail"
	"parapet/model/money"
)

// Report implements rail.Rail: it reads the bank's file in/<YYYY-MM-DD>.<extension>.
func (r *Rail) Report(ctx context.Context, day time.Time, each func(rail.Line) error) error {
	file, err := r.Store.Open(ctx, "in/"+day.Format(time.DateOnly)+"."+r.Format.Extension())
	if errors.Is(err, fs.ErrNotExist) {
		return rail.ErrNoReport
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return r.Read(ctx, file, each)
}

// Read reads a bank's file, with the keys of the books in place of what the
// format had room for.
func (r *Rail) Read(ctx context.Context, file io.Reader, each func(rail.Line) error) error {
	return r.Format.Read(file, func(line rail.Line) error {
		lines, err := r.resolve(ctx, line)
		for _, line := range lines {
			if err == nil {
				err = each(line)
			}
		}
		return err
	})
}

// resolve completes a line from the books. A line about a whole batch becomes a
// line for each of its orders.
func (r *Rail) resolve(ctx context.Context, line rail.Line) ([]rail.Line, error) {
	if line.Key == "" {
		entries, err := r.Books.In(ctx, r.Name(), line.Reference)
		if err != nil || len(entries) == 0 {
			return []rail.Line{line}, err
		}
		return spread(line, entries)
	}
	found, err := r.Books.Find(ctx, r.Name(), []string{line.Key})
	if err != nil {
		return nil, err
	}
	if entry, ok := found[line.Key]; ok {
		line.Key = entry.Key
		if line.Amount == (money.Money{}) {
			line.Amount = entry.Amount
		}
	}
	return []rail.Line{line}, nil
}

// spread is what a line about a batch says of each of its entries. A sum that is
// not the batch's cannot be spread.
func spread(whole rail.Line, entries []Entry) ([]rail.Line, error) {
	lines := make([]rail.Line, len(entries))
	var total money.Money
	for i, entry := range entries {
		total = money.New(total.Amount+entry.Amount.Amount, entry.Amount.Currency)
		lines[i] = whole
		lines[i].Key, lines[i].Reference, lines[i].Amount = entry.Key, whole.Reference+"/"+entry.Short, entry.Amount
	}
	if whole.Amount != (money.Money{}) && whole.Amount != total {
		return nil, fmt.Errorf("%w: batch %s is %s and was booked with %s", rail.ErrBroken, whole.Reference, total, whole.Amount)
	}
	return lines, nil
}
