package underwriting

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
)

// NoBinds is the result of ListBinds when no transaction was binding a policy.
const NoBinds = "-"

// bindTransactionsQuery selects the transactions of this database that hold BindLock or
// wait for it, by their ids in pg_locks. These ids are unique until the server restarts,
// which ends all transactions. A standby shows none, but Open does not connect to a
// server in recovery.
var bindTransactionsQuery = fmt.Sprintf(`select virtualtransaction from pg_locks
	where locktype = 'advisory' and classid = 0 and objid = %d and objsubid = 1
	and database = (select oid from pg_database where datname = current_database())`, store.BindLock)

// ListBinds returns the transactions that are binding policies: a text for IsBindRunning.
func ListBinds(ctx context.Context, db bun.IDB) (binds string, err error) {
	err = db.NewRaw("select coalesce(string_agg(virtualtransaction, ','), ?) from ("+bindTransactionsQuery+") b", NoBinds).Scan(ctx, &binds)
	return binds, store.TranslateError(err)
}

// IsBindRunning reports whether one of the transactions that ListBinds returned has not
// ended.
func IsBindRunning(ctx context.Context, db bun.IDB, binds string) (running bool, err error) {
	err = db.NewRaw("select exists ("+bindTransactionsQuery+" and virtualtransaction = any(string_to_array(?, ',')))", binds).Scan(ctx, &running)
	return running, store.TranslateError(err)
}
