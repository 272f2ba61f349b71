/** A figure with the places behind its point smaller: all are there, and the whole number is seen first. */
export function FigureText({ text }: { text: string }) {
  const match = /\.\d+/.exec(text)
  if (match === null) return <>{text}</>
  const [fraction] = match
  const whole = text.slice(0, match.index)
  const rest = text.slice(match.index + fraction.length)
  return (
    <>
      {whole}
      <span class="fraction">{fraction}</span>
      {rest}
    </>
  )
}
