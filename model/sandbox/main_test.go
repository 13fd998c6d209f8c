package sandbox_test

import (
	"os"
	"testing"

	"parapet/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }
