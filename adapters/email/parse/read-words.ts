// The words of a mail as one text. Plain text is preferred; a page is read where there is no other, as its reader sees it.
import { htmlToText, withoutInvisible } from '../../../src/markdown/index.ts'
import { markQuote, withoutQuoteMarks } from '../trim/html-marks.ts'
import { trimReply } from '../trim/trim-reply.ts'
import type { BodyFlag } from '../wire/judged.ts'
import type { Words } from './choose-words.ts'
import type { PartText } from './read-text.ts'
import { sayTheSame } from './same-words.ts'
import type { Leaf } from './scan-parts.ts'

export type Spoken = {
  readonly text: string
  /** Untrimmed. */
  readonly whole: string
  readonly flags: ReadonlySet<BodyFlag>
  /** Parts of which not everything was read. */
  readonly cut: readonly Leaf[]
}

type Reading = { readonly read: (leaf: Leaf) => Promise<PartText>; readonly flags: Set<BodyFlag>; readonly cut: Leaf[] }
type Piece = {
  /** Trimmed when it is asked for: of two versions only one is. */
  readonly text: () => string
  readonly whole: string
  /** Words that no reader sees were left out of it. */
  readonly hasHidden: boolean
}

export async function readWords(words: readonly Words[], read: (leaf: Leaf) => Promise<PartText>): Promise<Spoken> {
  const reading: Reading = { read, flags: new Set(), cut: [] }
  const { text, whole, hasHidden } = await readAllWords(reading, words)
  if (hasHidden) reading.flags.add('hidden_text_removed')
  return { text: text(), whole, flags: reading.flags, cut: reading.cut }
}

/** Parts that follow each other are one text, and a quote may begin in one and go on in the next. */
async function readAllWords(reading: Reading, words: readonly Words[]): Promise<Piece> {
  const pieces: Piece[] = []
  for (const each of words) pieces.push(await readPiece(reading, each))
  const said = pieces.filter(({ whole }) => whole !== '')
  const [only] = said
  const hasHidden = pieces.some((piece) => piece.hasHidden)
  if (said.length <= 1) return { text: only?.text ?? emptyText, whole: only?.whole ?? '', hasHidden }
  const whole = said.map((piece) => piece.whole).join('\n\n')
  return { whole, text: lazyTrim(whole), hasHidden }
}

async function readPiece(reading: Reading, words: Words): Promise<Piece> {
  switch (words.kind) {
    case 'plain':
      return readPlain(reading, words.leaf)
    case 'html':
      return readHtml(reading, words.leaf)
    case 'either':
      return readEither(reading, words)
    default:
      return words satisfies never
  }
}

async function readPlain(reading: Reading, leaf: Leaf): Promise<Piece> {
  const whole = withoutInvisible(await readLeaf(reading, leaf)).trim()
  return { whole, text: lazyTrim(whole), hasHidden: false }
}

async function readHtml(reading: Reading, leaf: Leaf): Promise<Piece> {
  let hasHidden = false
  const onHidden = (): void => {
    hasHidden = true
  }
  const marked = htmlToText(await readLeaf(reading, leaf), { onHidden, mark: markQuote })
  return { whole: withoutQuoteMarks(marked), text: lazyTrim(marked), hasHidden }
}

/** Plain text, where it says anything. Where it says something else than the page, the agent is told. */
async function readEither(reading: Reading, { plain, html }: Words & { kind: 'either' }): Promise<Piece> {
  const said = await readAllWords(reading, plain)
  const shown = await readAllWords(reading, html)
  if (!/[\p{L}\p{N}\p{S}]/u.test(said.text()) && shown.whole !== '') return shown
  if (shown.whole !== '' && !sayTheSame(said.whole, shown.whole)) reading.flags.add('alternative_mismatch')
  return said
}

const emptyText = (): string => ''

function lazyTrim(whole: string): () => string {
  let text: string | undefined
  return () => (text ??= trimReply(whole).text)
}

async function readLeaf({ read, cut }: Reading, leaf: Leaf): Promise<string> {
  const { text, isCut } = await read(leaf)
  if (isCut) cut.push(leaf)
  return text
}
