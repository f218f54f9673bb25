// Command sonde finds out why a running Java program is slow.
package main

import (
	"os"

	"github.com/sonde-jvm/sonde/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:]))
}
