package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestListsReadOnlyColumnsOfSelectedMembers(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, _ := fillFolders(t, s, db)
	children := newPositionedNotes()
	children.Optional = []store.OptionalColumns{{Members: []string{"state", "status"}, Columns: []string{"status"}}, {Columns: []string{"product"}}}
	products := ""
	children.ToRecord = func(r *noteRow) note {
		products += r.Product
		return r.toRecord()
	}
	status := func(members map[string]map[string]bool) noteStatus {
		in := store.PageRequest{Limit: 1}
		if members != nil {
			in.Selection = &store.Selection{Members: members}
		}
		list, err := children.List(t.Context(), s, modeltest.Partner("acme"), store.Filter{}, in)
		require.NoError(t, err)
		page, err := children.GetPage(t.Context(), s, modeltest.Partner("acme"), folders[0], in)
		require.NoError(t, err)
		require.Equal(t, list.Data[0].Status, page.Data[0].Status)
		require.NotEmpty(t, page.Data[0].ID)
		return page.Data[0].Status
	}
	require.Equal(t, noteOpen, status(nil))
	require.Equal(t, noteOpen, status(map[string]map[string]bool{"claim": {"id": true}}), "the selection does not name the type")
	require.Equal(t, noteOpen, status(map[string]map[string]bool{"message": {"id": true, "status": true}}))
	require.Equal(t, noteOpen, status(map[string]map[string]bool{"message": {"state": true}}))
	require.Empty(t, status(map[string]map[string]bool{"message": {"id": true}}))
	found, err := children.GetMany(t.Context(), s, modeltest.Partner("acme"), []string{folders[0]})
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, products, "no member needs the column")
}

// folderRow has the notes of a folder.
type folderRow struct {
	bun.BaseModel `bun:"table:folders,alias:f"`

	ID    string
	Notes []noteRow `bun:",scanonly"`
}

// countedFolder has notes whose columns have other types.
type countedFolder struct {
	bun.BaseModel `bun:"table:folders,alias:f"`

	ID    string
	Notes []struct{ Status, Position int64 } `bun:",scanonly"`
}

func TestEmbeddedRowsEqualTheirTable(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	folders, _ := fillFolders(t, s, db)
	empty := store.NewID()
	_, err := db.Pool.Exec(t.Context(), "insert into folders values ($1, 'acme')", empty)
	require.NoError(t, err)
	text := s.DB.NewSelect().TableExpr("folders as f").ColumnExpr("f.id, array(select ? from notes as no where no.claim_id = f.id order by no.id) as notes", rowscan.Constructor(s.DB, new(noteRow), func(string) bool { return true })).
		OrderExpr("f.id").String()
	for range 2 { // also with planned columns
		var rows []folderRow
		require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &rows, text))
		require.Len(t, rows, len(folders)+1)
		require.Empty(t, rows[len(folders)].Notes)
		for i := range folders {
			var want []noteRow
			require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &want, s.SelectStatement(new(noteRow))+" where no.claim_id = $1 order by no.id", rows[i].ID))
			require.Len(t, want, 11-4*i)
			require.Equal(t, want, rows[i].Notes)
		}
	}
	var few []folderRow
	without := rowscan.Constructor(s.DB, new(noteRow), func(column string) bool { return column != "status" })
	require.NoError(t, s.QueryPreparedRows(t.Context(), db.Pool, &few, s.DB.NewSelect().TableExpr("folders as f").
		ColumnExpr("f.id, array(select ? from notes as no where no.claim_id = f.id) as notes", without).OrderExpr("f.id").String()))
	require.Empty(t, few[0].Notes[0].Status)
	require.Equal(t, "quake-circle", few[0].Notes[0].Product)
	var rows []countedFolder
	err = s.QueryPreparedRows(t.Context(), db.Pool, &rows, "select id::text, array(select row(position, status) from notes where claim_id = f.id) as notes from folders f")
	require.ErrorContains(t, err, "read column notes: read column position")
}
