module streams

go 1.23

require (
	github.com/launchdarkly/eventsource v1.11.0
	github.com/tmaxmax/go-sse v0.11.0
)
