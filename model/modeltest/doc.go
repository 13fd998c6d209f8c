// Package modeltest gives tests the real domain on a real Postgres: a database
// of its own for every test, with the shipped products and two partners in it,
// and a worker that runs what the domain asked for. Nothing is mocked except the
// payment rail, whose answers a test may script.
//
// A package that uses it ends its server from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }
package modeltest
