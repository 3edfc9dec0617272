// Reconciles a post: looks up whether it arrived, by the client id in its metadata. A stream carries none; it is known by
// its first words and its time, and where another message of ours could be meant nothing is decided.
import type { Attempt, LookupResult } from '../../../src/contract/index.ts'
import { foundMessageSchema, type FoundMessage as Message, type SlackCall } from '../wire.ts'
import type { OutboundDeps, WebApiAnswer } from './web-api.ts'

const maxPages = 3
const pageSize = 100
/** Clocks differ, and a row waits before it is sent. */
const marginSeconds = 120
/** What clocks that are kept differ by. */
const skewSeconds = 5

export function reconcileSlack({
  call,
  tokenOf,
}: OutboundDeps): (posted: SlackCall, attempt: Attempt) => Promise<LookupResult> {
  return async (posted, attempt) => {
    if (posted.method !== 'chat.postMessage' && posted.method !== 'chat.startStream')
      return { kind: 'undecided', reason: 'cannot_be_looked_up' }
    const held = await tokenOf(posted.account)
    if (held.kind !== 'token') return { kind: 'undecided', reason: held.reason }
    const { channel, thread_ts: thread } = posted.payload
    const method = thread === undefined ? 'conversations.history' : 'conversations.replies'
    const born = clientIdTime(attempt.clientId)
    const oldest = born === undefined ? undefined : `${Math.max(1, Math.floor(born) - marginSeconds)}.000000`
    const unmarked: Message[] = []
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
      if (answer.kind !== 'ok') return failedLookupOutcome(answer)
      const found = findMessageTsByClientId(answer.data, attempt.clientId)
      if (found !== undefined) return { kind: 'found', vendorId: found }
      unmarked.push(...parseHistoryMessages(answer.data).filter(isBotMessageWithoutClientId))
      cursor = nextCursor(answer.data)
      if (cursor !== undefined) continue
      return posted.method === 'chat.startStream'
        ? findStreamByOpeningText(unmarked, posted.payload.markdown_text, born)
        : { kind: 'absent' }
    }
    return { kind: 'undecided', reason: 'too_much_since' }
  }
}

/** Ids of version 7 begin with their time; what was sent by one is not older than it. Seconds. */
function clientIdTime(clientId: string): number | undefined {
  const hex = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-/i.exec(clientId)
  return hex === null ? undefined : Number.parseInt(`${hex[1]}${hex[2]}`, 16) / 1000
}

function parseHistoryMessages(data: Readonly<Record<string, unknown>>): readonly Message[] {
  const messages: readonly unknown[] = Array.isArray(data['messages']) ? data['messages'] : []
  return messages.flatMap((message) => foundMessageSchema.safeParse(message).data ?? [])
}

function findMessageTsByClientId(data: Readonly<Record<string, unknown>>, clientId: string): string | undefined {
  return parseHistoryMessages(data).find(({ metadata }) => metadata?.event_payload?.client_id === clientId)?.ts
}

function isBotMessageWithoutClientId({ bot_id, metadata }: Message): boolean {
  return bot_id !== undefined && metadata?.event_payload?.client_id === undefined
}

/** The words may have been shown in another markup, so only letters and digits are compared. */
function findStreamByOpeningText(unmarked: readonly Message[], opened: string, born: number | undefined): LookupResult {
  const words = keepLettersAndDigits(opened)
  const since = born ?? 0
  const recent = unmarked.filter(({ ts }) => Number(ts) >= since - skewSeconds)
  if (recent.length === 0) return { kind: 'absent' }
  const alike = recent.filter(
    ({ ts, text = '' }) => Number(ts) >= since && keepLettersAndDigits(text).startsWith(words),
  )
  const [only, ...others] = words === '' ? [] : alike
  if (only !== undefined && others.length === 0) return { kind: 'found', vendorId: only.ts }
  return { kind: 'undecided', reason: 'another_may_be_meant' }
}

function keepLettersAndDigits(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '')
}

function nextCursor(data: Readonly<Record<string, unknown>>): string | undefined {
  const metadata = data['response_metadata']
  const cursor = typeof metadata === 'object' && metadata !== null && 'next_cursor' in metadata && metadata.next_cursor
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined
}

/** Where there is no such thread there is no such post; anything else leaves it open. */
function failedLookupOutcome(answer: Exclude<WebApiAnswer, { kind: 'ok' }>): LookupResult {
  if (answer.kind === 'error')
    return answer.error === 'thread_not_found' ? { kind: 'absent' } : { kind: 'undecided', reason: answer.error }
  // Some apps may read once a minute only.
  if (answer.kind === 'limited') return { kind: 'undecided', reason: 'rate_limited', afterMs: answer.afterMs }
  return { kind: 'undecided', reason: 'no_readable_answer' }
}
