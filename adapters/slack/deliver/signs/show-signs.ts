// Presence on Slack: reactions, the status line, the title of a thread, suggested prompts. None of it is in the ledger.
import type { JsonObject, PresenceDetails, PresenceUpdate, Starter, TtlStore } from '../../../../src/contract/index.ts'
import type { SlackSettings } from '../../config.ts'
import { replyToSchema, type SlackReplyTo } from '../../wire/call.ts'
import type { OutboundDeps } from '../ports.ts'
import { type BestEffortCall, createBestEffortCall } from './quiet-call.ts'
import { createReactions } from './reactions.ts'
import { createStatusLine } from './status-line.ts'

type PresenceDeps = { readonly now: () => number; readonly notes?: TtlStore | undefined }

const maxPrompts = 4
const maxThreadTitleLength = 60
const titleLifeMs = 30 * 24 * 60 * 60_000
/** A person who opens the same conversation again and again is offered the same things once. */
const openedEveryMs = 10 * 60_000
const maxThreads = 10_000

export function showSlackPresence(
  settings: Pick<SlackSettings, 'signs' | 'prompts'>,
  ports: Pick<OutboundDeps, 'call' | 'tokenOf'>,
  deps: PresenceDeps,
): (to: JsonObject, what: PresenceUpdate, about?: PresenceDetails) => Promise<void> {
  const quiet = createBestEffortCall(ports, deps.now)
  const { status, ...names } = settings.signs
  const line = createStatusLine(quiet, status === false ? undefined : status, deps.now)
  const reactions = createReactions(quiet, names)
  const title = createThreadTitles(quiet, deps.notes)
  const offer = createPromptOffers(quiet, settings.prompts, deps.now)
  return async (given, what, about = {}) => {
    const to = replyToSchema.parse(given)
    switch (what) {
      case 'waiting':
        return reactions.show(to, 'waiting')
      case 'seen':
        await reactions.show(to, 'seen')
        await title.give(to, about.text ?? '')
        return line.begin(to, title.known(to))
      case 'typing':
        await line.work(to)
        return reactions.show(to, 'busy')
      case 'ended':
        await reactions.end(to, about.outcome)
        return line.end(to)
      case 'opened':
        return offer(to, about.starters ?? [])
      default:
        return what satisfies never
    }
  }
}

type Titles = {
  readonly give: (to: SlackReplyTo, text: string) => Promise<void>
  readonly known: (to: SlackReplyTo) => string | undefined
}

/** A thread of the app's own view is called by the first words that were said in it. */
function createThreadTitles(quiet: BestEffortCall, notes: TtlStore | undefined): Titles {
  const words = new Map<string, string>()
  const titleKey = ({ account, channel, thread_ts }: SlackReplyTo): string => `${account}:${channel}:${thread_ts}`
  return {
    async give(to, text) {
      const { account, channel, thread_ts: thread, reply_to_surface: surface } = to
      const title = threadTitle(text)
      if (thread === undefined || surface === undefined || title === '' || words.has(titleKey(to))) return
      if (words.size >= maxThreads) words.clear()
      words.set(titleKey(to), title)
      // The agent's view is given its title with the status of its session.
      if (surface === 'agent') return
      const isFirst = await notes?.keep({ family: 'title', key: titleKey(to), lifeMs: titleLifeMs, isOnce: true })
      if (isFirst === true)
        await quiet(account, 'assistant.threads.setTitle', { channel_id: channel, thread_ts: thread, title })
    },
    known: (to) => words.get(titleKey(to)),
  }
}

function threadTitle(text: string): string {
  const line = text.trim().split('\n')[0]?.replace(/\s+/g, ' ').trim() ?? ''
  return line.length > maxThreadTitleLength
    ? `${line
        .slice(0, maxThreadTitleLength - 1)
        .toWellFormed()
        .trimEnd()}…`
    : line
}

function createPromptOffers(
  quiet: BestEffortCall,
  own: SlackSettings['prompts'],
  now: () => number,
): (to: SlackReplyTo, starters: readonly Starter[]) => Promise<void> {
  const offered = new Map<string, number>()
  return async ({ account, channel, thread_ts: thread }, starters) => {
    const prompts = (own ?? starters).slice(0, maxPrompts).map(({ title, message }) => ({ title, message }))
    const key = `${account}:${channel}:${thread ?? ''}`
    if (prompts.length === 0 || now() - (offered.get(key) ?? Number.NEGATIVE_INFINITY) < openedEveryMs) return
    if (offered.size >= maxThreads) offered.clear()
    offered.set(key, now())
    const place = { channel_id: channel, ...(thread === undefined ? {} : { thread_ts: thread }) }
    await quiet(account, 'assistant.threads.setSuggestedPrompts', { ...place, prompts })
  }
}
