package wire

func appendRecord(*Appender, any) (known bool) { return false }
