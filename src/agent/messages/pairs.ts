// Whether every tool call has its result and every result its call: providers refuse transcripts where one is missing.
import type { Envelope, Fields } from '../../contract/index.ts'

export type Orphan = {
  readonly index: number
  readonly kind: 'orphan_tool_call' | 'orphan_tool_result'
  readonly type: 'tool_call' | 'tool_result'
  readonly tool_name: string
  readonly tool_call_id?: string
}

export type Pruned = {
  readonly messages: readonly Envelope[]
  readonly removed: readonly Orphan[]
  readonly events: readonly { readonly type: string; readonly metadata: Fields }[]
}

type Call = { readonly index: number; readonly name: string; readonly id: string | undefined }

export function findOrphans(messages: readonly Envelope[]): readonly Orphan[] {
  const open: Call[] = []
  const orphans: Orphan[] = []
  messages.forEach((message, index) => {
    const at = { index, name: String(message.payload['tool_name'] ?? ''), id: lineToolCallId(message) }
    if (message.type === 'tool_call') open.push(at)
    if (message.type !== 'tool_result') return
    // With an id only that call fits, and of two with one id the nearer: some models count anew in every run. Without an
    // id the oldest of the same name that has none either.
    const match =
      at.id === undefined
        ? open.findIndex((call) => !call.id && call.name === at.name)
        : open.findLastIndex((call) => call.id === at.id)
    if (match === -1) orphans.push(describeOrphan('orphan_tool_result', 'tool_result', at))
    else open.splice(match, 1)
  })
  orphans.push(...open.map((call) => describeOrphan('orphan_tool_call', 'tool_call', call)))
  return orphans.toSorted((a, b) => a.index - b.index)
}

export function pruneOrphans(messages: readonly Envelope[]): Pruned {
  const removed = findOrphans(messages)
  const indices = new Set(removed.map((each) => each.index))
  const kept = messages.filter((_, index) => !indices.has(index))
  const counts = { total_messages: messages.length, orphan_count: removed.length }
  const event =
    removed.length === 0
      ? { type: 'tool_pair_validated', metadata: counts }
      : {
          type: 'tool_pair_pruned',
          metadata: { ...counts, retained_count: kept.length, removed_indices: [...indices], orphans: removed },
        }
  return { messages: kept, removed, events: [event] }
}

/**
 * Each call directly before its result. A paused run has other words between the two; a provider wants none. The call moves
 * to its result and not the other way round, so that a resumed run ends with what it waited for.
 */
export function besideResults(messages: readonly Envelope[]): readonly Envelope[] {
  const waiting = new Map<string, Envelope>()
  return messages.flatMap((message, index) => {
    const id = lineToolCallId(message)
    if (id === undefined) return [message]
    const next = messages[index + 1]
    const isFarFromResult =
      message.type === 'tool_call' && (next?.type !== 'tool_result' || lineToolCallId(next) !== id)
    if (isFarFromResult && hasResult(messages, index, id)) {
      waiting.set(id, message)
      return []
    }
    const before = messages[index - 1]
    const isPaired = before?.type === 'tool_call' && lineToolCallId(before) === id
    const call = message.type === 'tool_result' && !isPaired ? waiting.get(id) : undefined
    if (call === undefined) return [message]
    waiting.delete(id)
    return [call, message]
  })
}

function hasResult(messages: readonly Envelope[], from: number, id: string): boolean {
  return messages.slice(from + 1).some((line) => line.type === 'tool_result' && lineToolCallId(line) === id)
}

function describeOrphan(kind: Orphan['kind'], type: Orphan['type'], { index, name, id }: Call): Orphan {
  return { index, kind, type, tool_name: name, ...(id === undefined ? {} : { tool_call_id: id }) }
}

function lineToolCallId(message: Envelope): string | undefined {
  const id = message.metadata['tool_call_id']
  return typeof id === 'string' && id !== '' ? id : undefined
}
