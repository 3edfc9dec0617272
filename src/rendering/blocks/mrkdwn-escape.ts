// Words that must stay words in the platform's old markup.

const zeroWidth = '\u200b'

/** In this order, in all text and in code as well. */
export function escapeLiteral(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Also keeps words that look like marks, quotes or broadcasts from being read as such. */
export function escapeText(text: string): string {
  return escapeLiteral(inertBroadcasts(stripMrkdwnMarks(withoutBackticks(text)))).replace(/^&gt;/gm, `${zeroWidth}&gt;`)
}

/** The markup cannot show this character inside code or beside it; the other one looks the same. */
export function withoutBackticks(text: string): string {
  return text.replaceAll('`', 'ˋ')
}

/** `@channel` and its like notify where an app asks Slack to link names. */
export function inertBroadcasts(text: string): string {
  return text.replace(/(?<![A-Za-z0-9])@(?=(?:channel|here|everyone)\b)/gi, `@${zeroWidth}`)
}

const marks = ['*', '_', '~'] as const
const opening = {
  '*': /(?<![\p{L}\p{N}*])\*(?=[^\s*])/gu,
  _: /(?<![\p{L}\p{N}_])_(?=[^\s_])/gu,
  '~': /(?<![\p{L}\p{N}~])~(?=[^\s~])/gu,
}

/** A zero-width space only behind a mark that would open something: another one follows it on the same line. */
function stripMrkdwnMarks(text: string): string {
  if (!/[*_~]/.test(text)) return text
  return text.split('\n').map(lineWithoutMarks).join('\n')
}

function lineWithoutMarks(line: string): string {
  return marks.reduce((result, mark) => {
    const last = result.lastIndexOf(mark)
    return result.replace(opening[mark], (_, at: number) => (at < last ? `${mark}${zeroWidth}` : mark))
  }, line)
}
