// A reply that would become too many messages: its beginning is sent, and the whole goes along as a file or behind a link. What the
// transcript keeps is the whole.
import { isKnownPart, type KnownPart, type NormalizedResponse, type Part, textPart } from '../contract/index.ts'

/** Where all of a reply can be read: as a file that goes with it, or at an address. */
export type WholeReply = { readonly file: KnownPart } | { readonly url: string }

/** Undefined: there is no place for files. */
export type KeepWhole = (text: string, place: number) => Promise<WholeReply | undefined>

type TextPart = Extract<KnownPart, { kind: 'text' }>

/** Of a first guess that is too long each next one is so much shorter. */
const shrink = 0.8
const maxTries = 40

export type CutContext<Call> = {
  readonly maxParts: number
  readonly count: number
  readonly render: (reply: NormalizedResponse) => readonly Call[]
  readonly whole: () => Promise<WholeReply | undefined>
}

/** The longest beginning that fits; where cards and files alone are too many, only its words are cut. */
export async function cutReply<Call>(
  reply: NormalizedResponse,
  { maxParts, count, render, whole }: CutContext<Call>,
): Promise<NormalizedResponse> {
  const length = reply.parts.reduce((sum, part) => sum + (isTextPartKind(part) ? part.content.length : 0), 0)
  if (length === 0) return reply
  const kept = await whole()
  let limit = Math.floor((length * maxParts) / count)
  for (let tries = 0; tries < maxTries && limit > 0; tries += 1) {
    const cut = truncateReply(reply, limit, kept)
    if (render(cut).length <= maxParts) return cut
    limit = Math.floor(limit * shrink)
  }
  return truncateReply(reply, 0, kept)
}

/** So many characters of its words, then what was left out and where it is. Everything that is no words stays. */
function truncateReply(reply: NormalizedResponse, limit: number, whole: WholeReply | undefined): NormalizedResponse {
  const parts: Part[] = []
  let left = limit
  let last = -1
  for (const part of reply.parts) {
    if (!isTextPartKind(part)) parts.push(part)
    else if (left > 0) {
      const content = part.content.length <= left ? part.content : shortenMarkdown(part.content, left)
      left -= part.content.length
      if (content === '') continue
      parts.push({ ...part, content })
      last = parts.length - 1
    }
  }
  parts.splice(last + 1, 0, textPart(cutNotice(whole), 'text/markdown'))
  if (whole !== undefined && 'file' in whole) parts.push(whole.file)
  return { ...reply, parts }
}

function cutNotice(whole: WholeReply | undefined): string {
  if (whole === undefined) return '*This answer is longer than can be sent here; the rest was left out.*'
  if ('file' in whole) return '*This answer is longer than fits here. All of it is in the file that comes with it.*'
  return `*This answer is longer than fits here.* [Read all of it](${whole.url})`
}

/** At the end of a line or a word where there is one near; a code block that was open is closed. */
function shortenMarkdown(text: string, limit: number): string {
  const head = text.slice(0, limit).toWellFormed()
  const near = Math.floor(limit * 0.8)
  const line = head.lastIndexOf('\n')
  const word = head.lastIndexOf(' ')
  const end = line > near ? line : word > near ? word : head.length
  const kept = head.slice(0, end).trimEnd()
  const fences = kept.match(/^ {0,3}(`{3,}|~{3,})/gm) ?? []
  const fence = fences.length % 2 === 1 ? `\n${(fences.at(-1) ?? '```').trim()}` : ''
  return kept === '' ? '' : `${kept}${fence}`
}

function isTextPartKind(part: Part): part is TextPart {
  return isKnownPart(part) && part.kind === 'text'
}
