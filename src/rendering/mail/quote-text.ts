// The message that is answered, quoted below the answer.

const maxLines = 40

/** The first lines of it, each behind a mark; what was quoted already is quoted once more. */
export function quoteText(text: string): string {
  const lines = text.replace(/\r\n?/g, '\n').trimEnd().split('\n')
  const shown = lines.length > maxLines ? [...lines.slice(0, maxLines), '[…]'] : lines
  return shown.map(quoteLine).join('\n')
}

function quoteLine(line: string): string {
  return line.startsWith('>') ? `>${line}` : `> ${line}`.trimEnd()
}
