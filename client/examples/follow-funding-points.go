package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// follow passes each row and its id to use, from the row after lastID on, until use returns an error. Rows are the events
// named resource, such as fundingPeriods. It reconnects when the connection ends, after at most longestWait unless the
// service asks for more.
func follow(address, resource, lastID string, longestWait time.Duration, use func(data, id string) error) error {
	wait := time.Second
	for {
		answered, asked, err := connect(address, resource, &lastID, use)
		if err != nil {
			return err
		}
		if answered {
			wait = time.Second
		}
		if wait > longestWait {
			wait = longestWait
		}
		if asked < wait {
			asked = wait
		}
		time.Sleep(asked)
		wait *= 2
	}
}

// connect reads one connection to its end. Its error is that of use, or of a request that will never succeed.
func connect(address, resource string, lastID *string, use func(data, id string) error) (answered bool, asked time.Duration, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// Something arrives every 4 s: after a minute of silence the connection is lost.
	silence := time.AfterFunc(time.Minute, cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, 0, err
	}
	if *lastID != "" {
		request.Header.Set("Last-Event-ID", *lastID)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, 0, nil // no connection
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		// The last two are answers of a proxy while the service restarts.
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return false, time.Duration(seconds) * time.Second, nil
	default:
		return false, 0, fmt.Errorf("%s: %s", address, response.Status)
	}
	event := map[string]string{}
	for lines := bufio.NewReader(response.Body); ; {
		silence.Reset(time.Minute)
		line, err := lines.ReadString('\n')
		silence.Stop()
		if err != nil {
			return true, 0, nil // a lost connection
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		event[name] = value
		if line != "\n" {
			continue
		}
		// The end of an event.
		if id, ok := event["id"]; ok {
			*lastID = id
		}
		if event["event"] == resource {
			if err := use(event["data"], *lastID); err != nil {
				return true, 0, err
			}
		}
		event = map[string]string{}
	}
}

const points = "http://127.0.0.1:3008/api/v2/stream/funding-period-data-points" +
	"?marketId=4d7eaaf19e71039d707188993493d1e9fe52bc7f429bba3d9fe5f9ee658d26c6&afterBlock=0"

func main() {
	err := follow(points, "fundingPeriodDataPoints", "", 2*time.Second, func(data, id string) error {
		var point struct{ Timestamp, Price, Twap string }
		if err := json.Unmarshal([]byte(data), &point); err != nil {
			return err
		}
		fmt.Println(id, point.Timestamp, point.Price)
		return io.EOF // nil to go on; then save id
	})
	fmt.Println(err)
}
