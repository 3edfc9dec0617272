// HTML from outside as a safe subset (NM-18): parsed, then written anew from an allow-list; nothing is copied.
import { Parser } from 'htmlparser2'
import { maxTextLength } from '../contract/index.ts'
import { escapeHtml } from './html.ts'
import { safeUrl } from './links.ts'

const allowedTags = new Set('p br b strong i em u s code pre blockquote ul ol li a h1 h2 h3 h4 h5 h6'.split(' '))
// Their text is no message: programs, styles, other documents, things that only a browser can show.
const silentTags = new Set(
  `script style iframe frame frameset noframes noscript template object embed applet svg math head title textarea select
   xmp plaintext noembed audio video canvas`.split(/\s+/),
)
// Dropped, but words on both sides of them must not run together.
const separatingTags = new Set(
  'div section article header footer main nav aside table tr td th dl dt dd hr form'.split(' '),
)

const maxDepth = 32
const maxParsedDepth = 512
const piece = 16 * 1024
const roomForClosingTags = 1024

/** Well-formed HTML of the allowed tags only; every text is escaped, and a link goes where `safeUrl` allows. */
export function safeHtml(html: string): string {
  const writer = createWriter()
  let parsedDepth = 0
  let silentDepth = 0
  const parser = new Parser({
    onopentag(name, attributes) {
      parsedDepth += 1
      if (silentTags.has(name)) silentDepth += 1
      else if (silentDepth === 0) writer.open(name, attributes)
    },
    onclosetag(name) {
      parsedDepth -= 1
      if (silentTags.has(name)) silentDepth -= 1
      else if (silentDepth === 0) writer.close(name)
    },
    ontext(text) {
      if (silentDepth === 0) writer.text(text)
    },
  })
  // In pieces, so that nesting without end is noticed before the parser's own stack makes it slow.
  for (let at = 0; at < html.length && parsedDepth <= maxParsedDepth && !writer.isFull(); at += piece) {
    parser.write(html.slice(at, at + piece))
  }
  if (parsedDepth <= maxParsedDepth) parser.end()
  return writer.finish()
}

type Writer = {
  readonly open: (name: string, attributes: Readonly<Record<string, string>>) => void
  readonly close: (name: string) => void
  readonly text: (text: string) => void
  readonly isFull: () => boolean
  readonly finish: () => string
}

function createWriter(): Writer {
  const written: string[] = []
  const openTags: string[] = []
  let length = 0
  let isFull = false
  const write = (text: string) => {
    isFull ||= length + text.length > maxTextLength - roomForClosingTags
    if (isFull) return false
    length += text.length
    written.push(text)
    return true
  }
  return {
    open(name, attributes) {
      const tag = openTags.length < maxDepth ? safeOpeningTag(name, attributes) : undefined
      if (tag !== undefined && write(tag) && name !== 'br') openTags.push(name)
    },
    close(name) {
      if (separatingTags.has(name)) write('\n')
      const at = openTags.lastIndexOf(name)
      if (at === -1) return
      for (const tag of openTags.splice(at).reverse()) written.push(`</${tag}>`)
    },
    text: (text) => void write(escapeHtml(text)),
    isFull: () => isFull,
    finish() {
      for (const tag of openTags.splice(0).reverse()) written.push(`</${tag}>`)
      return written.join('')
    },
  }
}

function safeOpeningTag(name: string, attributes: Readonly<Record<string, string>>): string | undefined {
  if (!allowedTags.has(name)) return undefined
  if (name !== 'a') return `<${name}>`
  const href = safeUrl(attributes['href'] ?? '')
  return href === undefined ? undefined : `<a href="${escapeHtml(href)}">`
}
