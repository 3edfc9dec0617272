// The tags and the text of a document, in order. The tokenizer alone: it is linear, and keeps no stack that grows.
import { Tokenizer } from 'htmlparser2'
import type { Attributes } from './look.ts'

export type TokenReader = {
  readonly open: (name: string, attributes: Attributes) => void
  readonly close: (name: string) => void
  readonly text: (text: string) => void
  /** Reading ends when the caller has enough. */
  readonly isFull: () => boolean
}

/** The only attributes that are read; a flood of others is skipped. */
const read = new Set(
  `style class id hidden href src alt width height color bgcolor background start value type open aria-hidden role
   aria-label`.split(/\s+/),
)
const none: Attributes = new Map()

export function readTokens(html: string, reader: TokenReader): void {
  let tag = ''
  let attributes: Map<string, string> | undefined
  let attribute = ''
  let value: string[] = []
  const flow = (action: () => void) => {
    action()
    if (reader.isFull()) tokenizer.pause()
  }
  const opened = () => flow(() => reader.open(tag, attributes ?? none))
  const tokenizer = new Tokenizer(
    {},
    {
      // Behind a closing tag that never ends the tokenizer names a text that begins before the document: there is none.
      ontext: (start, end) => void (start >= 0 && flow(() => reader.text(html.slice(start, end)))),
      ontextentity: (point) => flow(() => reader.text(String.fromCodePoint(point))),
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase()
        attributes = undefined
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase()
        value = []
      },
      onattribdata: (start, end) => void (read.has(attribute) && value.push(html.slice(start, end))),
      onattribentity: (point) => void (read.has(attribute) && value.push(String.fromCodePoint(point))),
      onattribend() {
        if (!read.has(attribute)) return
        attributes ??= new Map()
        // Of two attributes of one name the first one counts.
        if (!attributes.has(attribute)) attributes.set(attribute, value.join(''))
      },
      onopentagend: opened,
      onselfclosingtag: opened,
      onclosetag: (start, end) => flow(() => reader.close(html.slice(start, end).toLowerCase())),
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: () => {},
    },
  )
  tokenizer.write(html)
  tokenizer.end()
}
