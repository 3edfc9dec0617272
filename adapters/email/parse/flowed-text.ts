// Paragraphs that were broken into lines for sending (RFC 3676, format=flowed), as the paragraphs they are. One pass.

export function unflowText(text: string, deletesSpace: boolean): string {
  const lines: string[] = []
  let paragraph: string[] = []
  let depth = 0
  const finishParagraph = (): void => {
    if (paragraph.length > 0) lines.push(`${depth > 0 ? `${'>'.repeat(depth)} ` : ''}${paragraph.join('')}`)
    paragraph = []
  }
  // Not split at once: a text of short lines would be there many times over.
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf('\n', at)
    const line = text.slice(at, end === -1 ? text.length : end)
    at = end === -1 ? text.length + 1 : end + 1
    const marks = quoteDepth(line)
    // A space before a line that begins with one, or with From, was stuffed in.
    const unmarked = line.slice(marks)
    const words = unmarked.startsWith(' ') ? unmarked.slice(1) : unmarked
    const isSignature = words === '-- '
    if (marks !== depth || isSignature) finishParagraph()
    depth = marks
    const goesOn = words.endsWith(' ') && !isSignature
    paragraph.push(goesOn && deletesSpace ? words.slice(0, -1) : words)
    if (!goesOn) finishParagraph()
  }
  finishParagraph()
  return lines.join('\n')
}

function quoteDepth(line: string): number {
  let depth = 0
  while (line.charAt(depth) === '>') depth += 1
  return depth
}
