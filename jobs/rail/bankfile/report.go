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

// Report implements rail.Rail: it reads the bank's files of a day, in/<YYYY-MM-DD>.<extension>
// and, where there are more, in/<YYYY-MM-DD>.2.<extension> and so on.
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

// ReadFile reads a bank's file, with the keys of the books in place of what the
// format had room for.
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

// completeLine completes a line from the books. A line about a whole batch becomes a line
// for each of its orders. What the books do not know, or with another sum, stays one
// line, which is nobody's: a person looks into it while the others are read.
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

// splitAmongOrders is what a line about a batch says of each of its entries. A sum that is not
// the batch's cannot be spread.
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
