package optimistic

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// Reads are what one transaction reads at its beginning, for one call or for several calls
// that share it. It either asks the server or assumes the results, as its Memory says.
type Reads struct {
	// Assumed reports that the results are assumed: no answer is needed before the commit.
	Assumed bool

	memory  *Memory
	clock   time.Time        // assumed
	into    map[string][]any // the slices that a query is read into
	guards  []*pgx.QueuedQuery
	queued  bool // the guards are
	unknown bool // a result cannot be assumed
}

// QueueClock gives the business time, an SQL expression, to set: at once if it is assumed,
// otherwise with the next flush of the batch.
func (r *Reads) QueueClock(batch *pgx.Batch, now string, set func(time.Time)) {
	if r.Assumed {
		r.Guard("select now between $1 and $1 + $2::interval from (select "+now+" as now) as c", r.clock, cmp.Or(r.memory.MaxClockAge, defaultMaxClockAge))
		set(r.clock)
		return
	}
	batch.Queue("select " + now).QueryRow(func(row pgx.Row) error {
		var clock time.Time
		if err := row.Scan(&clock); err != nil {
			return err
		}
		r.memory.rememberClock(clock)
		set(clock)
		return nil
	})
}

// Queue reads the rows of a query without arguments into a slice of structs, whose fields
// have the names of the columns: at once if they are assumed, otherwise with the next flush
// of the batch. Calls that share a transaction send a query once, and share no memory of its
// rows: a call that runs again reads into its slice again. Queue panics after QueueGuards.
func (r *Reads) Queue(batch *pgx.Batch, query string, into any) {
	if r.queued {
		panic("a result is assumed after the guards were queued")
	}
	if r.into == nil {
		r.into = map[string][]any{}
	}
	r.into[query] = append(r.into[query], into)
	switch first := r.into[query][0]; {
	case len(r.into[query]) > 1:
		if r.Assumed {
			copyRows(into, first)
		}
	case r.Assumed:
		seen, known := r.memory.result(query)
		if !known || r.decode(query, seen.rows) != nil {
			r.unknown = true
			return
		}
		r.Guard(seen.guard, seen.args...)
	default:
		batch.Queue(listSQL(query)).QueryRow(func(row pgx.Row) error {
			defer delete(r.into, query) // a later read sends the query again
			var rows []byte
			if err := row.Scan(&rows); err != nil {
				return err
			}
			r.memory.rememberResult(query, rows)
			return r.decode(query, rows)
		})
	}
}

// decode reads the rows into the first slice and copies them to the others.
func (r *Reads) decode(query string, rows []byte) error {
	first := r.into[query][0]
	if err := json.Unmarshal(rows, first); err != nil {
		return fmt.Errorf("decode the rows of %q: %w", query, err)
	}
	for _, into := range r.into[query][1:] {
		copyRows(into, first)
	}
	return nil
}

func copyRows(into, from any) {
	copied := reflect.ValueOf(into).Elem()
	copied.Set(reflect.AppendSlice(copied.Slice(0, 0), reflect.ValueOf(from).Elem()))
}

// Guard adds a condition in SQL. The transaction fails unless it is true.
func (r *Reads) Guard(condition string, args ...any) {
	r.guards = append(r.guards, &pgx.QueuedQuery{SQL: "select require_rows(((" + condition + ") is true)::int, 1)", Arguments: args})
}

// QueueGuards queues the conditions, to be sent before everything else that the transaction
// does. It reports false when a result cannot be assumed.
func (r *Reads) QueueGuards(batch *pgx.Batch) bool {
	r.queued = true
	batch.QueuedQueries = append(batch.QueuedQueries, r.guards...)
	return !r.unknown
}
