// Markup and script: what a browser would run. Seen through byte order marks, UTF-16, white space and comments.

const encodings: readonly (readonly [mark: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
  // Without a mark: a `<` between zeros.
  [[0x3c, 0x00], 'utf-16le'],
  [[0x00, 0x3c], 'utf-16be'],
]

const htmlTag =
  /^<(?:!doctype\s+html|html|head|body|title|meta|link|base|style|script|iframe|frame|frameset|object|embed|applet|form|table|div|span|img|video|audio|math|template|marquee|details|font|center|h[1-6]|br|hr|p|a|b|i|ul|ol|input|button|svg:svg)(?=[\s/>]|$)/i
const activeMarker =
  /<(?:script|html|svg|iframe|body|head|object|embed|frameset|meta|style|form|!doctype|\?php|!entity)(?=[\s/>\x00]|$)|javascript:/i

/** `text/html`, `image/svg+xml`, `application/xhtml+xml`, `text/xml`, or nothing of the kind. */
export function sniffMarkup(head: Uint8Array): string | undefined {
  const text = skipComments(decodeHead(head).trimStart())
  if (!text.startsWith('<')) return undefined
  if (/^<(?:[a-z0-9]+:)?svg(?=[\s/>:]|$)/i.test(text) || /^<!doctype\s+svg/i.test(text)) return 'image/svg+xml'
  if (htmlTag.test(text)) return 'text/html'
  if (/^<(?:\?xml|!doctype|!entity|\?)/i.test(text)) return xmlType(text)
  // Any other tag: a custom element to a browser, XML to a program. Only what opens one counts, `<3` does not.
  return /^<[a-z!/][^<]{0,200}>/i.test(text) ? 'text/xml' : undefined
}

function xmlType(text: string): string {
  if (/<(?:[a-z0-9]+:)?svg[\s>]/i.test(text)) return 'image/svg+xml'
  if (/<(?:[a-z0-9]+:)?html[\s>]/i.test(text)) return 'application/xhtml+xml'
  return 'text/xml'
}

/** Markup somewhere in bytes that are called something else, also with a zero between its letters. */
export function hasActiveMarker(head: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(head)
  return activeMarker.test(text) || activeMarker.test(text.replaceAll('\u0000', ''))
}

/** A magic number in letters can be the name of a variable: `GIF89a=1` and `GIF89a/*` begin a script. */
export function looksLikeScript(head: Uint8Array): boolean {
  const text = new TextDecoder('latin1').decode(head.subarray(0, 64))
  return /^(?:GIF8[79]a|BM|RIFF|ID3|OTTO|wOF[F2]|fLaC|OggS|MZ)\s*(?:\/[*/]|=|\()/.test(text)
}

function decodeHead(head: Uint8Array): string {
  const encoding = encodings.find(([mark]) => mark.every((byte, index) => head[index] === byte))?.[1] ?? 'utf-8'
  return new TextDecoder(encoding).decode(head)
}

/** One forward search per comment: a page full of them costs its length. */
function skipComments(text: string): string {
  let at = 0
  while (text.startsWith('<!--', at)) {
    const end = text.indexOf('-->', at + 4)
    // A comment that does not end here hides what follows; browsers would still read it as a page.
    if (end < 0) return '<!doctype html>'
    at = end + 3
    while (/\s/.test(text.charAt(at))) at += 1
  }
  return text.slice(at)
}
