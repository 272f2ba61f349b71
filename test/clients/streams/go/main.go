// Follows a stream of checkpoints with a library and with the example of the documentation, which is built in beside this file.
// Prints the client and the block of each row.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/launchdarkly/eventsource"
)

func print(client, data string) error {
	var row struct{ AtBlock string }
	if err := json.Unmarshal([]byte(data), &row); err != nil {
		return err
	}
	_, err := fmt.Printf("%s\t%s\n", client, row.AtBlock)
	return err
}

func followWithLibrary(client, address string) error {
	stream, err := eventsource.Subscribe(address, "")
	if err != nil {
		return err
	}
	for {
		select {
		case event := <-stream.Events:
			if event.Event() != "checkpoints" {
				continue
			}
			if err := print(client, event.Data()); err != nil {
				return err
			}
		case <-stream.Errors:
			// It reconnects.
		}
	}
}

func main() {
	address := os.Args[1]
	ended := make(chan error)
	go func() { ended <- followWithLibrary("Go launchdarkly/eventsource 1.11.0", address) }()
	go func() {
		ended <- follow(address, "checkpoints", "", 2*time.Second, func(data, _ string) error {
			return print("Go example", data)
		})
	}()
	fmt.Fprintln(os.Stderr, <-ended)
	os.Exit(1)
}
