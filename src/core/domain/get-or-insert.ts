/** The value of a key, which `make` creates and adds if it is missing. Node 24 has no such method of maps. */
export function getOrInsert<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const value = make()
  map.set(key, value)
  return value
}
