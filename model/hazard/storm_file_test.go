package hazard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// writeStorm returns a file of one storm with the given header and as many good fixes as
// fixes, six hours apart.
func writeStorm(header string, fixes int) string {
	text := header + "\n"
	for i := range fixes {
		at := time.Date(2005, 8, 29, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 6 * time.Hour)
		text += at.Format("20060102, 1504") + ", , HU, 28.2N,  89.6W, 125,  913,\n"
	}
	return text
}

func TestStormIsCompleteWithAllAnnouncedFixes(t *testing.T) {
	t.Parallel()
	header := "AL122005,KATRINA,3,"
	good := writeStorm(header, 3)
	for name, tc := range map[string]struct {
		file            string
		complete        bool
		fixes, rejected int
	}{
		"as announced":      {good, true, 3, 0},
		"one fix missing":   {writeStorm(header, 2), false, 2, 1},
		"one fix too many":  {writeStorm(header, 4), false, 4, 1},
		"one bad fix":       {strings.Replace(good, "28.2N", "98.2N", 1), false, 2, 1},
		"bad and announced": {strings.Replace(writeStorm(header, 4), "28.2N", "98.2N", 1), false, 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storms, rejected, err := ParseHURDAT2(strings.NewReader(tc.file))
			require.NoError(t, err)
			require.Len(t, storms, 1)
			require.Equal(t, tc.complete, storms[0].Complete)
			require.Len(t, storms[0].Fixes, tc.fixes)
			require.Len(t, rejected, tc.rejected, "%v", rejected)
		})
	}
}

func TestHeaderOfAStorm(t *testing.T) {
	t.Parallel()
	for header, good := range map[string]bool{
		"AL122005,KATRINA,1": true, "EP012020,ONE,1,": true, "AL122005,,1": true,
		"AL122005,KATRINA": false, "AL122005,KATRINA,": false, "AL122005,KATRINA,one": false, "AL122005,KATRINA,-1": false,
		"A1122005,KATRINA,1": false, "al122005,KATRINA,1": false, "ALL12200,KATRINA,1": false, "AL12200X,KATRINA,1": false,
		"AL1220055,KATRINA,1": false, "AL12200,KATRINA,1": false, "/L122005,KATRINA,1": false, ":L122005,KATRINA,1": false,
	} {
		storms, rejected, err := ParseHURDAT2(strings.NewReader(writeStorm(header, 1)))
		require.NoError(t, err)
		if good {
			require.Empty(t, rejected, header)
			require.Len(t, storms, 1, header)
			continue
		}
		require.Empty(t, storms, header)
		require.Equal(t, []string{
			"line 1: a storm's header is basin, number and year, its name and its number of fixes",
			"line 2: a fix without a storm's header before it",
		}, rejectionReasons(rejected), header)
	}
}

// A storm whose header cannot be read must not lend its fixes to the storm before it.
func TestFixesAfterABadHeaderBelongToNoStorm(t *testing.T) {
	t.Parallel()
	storms, rejected, err := ParseHURDAT2(strings.NewReader(writeStorm("AL122005,KATRINA,1", 1) + writeStorm("RITA", 2) + writeStorm("AL182005,RITA,1", 1)))
	require.NoError(t, err)
	require.Len(t, storms, 2)
	for _, storm := range storms {
		require.Len(t, storm.Fixes, 1, storm.Name)
		require.True(t, storm.Complete, storm.Name)
	}
	require.Len(t, rejected, 3)
}

func TestStormWithoutGoodFixesIsOmitted(t *testing.T) {
	t.Parallel()
	storms, rejected, err := ParseHURDAT2(strings.NewReader("AL012005,ARLENE,0\n" + strings.Replace(writeStorm("AL122005,KATRINA,1", 1), "125", "-1", 1)))
	require.NoError(t, err)
	require.Empty(t, storms)
	require.Len(t, rejected, 1)
}

func TestImpossibleWindAndPressureAreRejected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		wind, pressure string
		good           bool
	}{
		{"125", "913", true},
		{"0", "913", true},
		{"-99", "-999", true},
		{"-999", "-99", true},
		{"", "", true},
		{"-1", "913", false},
		{"125", "0", false},
		{"125", "-1", false},
		{"-1", "-999", false},
		{"-99", "0", false},
		{"12x", "913", false},
		{"125", "9 13", false},
	} {
		text := strings.NewReplacer("125", tc.wind, "913", tc.pressure).Replace(writeStorm("AL122005,KATRINA,1", 1))
		storms, rejected, err := ParseHURDAT2(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, tc.good, len(rejected) == 0 && len(storms) == 1, "%v: %v", tc, rejected)
		if tc.good {
			require.Equal(t, tc.wind == "125" || tc.wind == "0", storms[0].Fixes[0].WindKN != nil, "%v", tc)
			require.Equal(t, tc.pressure == "913", storms[0].Fixes[0].PressureHPA != nil, "%v", tc)
		}
	}
}

func TestFixesGoForwardInTime(t *testing.T) {
	t.Parallel()
	for _, second := range []string{"20050829, 0000", "20050828, 2359"} {
		storms, rejected, err := ParseHURDAT2(strings.NewReader(strings.Replace(writeStorm("AL122005,KATRINA,2", 2), "20050829, 0600", second, 1)))
		require.NoError(t, err)
		require.Equal(t, []string{"line 3: the fix is not later than the one before it"}, rejectionReasons(rejected))
		require.Len(t, storms[0].Fixes, 1)
	}
}

// Signed degrees and degrees with a hemisphere are two ways to write one place.
func TestPositionsWithAHemisphereEqualSignedOnes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		latitude, longitude := rapid.IntRange(-900, 900).Draw(t, "latitude"), rapid.IntRange(-1800, 1800).Draw(t, "longitude")
		lettered := func(tenths int, letters string) string {
			if tenths < 0 {
				return fmt.Sprintf("%d.%d%c", -tenths/10, -tenths%10, letters[1])
			}
			return fmt.Sprintf("%d.%d%c", tenths/10, tenths%10, letters[0])
		}
		reader := newRowReader(strings.NewReader(""))
		signed, err := reader.parsePoint(fmt.Sprint(float64(latitude)/10), fmt.Sprint(float64(longitude)/10))
		require.NoError(t, err)
		other, err := reader.parsePoint(lettered(latitude, "NS"), lettered(longitude, "EW"))
		require.NoError(t, err)
		require.Equal(t, signed, other)
		require.Equal(t, Point{float64(latitude) / 10, float64(longitude) / 10}, signed)
	})
}
