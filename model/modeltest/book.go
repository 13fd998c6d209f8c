package modeltest

// BookName is the database of a book: see model/book_test.go.
const BookName = "book"
