// Follows a stream of checkpoints with libraries and with the example of the documentation, which is built in beside this file.
// Prints the client and the block of each row.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/launchdarkly/eventsource"
	"github.com/tmaxmax/go-sse"
)

func print(client, data string) error {
	var row struct{ AtBlock string }
	if err := json.Unmarshal([]byte(data), &row); err != nil {
		return err
	}
	_, err := fmt.Printf("%s\t%s\n", client, row.AtBlock)
	return err
}

func followWithLaunchDarkly(client, address string) error {
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

func followWithGoSSE(client, address string) error {
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	connection := sse.NewConnection(request)
	connection.SubscribeToAll(func(event sse.Event) {
		if event.Type == "checkpoints" {
			print(client, event.Data)
		}
	})
	return connection.Connect()
}

func followWithExample(client, address string) error {
	return follow(address, "checkpoints", "", 2*time.Second, func(data, _ string) error {
		return print(client, data)
	})
}

func main() {
	address := os.Args[1]
	ended := make(chan string)
	for client, follow := range map[string]func(client, address string) error{
		"launchdarkly/eventsource 1.11.0 (Go)": followWithLaunchDarkly,
		"go-sse 0.11.0":                        followWithGoSSE,
		"Go example":                           followWithExample,
	} {
		client, follow := client, follow
		go func() { ended <- fmt.Sprintf("%s ended: %v", client, follow(client, address)) }()
	}
	fmt.Fprintln(os.Stderr, <-ended)
	os.Exit(1)
}
