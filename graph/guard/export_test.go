package guard

// Work is what reading a text takes, whether it is refused or not.
func (g *Guard) Work(text string) Work {
	_, work, _ := g.read(text)
	return work
}
