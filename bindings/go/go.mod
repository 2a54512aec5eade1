module portico.dev/go

go 1.25
