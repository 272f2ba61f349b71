/** What the network's own party is, and why its payments are not like those of others. */
export function AboutNetwork() {
  return (
    <p class="notice" data-about="network">
      <code>network</code> is no trader: under this name the network holds the positions of parties that were
      closed out, until it has sold them. What it owes, the insurance pool pays as far as it has money. No
      event says how much that was, so what it really paid cannot be seen.
    </p>
  )
}
