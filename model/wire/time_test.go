package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

func TestTimesAreRFC3339(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"2018-02-06T15:50:42Z": true, "2018-02-06t15:50:42.123456789z": true, "2018-02-07T01:50:42+10:00": true, "2016-02-29T00:00:00-23:59": true,
		"2018-02-06T5:50:42Z": false, "2018-02-06T15:50:42,5Z": false, "2018-02-06T15:50:42": false, "2018-02-06 15:50:42Z": false, "2018-02-06T15:50:42+24:00": false,
		"2018-02-06T24:00:00Z": false, "2018-02-29T00:00:00Z": false, "0000-06-01T00:00:00Z": false, "9999-12-31T23:59:59-01:00": false, "+2018-02-06T15:50:42Z": false, "": false,
	} {
		at, ok := wire.ParseTime(text)
		require.Equal(t, good, ok, text)
		require.Equal(t, time.UTC, at.Location())
	}
}
