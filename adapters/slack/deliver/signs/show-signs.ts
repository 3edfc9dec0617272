// Presence on Slack: reactions, the status line, the title of a thread, suggested prompts. None of it is in the ledger.
import type { JsonObject, Notes, Sign, SignFacts, Starter } from '../../../../src/contract/index.ts'
import type { SlackSettings } from '../../config.ts'
import { replyToSchema, type SlackReplyTo } from '../../wire/call.ts'
import type { SlackPorts } from '../ports.ts'
import { createQuietCall, type QuietCall } from './quiet-call.ts'
import { createReactions } from './reactions.ts'
import { createStatusLine } from './status-line.ts'

type SignDeps = { readonly now: () => number; readonly notes?: Notes | undefined }

const maxPrompts = 4
const maxTitleLength = 60
const titleLifeMs = 30 * 24 * 60 * 60_000
/** A person who opens the same conversation again and again is offered the same things once. */
const openedEveryMs = 10 * 60_000
const maxRemembered = 10_000

export function showSigns(
  settings: Pick<SlackSettings, 'signs' | 'prompts'>,
  ports: Pick<SlackPorts, 'call' | 'tokenOf'>,
  deps: SignDeps,
): (to: JsonObject, what: Sign, about?: SignFacts) => Promise<void> {
  const quiet = createQuietCall(ports, deps.now)
  const { status, ...names } = settings.signs
  const line = createStatusLine(quiet, status === false ? undefined : status, deps.now)
  const reactions = createReactions(quiet, names)
  const title = createTitles(quiet, deps.notes)
  const offer = createOffers(quiet, settings.prompts, deps.now)
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
function createTitles(quiet: QuietCall, notes: Notes | undefined): Titles {
  const words = new Map<string, string>()
  const keyOf = ({ account, channel, thread_ts }: SlackReplyTo): string => `${account}:${channel}:${thread_ts}`
  return {
    async give(to, text) {
      const { account, channel, thread_ts: thread, reply_to_surface: surface } = to
      const title = titleOf(text)
      if (thread === undefined || surface === undefined || title === '' || words.has(keyOf(to))) return
      if (words.size >= maxRemembered) words.clear()
      words.set(keyOf(to), title)
      // The agent's view is given its title with the status of its session.
      if (surface === 'agent') return
      const isFirst = await notes?.keep({ family: 'title', key: keyOf(to), lifeMs: titleLifeMs, isOnce: true })
      if (isFirst === true)
        await quiet(account, 'assistant.threads.setTitle', { channel_id: channel, thread_ts: thread, title })
    },
    known: (to) => words.get(keyOf(to)),
  }
}

function titleOf(text: string): string {
  const line = text.trim().split('\n')[0]?.replace(/\s+/g, ' ').trim() ?? ''
  return line.length > maxTitleLength
    ? `${line
        .slice(0, maxTitleLength - 1)
        .toWellFormed()
        .trimEnd()}…`
    : line
}

function createOffers(
  quiet: QuietCall,
  own: SlackSettings['prompts'],
  now: () => number,
): (to: SlackReplyTo, starters: readonly Starter[]) => Promise<void> {
  const offered = new Map<string, number>()
  return async ({ account, channel, thread_ts: thread }, starters) => {
    const prompts = (own ?? starters).slice(0, maxPrompts).map(({ title, message }) => ({ title, message }))
    const key = `${account}:${channel}:${thread ?? ''}`
    if (prompts.length === 0 || now() - (offered.get(key) ?? Number.NEGATIVE_INFINITY) < openedEveryMs) return
    if (offered.size >= maxRemembered) offered.clear()
    offered.set(key, now())
    const place = { channel_id: channel, ...(thread === undefined ? {} : { thread_ts: thread }) }
    await quiet(account, 'assistant.threads.setSuggestedPrompts', { ...place, prompts })
  }
}
