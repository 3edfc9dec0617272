// Timeline entries of turns: every attempt of every turn, and the steps of its journal.

import type {
  DeliveryFacts,
  ErrorFacts,
  Facts,
  MessageFacts,
  StepFacts,
  TurnEvent,
  TurnFacts,
} from '../../db/explain.ts'
import { durationText, durationTextBetween } from '../../lib/duration-text.ts'
import { formatThrownError } from '../../lib/errors.ts'
import { messageDisplayId } from './message-timeline.ts'
import { reasonText } from './reason-texts.ts'
import { type TimelineEntry, timelineEntry } from './timeline-entry.ts'

export function turnEntries(turn: TurnFacts, { message, deliveries }: Facts): readonly TimelineEntry[] {
  if (turn.kind === 'amendment') return amendmentEntries(turn)
  const own = deliveries.filter((delivery) => delivery.turnId === turn.id)
  // Unless it failed, its only event is that the sender was told something, and that stands with the message.
  if (turn.kind === 'access_challenge')
    return [
      ...turn.errors.map(agentErrorEntry),
      ...turn.history.filter(({ what }) => what === 'dead').flatMap((each) => gaveUpEntries(each, own)),
    ]
  return [
    turnStartEntry(turn, message),
    ...turn.steps.map(stepEntry),
    ...turn.errors.map(agentErrorEntry),
    ...turn.history.flatMap((event, index) => turnEventEntries(event, turn.history[index - 1], own)),
  ]
}

function amendmentEntries(turn: TurnFacts): readonly TimelineEntry[] {
  return [
    timelineEntry(
      turn.startedAt,
      'Recorded',
      'The change was written into the transcript. It is answered by nothing.',
      'good',
    ),
  ]
}

function turnStartEntry(
  { startedAt, members, signal, attempt, history, ambient }: TurnFacts,
  message: MessageFacts | null,
): TimelineEntry {
  if (signal !== null)
    return timelineEntry(startedAt, 'Turn', `began because of a ${signal}, not because of a message.`)
  const waited =
    message === null ? '' : ` ${durationTextBetween(message.receivedAt, startedAt)} after the message was received`
  const split = history.find((event) => event.what === 'split')
  const taken = members.filter((member) => member.event === 'new')
  const company =
    taken.length > 1
      ? `, with ${taken.length} messages of one sender taken as one: ${taken.map(messageDisplayId).join(', ')}`
      : split?.members === undefined
        ? ''
        : `, with ${split.members.length} messages of one sender taken as one`
  const cut = history.length >= 20 && attempt > 1 ? ' Only its last twenty events are known.' : ''
  const talk = ambient === 1 ? 'one message' : `${ambient} messages`
  const knew = ambient === 0 ? '' : ` The agent was given ${talk} said around it before.`
  return timelineEntry(startedAt, 'Turn', `began${waited}${company}.${knew}${cut}`)
}

function stepEntry({ name, state, error, answeredBy, startedAt, finishedAt }: StepFacts): TimelineEntry {
  const title = `"${name.replace(/:[0-9a-f]{16}(?=#|$)/, '')}"`
  const span = finishedAt === null ? '' : ` after ${durationTextBetween(startedAt, finishedAt)}`
  switch (state) {
    case 'finished':
      return timelineEntry(
        startedAt,
        'Step',
        `${title} finished${span}${answeredBy ? `, answered by ${answeredBy}` : ''}.`,
      )
    case 'undone':
      return timelineEntry(
        startedAt,
        'Step',
        `${title} met an outage${span}: nothing happened, so it is run again.`,
        'wait',
      )
    case 'failed':
      return timelineEntry(startedAt, 'Step', `${title} failed${span}${error === null ? '' : ` (${error})`}.`, 'bad')
    default:
      return timelineEntry(
        startedAt,
        'Step',
        `${title} was begun and has not ended: whether it took effect is not known yet.`,
        'wait',
      )
  }
}

/** What was thrown again and again is shown once. */
function agentErrorEntry(
  { at, attempt, source, name, agent, error }: ErrorFacts,
  index: number,
  all: readonly ErrorFacts[],
): TimelineEntry {
  const before = all.findLastIndex((each, place) => place < index && isSameError(each.error, error))
  const whose = `the ${source.replaceAll('_', ' ')}${name === undefined ? '' : ` ${name}`}${agent === undefined ? '' : ` of ${agent}`}`
  const again = before === -1 ? 'threw' : 'threw the same again'
  const told = timelineEntry(at, 'Error', `attempt ${attempt}: ${whose} ${again}.`, 'bad')
  return before === -1 ? { ...told, details: formatThrownError(error) } : told
}

function isSameError(a: ErrorFacts['error'], b: ErrorFacts['error']): boolean {
  return a.name === b.name && a.message === b.message && a.stack[0] === b.stack[0]
}

const retryCauses: ReadonlySet<string> = new Set(['failed', 'outage', 'stopping'])

function turnEventEntries(
  event: TurnEvent,
  before: TurnEvent | undefined,
  deliveries: readonly DeliveryFacts[],
): readonly TimelineEntry[] {
  const why = reasonText(event.code ?? event.what)
  const again = event.retryInMs === undefined ? '' : ` Tried again after ${durationText(event.retryInMs)}.`
  switch (event.what) {
    case 'failed':
      return [timelineEntry(event.at, 'Failed', `attempt ${event.attempt}: ${why}.${again}`, 'bad')]
    case 'outage':
      return [
        timelineEntry(
          event.at,
          'Outage',
          `attempt ${event.attempt}: ${why}. Not counted as a failure.${again}`,
          'wait',
        ),
      ]
    case 'stopping':
      return [
        timelineEntry(
          event.at,
          'Put back',
          `attempt ${event.attempt}: ${why}. Nothing counts against the turn.`,
          'wait',
        ),
      ]
    case 'crashed':
      return [
        timelineEntry(
          event.at,
          'Died',
          `its process died ${onceOrTimesText(event.crashes ?? 1)}: attempt ${event.attempt} ended without a word, by a kill, a crash or for want of memory. A turn that this happens to is kept apart from others.`,
          'bad',
        ),
      ]
    case 'returned':
      return [
        timelineEntry(
          event.at,
          'Came back',
          'a process that had seemed dead was alive. Nothing counts against the turn.',
        ),
      ]
    case 'resumed':
      return [resumedEntry(event, before)]
    case 'split':
      return [
        timelineEntry(
          event.at,
          'Split',
          `${why}. Its messages go on one by one, so that only the guilty one fails.`,
          'wait',
        ),
      ]
    case 'replied':
      return [
        timelineEntry(
          event.at,
          'Replied',
          `the agent's answer was stored together with ${sendCallCountText(deliveries, 'reply')}.`,
        ),
      ]
    case 'silent':
      return event.code === undefined
        ? [timelineEntry(event.at, 'Silent', 'the agent chose to say nothing.')]
        : [timelineEntry(event.at, 'Ended', `nothing of it was left to be said: ${why}.`)]
    case 'dead':
      return gaveUpEntries(event, deliveries)
    case 'reopened':
      return [timelineEntry(event.at, 'Reopened', 'because an operator had its reply sent again.')]
    case 'resubmitted':
      return [timelineEntry(event.at, 'Resubmitted', 'An operator queued it again. What was done is not done again.')]
    case 'anew':
      return [
        timelineEntry(event.at, 'Resubmitted', 'An operator queued a message anew: what was done for it may repeat.'),
      ]
    case 'answered':
      return []
    default:
      return [timelineEntry(event.at, 'Turn', event.what)]
  }
}

function resumedEntry(event: TurnEvent, before: TurnEvent | undefined): TimelineEntry {
  if (before !== undefined && retryCauses.has(before.what))
    return timelineEntry(event.at, 'Resumed', `attempt ${event.attempt} began.`)
  const text = `attempt ${event.attempt} began: the process that ran the one before was gone and its lease had run out. Finished steps are not run again.`
  return timelineEntry(event.at, 'Resumed', text, 'wait')
}

/** A turn dies of its agent, with an apology; what it dies of at the platform is told with its calls. */
function gaveUpEntries(event: TurnEvent, deliveries: readonly DeliveryFacts[]): readonly TimelineEntry[] {
  if (event.code?.startsWith('delivery_') === true) return []
  const apology = deliveries.some((delivery) => delivery.purpose === 'apology')
    ? ' An apology was stored with it.'
    : ' No apology could be written.'
  const text = `after attempt ${event.attempt}: ${reasonText(event.code ?? 'dead')}.${apology}`
  return [timelineEntry(event.at, 'Given up', text, 'bad')]
}

function onceOrTimesText(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function sendCallCountText(deliveries: readonly DeliveryFacts[], purpose: string): string {
  const count = deliveries.filter((delivery) => delivery.purpose === purpose).length
  return count === 1 ? 'one call to send' : `${count} calls to send, in order`
}
