// Hop 8: whether a post of ours arrived, by the client id in its metadata (ruling 18: lookup).
import type { Attempt, LookupOutcome } from '../../../src/contract/index.ts'
import type { SlackCall } from '../wire/call.ts'
import type { Answer } from './call-slack.ts'
import type { SlackPorts } from './ports.ts'

const maxPages = 3
const pageSize = 100
/** Clocks differ, and a row waits before it is sent. */
const marginSeconds = 120

export function reconcileSlack({
  call,
  tokenOf,
}: SlackPorts): (posted: SlackCall, attempt: Attempt) => Promise<LookupOutcome> {
  return async (posted, attempt) => {
    if (posted.method !== 'chat.postMessage') return { kind: 'undecided', reason: 'cannot_be_looked_up' }
    const held = await tokenOf(posted.account)
    if (held.kind !== 'token') return { kind: 'undecided', reason: held.reason }
    const { channel, thread_ts: thread } = posted.payload
    const method = thread === undefined ? 'conversations.history' : 'conversations.replies'
    const oldest = bornAt(attempt.clientId)
    const args = {
      channel,
      ...(thread === undefined ? {} : { ts: thread }),
      ...(oldest === undefined ? {} : { oldest }),
      include_all_metadata: true,
      limit: pageSize,
    }
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const next = cursor === undefined ? args : { ...args, cursor }
      const answer = await call(held.token, method, next, attempt.signal)
      if (answer.kind !== 'ok') return refusedLookup(answer)
      const found = foundIn(answer.data, attempt.clientId)
      if (found !== undefined) return { kind: 'found', vendorId: found }
      cursor = nextCursor(answer.data)
      if (cursor === undefined) return { kind: 'absent' }
    }
    return { kind: 'undecided', reason: 'too_much_since' }
  }
}

/** Ids of version 7 begin with their time; what was sent by one is not older than it. */
function bornAt(clientId: string): string | undefined {
  const hex = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(clientId)
  if (hex === null) return undefined
  const seconds = Math.floor(Number.parseInt(`${hex[1]}${hex[2]}`, 16) / 1000) - marginSeconds
  return seconds > 0 ? `${seconds}.000000` : undefined
}

function foundIn(data: Readonly<Record<string, unknown>>, clientId: string): string | undefined {
  const messages = Array.isArray(data['messages']) ? data['messages'] : []
  const ours = messages.find((message) => message?.metadata?.event_payload?.client_id === clientId)
  return typeof ours?.ts === 'string' ? ours.ts : undefined
}

function nextCursor(data: Readonly<Record<string, unknown>>): string | undefined {
  const metadata = data['response_metadata']
  const cursor = typeof metadata === 'object' && metadata !== null && 'next_cursor' in metadata && metadata.next_cursor
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined
}

/** Where there is no such thread there is no such post; anything else leaves it open. */
function refusedLookup(answer: Exclude<Answer, { kind: 'ok' }>): LookupOutcome {
  if (answer.kind === 'error')
    return answer.error === 'thread_not_found' ? { kind: 'absent' } : { kind: 'undecided', reason: answer.error }
  // Some apps may read once a minute only (slack 2.15).
  if (answer.kind === 'limited') return { kind: 'undecided', reason: 'rate_limited', afterMs: answer.afterMs }
  return { kind: 'undecided', reason: 'no_readable_answer' }
}
