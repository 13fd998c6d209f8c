package bankfile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"parapet/jobs/rail"
	"parapet/model/money"
)

// Report implements rail.Rail: it reads the bank's files of a day,
// in/<YYYY-MM-DD>.<extension> and then in/<YYYY-MM-DD>.2.<extension> and so on.
func (r *Rail) Report(ctx context.Context, day time.Time, each func(rail.Line) error) error {
	name := "in/" + day.Format(time.DateOnly)
	for n := 2; ; n++ {
		file, err := r.FileStore.Open(ctx, name+"."+r.Format.Extension())
		switch {
		case errors.Is(err, fs.ErrNotExist) && n == 2:
			return rail.ErrNoReport
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		if err := errors.Join(r.ReadFile(ctx, file, each), file.Close()); err != nil {
			return err
		}
		name = fmt.Sprintf("in/%s.%d", day.Format(time.DateOnly), n)
	}
}

// ReadFile reads a bank's file and replaces the end-to-end ids of the format by keys.
func (r *Rail) ReadFile(ctx context.Context, file io.Reader, each func(rail.Line) error) error {
	return r.Format.Read(file, func(line rail.Line) error {
		lines, err := r.completeLine(ctx, line)
		for _, line := range lines {
			if err == nil {
				err = each(line)
			}
		}
		return err
	})
}

// completeLine completes a line from the order store. A line about a whole file becomes
// one line for each of its orders. A line that is unknown, or has another sum, stays one
// unmatched line that an operator examines; the other lines are still read.
func (r *Rail) completeLine(ctx context.Context, line rail.Line) ([]rail.Line, error) {
	if line.Key == "" {
		entries, err := r.OrderStore.FileOrders(ctx, r.Name(), line.Reference)
		if lines := splitAmongOrders(line, entries); err != nil || len(lines) > 0 {
			return lines, err
		}
	} else {
		found, err := r.OrderStore.Find(ctx, r.Name(), []string{line.Key})
		if err != nil {
			return nil, err
		}
		entry, ok := found[line.Key]
		if ok {
			line.Key, line.Amount = entry.Key, cmp.Or(line.Amount, entry.Amount)
		} else {
			line.Key = unknownKey(line.Key)
		}
	}
	line.Amount = cmp.Or(line.Amount, money.New(0, r.anyCurrency()))
	return []rail.Line{line}, nil
}

// splitAmongOrders returns one line for each order of a file, or none when the line's sum
// is not the file's sum.
func splitAmongOrders(whole rail.Line, entries []PaymentOrder) []rail.Line {
	lines := make([]rail.Line, len(entries))
	var total money.Money
	for i, entry := range entries {
		total = money.New(total.Amount+entry.Amount.Amount, entry.Amount.Currency)
		lines[i] = whole
		lines[i].Key, lines[i].Reference, lines[i].Amount = entry.Key, whole.Reference+"/"+entry.EndToEndID, entry.Amount
	}
	if cmp.Or(whole.Amount, total) != total {
		return nil
	}
	return lines
}
