/** Text of the document: paragraphs, and code between backticks. */
export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split('\n\n').map((paragraph) => (
        <p key={paragraph}>{inline(paragraph)}</p>
      ))}
    </>
  )
}

/** The same within a line. */
export function inline(text: string) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))
}
