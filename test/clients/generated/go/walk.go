// What each generated client is asked, and what it must get: the program prints it as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

var base, marketID = os.Args[1], os.Args[2]

// A page of periods: of nodes, and what is before and after it.
type page struct {
	nodes                []any
	hasNext, hasPrevious bool
	start, end           string
}

type paging struct {
	first, last   *int32
	after, before *string
}

// The calls of a client.
type calls struct {
	periods   func(paging) page
	series    func() any
	summaries func() []any
	csv       func() string
}

func report(client calls) {
	size := int32(40)
	forward := []any{}
	for asked := (paging{first: &size}); ; {
		found := client.periods(asked)
		forward = append(forward, found.nodes...)
		if !found.hasNext {
			break
		}
		asked.after = &found.end
	}
	backward := []any{}
	for asked := (paging{last: &size}); ; {
		found := client.periods(asked)
		backward = append(found.nodes, backward...)
		if !found.hasPrevious {
			break
		}
		asked.before = &found.start
	}
	answers := map[string]any{
		"forward":   forward,
		"backward":  backward,
		"series":    client.series(),
		"summaries": client.summaries(),
		"csv":       client.csv(),
	}
	text, err := json.Marshal(answers)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
