package receipt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/receipts/receipt"
)

// goldenKey is the thumbprint of the key that signed the committed receipts. A receipt
// that was signed once must verify with every later release: the files are added to and
// never written again.
const goldenKey = "YX-oCYrvvjdv5FfRla8EJDIEzcKoZp58usPyvcSLzkE"

func TestReceiptsOfEarlierReleasesVerify(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/receipts/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 12)
	types := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		report, err := receipt.Verify(text, receipt.Trust{Pin: goldenKey}, receipt.Data{History: hazard.Shipped()})
		require.NoError(t, err, file)
		require.Empty(t, report.Differences, file)
		types[report.Type]++
		for _, n := range report.NotChecked { // a later edition of the history
			require.Contains(t, []string{"/basis", "/history"}, n.Pointer, file)
		}
	}
	require.Positive(t, types[receipt.TypeQuote])
	require.Positive(t, types[receipt.TypeClaim])
}
