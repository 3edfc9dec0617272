// Up a chain of replies to where it began, for messages that name no conversation. Bounded, and never before the ack (ruling 9).
import type { FetchDocument } from './fetch-document.ts'
import { iriIn, textIn } from './fields.ts'

export type ChainEnd = {
  /** The first post of the chain as far as it could be followed. */
  readonly root: string
  readonly context: string | undefined
  /** From where we were asked to where we ended. */
  readonly visited: readonly string[]
  /** It goes on, or round: the root is only as far as we went. */
  readonly isTruncated: boolean
}

export type ChainDeps = {
  readonly fetchDocument: FetchDocument
  readonly origins: readonly string[]
  readonly now: () => number
  /** Whether we have it ourselves; the chain then ends there. */
  readonly isKnown?: (iri: string) => Promise<boolean>
}

const maxFetches = 20
const maxMs = 30_000

export async function followReplies(deps: ChainDeps, start: string): Promise<ChainEnd> {
  const until = deps.now() + maxMs
  const visited: string[] = []
  let root = start
  let next: string | undefined = start
  while (next !== undefined) {
    const isRound = visited.includes(next)
    if (isRound || visited.length >= maxFetches || deps.now() > until)
      return { root, context: undefined, visited, isTruncated: true }
    if ((await deps.isKnown?.(next)) === true) return { root: next, context: undefined, visited, isTruncated: false }
    const fetched = await deps.fetchDocument(next)
    visited.push(next)
    // Nobody there, or nobody who answers: what was read before is the end that we know.
    if (fetched.kind !== 'document') return { root, context: undefined, visited, isTruncated: next !== start }
    root = next
    const context = textIn(fetched.json['context'] ?? fetched.json['conversation']).slice(0, 1024)
    if (context !== '') return { root, context, visited, isTruncated: false }
    next = iriIn(fetched.json['inReplyTo'], deps.origins)
  }
  return { root, context: undefined, visited, isTruncated: false }
}
