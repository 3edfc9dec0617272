// Which parts of a mail are its words, and which are files beside them (RFC 2046 5.1).
import type { Leaf, MailPart, Multipart } from './scan-parts.ts'

/** Words in reading order; `either`: the same said twice, as text and as a page. */
export type Words =
  | { readonly kind: 'plain' | 'html'; readonly leaf: Leaf }
  | { readonly kind: 'either'; readonly plain: readonly Words[]; readonly html: readonly Words[] }

export function chooseWords(part: MailPart): readonly Words[] {
  if (part.kind === 'leaf') return isWordsPart(part) ? [{ kind: wordKind(part), leaf: part }] : []
  if (part.subtype === 'alternative' || isSaidTwice(part)) return chooseAlternatives(part)
  // Of what belongs together the root speaks, the rest are its pictures.
  if (part.subtype === 'related') return chooseWords(part.children[0] ?? emptyMultipart)
  // What is said about a report is its first part; the second is for machines, the third is the mail it is about.
  if (part.subtype === 'report' || part.subtype === 'encrypted') return part.children.slice(0, 1).flatMap(chooseWords)
  return part.children.flatMap(chooseWords)
}

/** Parts whose kind of multipart is not signed: the same as text and as a page, and nothing that is a file. */
function isSaidTwice({ subtype, children }: Multipart): boolean {
  const [first, ...others] = children
  if (subtype !== 'unnamed' || first?.kind !== 'leaf' || first.head.type.value !== 'text/plain') return false
  const isPageVersion = (part: MailPart): boolean =>
    part.kind === 'multipart' || ['text/html', 'text/x-amp-html', 'text/calendar'].includes(part.head.type.value)
  return isWordsPart(first) && others.length > 0 && others.every((part) => isPageVersion(part) && !isAttachedPart(part))
}

const isAttachedPart = ({ head }: MailPart): boolean => head.disposition.value === 'attachment'

const emptyMultipart: Multipart = {
  kind: 'multipart',
  subtype: 'mixed',
  head: {
    type: { value: 'multipart/mixed', params: new Map() },
    encoding: 'identity',
    disposition: { value: '', params: new Map() },
    contentId: undefined,
  },
  children: [],
}

function chooseAlternatives({ children }: Multipart): readonly Words[] {
  const ways = children.map(chooseWords).filter((words) => words.length > 0)
  const plain = ways.find((words) => words.every(({ kind }) => kind === 'plain'))
  const html = ways.findLast((words) => words !== plain && words.some(({ kind }) => kind !== 'plain'))
  if (plain === undefined || html === undefined) return plain ?? html ?? []
  return [{ kind: 'either', plain, html }]
}

/** A part with a name of its own, or one that says it is attached, is a file even when it is text. */
function isWordsPart({ head }: Leaf): boolean {
  const { type, disposition } = head
  if (type.value !== 'text/plain' && type.value !== 'text/html') return false
  return disposition.value !== 'attachment' && !disposition.params.has('filename') && !type.params.has('name')
}

function wordKind({ head }: Leaf): 'plain' | 'html' {
  return head.type.value === 'text/html' ? 'html' : 'plain'
}

/** Leaves that say something, by their place. The rest are files. */
export function spokenLeaves(words: readonly Words[]): ReadonlySet<number> {
  const spoken = new Set<number>()
  for (const each of words)
    if (each.kind === 'either') for (const index of spokenLeaves([...each.plain, ...each.html])) spoken.add(index)
    else spoken.add(each.leaf.index)
  return spoken
}
