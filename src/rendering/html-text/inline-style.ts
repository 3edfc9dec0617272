// The declarations of a style attribute, read as a browser reads them: comments, escapes and `!important` hide nothing.

export type Style = ReadonlyMap<string, string>

const none: Style = new Map()
const escaped = /\\(?:([0-9a-f]{1,6})\s?|([^\n]))/gi

/** Names and values in lower case; of two declarations of one property the one that counts. */
export function parseInlineStyle(style: string | undefined): Style {
  if (style === undefined || style === '') return none
  const found = new Map<string, string>()
  const important = new Set<string>()
  for (const declaration of plainStyle(style).split(';')) {
    const colon = declaration.indexOf(':')
    if (colon === -1) continue
    const name = declaration.slice(0, colon).trim().toLowerCase()
    const words = declaration
      .slice(colon + 1)
      .trim()
      .toLowerCase()
    const isImportant = /!\s*important$/.test(words)
    if (important.has(name) && !isImportant) continue
    if (isImportant) important.add(name)
    found.set(name, isImportant ? words.slice(0, words.lastIndexOf('!')).trim() : words)
  }
  return found
}

/** A length in pixels, as near as that can be told without a page; undefined when it is none. */
export function pixels(value: string | undefined): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|ex|ch|vw|vh|in|cm|mm|%)?$/.exec(value ?? '')
  if (match === null) return undefined
  return Number(match[1]) * (unitPixels[match[2] ?? 'px'] ?? 1)
}

const unitPixels: Readonly<Record<string, number>> = {
  px: 1,
  pt: 4 / 3,
  em: 16,
  rem: 16,
  ex: 8,
  ch: 8,
  vw: 8,
  vh: 8,
  in: 96,
  cm: 38,
  mm: 3.8,
  // Of something unknown: a percentage only counts when it is nothing or far away.
  '%': 8,
}

function plainStyle(style: string): string {
  const bare = style.includes('/*') ? withoutComments(style) : style
  if (!bare.includes('\\')) return bare
  return bare.replace(escaped, (_, hex: string | undefined, plain: string | undefined) => {
    if (hex === undefined) return plain ?? ''
    const point = Number.parseInt(hex, 16)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd'
  })
}

function withoutComments(style: string): string {
  const kept: string[] = []
  for (let at = 0; at < style.length; ) {
    const open = style.indexOf('/*', at)
    kept.push(style.slice(at, open === -1 ? style.length : open))
    const close = open === -1 ? -1 : style.indexOf('*/', open + 2)
    at = close === -1 ? style.length : close + 2
  }
  return kept.join('')
}
