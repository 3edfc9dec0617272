// The timeline of a message, from facts: what became of it, how it came to that, what can be done. Pure.
import type { DeliveryEvent, DeliveryFacts, Facts, MessageFacts } from '../../db/explain.ts'
import { durationText, durationTextBetween } from '../../lib/duration-text.ts'
import { admissionNextSteps, messageDisplayId, messageEntries, pairingNextSteps } from './message-timeline.ts'
import { type ChannelReasons, hasReasonText, reasonText } from './reason-texts.ts'
import {
  capitalizeFirst,
  type MessageOutcome,
  type NextStep,
  type Timeline,
  type TimelineEntry,
  timelineEntry,
} from './timeline-entry.ts'
import { turnEntries } from './turn-timeline.ts'

/** `own`: what codes of the message's channel mean. */
export function buildTimeline(facts: Facts, own: ChannelReasons = {}): Timeline {
  const fate = messageOutcome(facts)
  const lines = [
    ...(facts.message === null ? [] : messageEntries(facts.message, facts, own)),
    ...facts.turns.flatMap((turn) => turnEntries(turn, facts)),
    ...facts.deliveries.flatMap((delivery) => deliveryEntries(delivery, facts, own)),
  ]
  return { fate, headline: timelineHeadline(fate, facts, own), lines: sortEntries(lines), next: nextSteps(fate, facts) }
}

function messageOutcome({ message, turns }: Facts): MessageOutcome {
  if (message === null) return 'turn'
  const { state, reason, lane, turnId } = message
  switch (state) {
    case 'queued':
      return lane !== null && lane.mode !== 'active' ? 'held' : 'waiting'
    case 'held':
      return 'pairing'
    case 'in_turn':
      return turns.at(-1)?.state === 'running' ? 'in_turn' : 'replying'
    case 'answered':
    case 'merged':
    case 'refused':
    case 'ignored':
      return state
    default:
      if (reason === 'delivery_unknown') return 'unknown_send'
      if (reason?.startsWith('delivery_') === true) return 'dead_send'
      return turnId === null ? 'unreadable' : 'dead_turn'
  }
}

function timelineHeadline(fate: MessageOutcome, facts: Facts, own: ChannelReasons): string {
  const { message } = facts
  if (message === null) return turnHeadline(facts)
  const why = reasonText(message.reason ?? message.state, own)
  switch (fate) {
    case 'waiting':
      return 'Waiting: it is stored and queued, and no turn has taken it yet.'
    case 'held':
      return `Held: it is stored and queued, but its conversation is ${message.lane?.mode === 'operator' ? 'in the hands of a person' : 'paused'}.`
    case 'pairing':
      return 'Held: its sender is not known here yet. It is kept, and answered once an operator lets them in.'
    case 'in_turn':
      return message.lane?.isHeld === true
        ? 'In a turn: the agent has it now.'
        : `In a turn, between two attempts: the next one is due at ${message.lane?.nextAt}.`
    case 'replying':
      return 'Replied: the answer is made and on its way.'
    case 'answered':
      return answeredHeadline(message, facts, own)
    case 'merged':
      return mergedHeadline(message, facts, own)
    case 'refused':
      return `Refused: ${why}.`
    case 'ignored':
      if (message.kind === 'operation') return `Done: an operator asked it of the channel (${message.reason}).`
      return hasReasonText(message.reason ?? '', own)
        ? `Ignored: ${why}.`
        : `Ignored: nothing in it asks for an answer (${message.reason}).`
    case 'dead_turn':
      return `Dead: the agent could not answer it. ${capitalizeFirst(why)}.`
    case 'dead_send':
      return `Dead: ${why}.`
    case 'unknown_send':
      return `Unknown: ${why}.`
    case 'rejected':
      return `Rejected: ${why}.`
    case 'unreadable':
      return `Dead: it is genuine, but could not be taken (${message.reason}).`
    case 'turn':
      return turnHeadline(facts)
  }
}

function answeredHeadline(message: MessageFacts, facts: Facts, own: ChannelReasons): string {
  const returned = bounceReason(facts)
  return returned === undefined
    ? `Answered: the reply arrived ${timeTakenText(message)} after the message was received.`
    : `Came back: the reply was taken ${timeTakenText(message)} after the message was received, and sent back later: ${reasonText(returned, own)}.`
}

function mergedHeadline(message: MessageFacts, facts: Facts, own: ChannelReasons): string {
  if (message.event !== 'new') return `Recorded: it changed ${message.editOf}, and is answered by nothing of its own.`
  if (message.reason === 'question_decided')
    return `Merged: ${reasonText(message.reason)}. It is answered by what the decision led to.`
  const members = facts.turns.at(-1)?.members ?? []
  const lead = members.findLast((member) => member.event === 'new')
  const returned = bounceReason(facts)
  const end = returned === undefined ? '' : ` The reply came back later: ${reasonText(returned, own)}.`
  return `Merged: answered together with ${lead === undefined ? 'its neighbours' : messageDisplayId(lead)}, ${timeTakenText(message)} after it was received.${end}`
}

function turnHeadline({ turns, deliveries }: Facts): string {
  const turn = turns.at(-1)
  if (turn === undefined) return `A call that belongs to no turn: ${deliveries[0]?.state ?? 'unknown'}.`
  const cause = turn.signal === null ? 'a turn whose messages have moved on' : `a turn begun by a ${turn.signal}`
  return `${capitalizeFirst(cause)}: ${turn.state}.`
}

function timeTakenText({ receivedAt, endedAt }: MessageFacts): string {
  return endedAt === null ? 'some time' : durationTextBetween(receivedAt, endedAt)
}

/** By time. A line without a time stays behind the one it was told after. */
function sortEntries(lines: readonly TimelineEntry[]): readonly TimelineEntry[] {
  let last = ''
  const keyed = lines.map((each) => {
    last = each.at ?? last
    return { each, key: each.at ?? last }
  })
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ each }) => each)
}

// Whether a reply that arrived bounced afterwards.

/** Why, as a code; undefined where no bounce was reported, or where it was resent without one. */
export function bounceReason({ deliveries }: Pick<Facts, 'deliveries'>): string | undefined {
  // What accompanies an answer may be lost without it.
  const returned = deliveries
    .filter(({ isPrimary }) => isPrimary)
    .flatMap((each) => lastBounceReasonUnlessRedelivered(each) ?? [])
  return returned.at(-1)
}

function lastBounceReasonUnlessRedelivered({ history }: DeliveryFacts): string | undefined {
  const last = history.findLast(({ what, kind }) => what === 'delivered' || (what === 'bounced' && kind === 'failed'))
  return last?.what === 'bounced' ? (last.reason ?? 'unspecified') : undefined
}

// What an operator can do about a message now, as commands ready to be typed.

const failedStates: ReadonlySet<string> = new Set(['unknown', 'refused', 'dead'])

function nextSteps(fate: MessageOutcome, { message, deliveries }: Facts): readonly NextStep[] {
  const failed = deliveries.filter((each) => failedStates.has(each.state) && each.settledAt !== null)
  const left = deliveries.filter((each) => each.reason === 'earlier_part_failed')
  return [
    ...failed.map((each) => retryDeliveryStep(each, deliveryPartName(each, deliveries))),
    ...left.map((each) => ({
      text: `then ${deliveryPartName(each, deliveries)}, which was cancelled with it`,
      command: `parley deliveries retry ${each.id}`,
    })),
    ...failed.map((each) => ({
      text: `or let ${deliveryPartName(each, deliveries)} go`,
      command: `parley deliveries drop ${each.id}`,
    })),
    ...(message === null ? [] : messageNextSteps(fate, message)),
  ]
}

function retryDeliveryStep({ id, state }: DeliveryFacts, name: string): NextStep {
  const text =
    state === 'unknown'
      ? `look whether ${name} is in the conversation; if not, send it again (marked as possibly repeated)`
      : `once the cause is gone, send ${name} again as it is`
  return { text, command: `parley deliveries retry ${id}` }
}

function messageNextSteps(fate: MessageOutcome, message: MessageFacts): readonly NextStep[] {
  const resubmit = `parley dead-letters resubmit ${message.id}`
  switch (fate) {
    case 'dead_turn':
      return message.hasContent
        ? [
            {
              text: 'once the cause is gone, queue the message again; finished steps are not repeated',
              command: resubmit,
            },
          ]
        : [{ text: 'what it said is erased, so it cannot be run again; ask the sender to write again', command: null }]
    case 'dead_send':
    case 'unknown_send':
      return message.hasContent ? [{ text: 'or have the agent answer the message anew', command: resubmit }] : []
    case 'unreadable':
      return message.kind === 'rejected_event' && message.hasRaw
        ? [{ text: 'after an upgrade that can read it, take it again', command: resubmit }]
        : []
    case 'refused':
      return admissionNextSteps(message)
    case 'pairing':
      return pairingNextSteps(message)
    case 'held':
      return [{ text: 'make the conversation active again; nothing is lost until then', command: null }]
    default:
      return []
  }
}

// Deliveries: every attempt of every call, and what an unknown outcome means.

function deliveryEntries(
  delivery: DeliveryFacts,
  { deliveries }: Facts,
  own: ChannelReasons,
): readonly TimelineEntry[] {
  const what = deliveryPartName(delivery, deliveries)
  const tries = delivery.history
    .filter((event) => event.what !== 'cancelled')
    .map((event, index, events) => deliveryAttemptEntry(event, events.slice(0, index), what, own))
  return [...tries, ...deliveryStateEntries(delivery, what, own)]
}

const purposeNames: Readonly<Record<string, string>> = {
  message: 'an extra message',
  protocol: 'the answer of the protocol',
  live: 'the growing reply',
  outcome: 'what became of the question',
  welcome: 'the word that they are let in',
  assertion: 'the final text, said once more after a take-over,',
}

/** `the reply`, `part 2 of 3 of the reply`, `the apology`. */
function deliveryPartName(delivery: DeliveryFacts, all: readonly DeliveryFacts[]): string {
  const alike = all.filter((each) => each.turnId === delivery.turnId && each.purpose === delivery.purpose)
  const name = purposeNames[delivery.purpose] ?? `the ${delivery.purpose}`
  return alike.length === 1 ? name : `part ${alike.indexOf(delivery) + 1} of ${alike.length} of ${name}`
}

function deliveryAttemptEntry(
  event: DeliveryEvent,
  before: readonly DeliveryEvent[],
  what: string,
  own: ChannelReasons,
): TimelineEntry {
  const { at } = event
  const why = reasonText(event.reason ?? event.what, own)
  const later = event.retryInMs === undefined ? '' : ` ${retryDelayText(event.retryInMs)}`
  switch (event.what) {
    case 'delivered': {
      const name = event.vendorId === undefined ? '' : ` as ${event.vendorId}`
      const how = event.reason === undefined ? attemptCountText(before) : `: ${why}`
      return timelineEntry(at, 'Delivered', `${what} arrived${name}${how}.`, 'good')
    }
    case 'retry':
      return timelineEntry(at, 'Retry', `${what} was not delivered yet: ${why}.${later}`, 'wait')
    case 'unknown':
      return unknownOutcomeEntry(event, before, what, own)
    case 'decided_meanwhile':
      return timelineEntry(
        at,
        'Outdated',
        `${what} arrived as ${event.vendorId ?? 'a message'}, but ${why}. It is changed.`,
        'wait',
      )
    case 'refused':
      return timelineEntry(
        at,
        'Refused',
        `${what} was refused by the platform: ${why}. It will not be tried again.`,
        'bad',
      )
    case 'dead':
      return timelineEntry(at, 'Given up', `${what} was not delivered: ${why}.`, 'bad')
    case 'abandoned':
      return timelineEntry(
        at,
        'Interrupted',
        `${what} was being sent when its process died; another one goes on from here.`,
        'wait',
      )
    case 'restored':
      return timelineEntry(
        at,
        'Restored',
        `A backup was restored in which ${what} waited; it may have been sent since.`,
        'wait',
      )
    case 'bounced':
      return event.kind === 'delayed'
        ? timelineEntry(at, 'Delayed', `${what} is late on its way, as a server there says: ${why}.`, 'wait')
        : timelineEntry(
            at,
            'Came back',
            `${what} was taken and came back: ${why}. The recipient did not get it.`,
            'bad',
          )
    case 'blocked':
      return timelineEntry(at, 'Not sent', `${what} was not sent: the recipient wants nothing more from here.`, 'bad')
    case 'resent_by_operator':
      return timelineEntry(at, 'Resent', `An operator had ${what} sent again.`)
    case 'dropped_by_operator':
      return timelineEntry(at, 'Dropped', `An operator let ${what} go; it will not be sent.`)
    default:
      return timelineEntry(at, 'Delivery', `${what}: ${event.what}.`)
  }
}

function unknownOutcomeEntry(
  event: DeliveryEvent,
  before: readonly DeliveryEvent[],
  what: string,
  own: ChannelReasons,
): TimelineEntry {
  const why = reasonText(event.reason ?? 'unknown', own)
  const doubt = 'It may or may not have arrived'
  if (event.isFinal !== true) {
    const next =
      event.retryInMs === undefined ? '' : ` It is looked up at the platform in ${durationText(event.retryInMs)}.`
    return timelineEntry(event.at, 'Unknown', `${what}: ${why}. ${doubt}.${next}`, 'wait')
  }
  const wasLookedUp = before.at(-1)?.what === 'unknown'
  const end = wasLookedUp
    ? 'the platform could not tell for as long as it was asked'
    : 'this channel offers no way to find out, and sending again could show it twice'
  return timelineEntry(event.at, 'Unknown', `${what}: ${why}. ${doubt}; ${end}. So it was not repeated.`, 'bad')
}

/** What is still open, or ended without a try. */
function deliveryStateEntries(delivery: DeliveryFacts, what: string, own: ChannelReasons): readonly TimelineEntry[] {
  const { state, reason, settledAt, notBefore } = delivery
  if (state === 'queued') return [timelineEntry(null, 'To be sent', `${what} waits to be sent.`, 'wait')]
  if (state === 'sending') return [timelineEntry(delivery.sendingAt, 'Sending', `${what} is on its way.`, 'wait')]
  if (state === 'retry' || (state === 'unknown' && settledAt === null)) {
    return [
      timelineEntry(
        null,
        'To be tried',
        `${what} is tried again${notBefore === null ? '' : ` at ${notBefore}`}.`,
        'wait',
      ),
    ]
  }
  const isByHand = reason === 'dropped_by_operator'
  if (state !== 'cancelled' || isByHand) return []
  const text = `${what} was not sent: ${reasonText(reason ?? 'cancelled', own)}.`
  return [
    reason === 'question_decided'
      ? timelineEntry(settledAt, 'Withdrawn', text)
      : timelineEntry(settledAt, 'Cancelled', text, 'bad'),
  ]
}

function attemptCountText(before: readonly DeliveryEvent[]): string {
  const tries = before.filter((event) => event.what === 'retry' || event.what === 'unknown').length
  return tries === 0 ? ' at the first try' : ` after ${tries === 1 ? 'one more try' : `${tries} more tries`}`
}

function retryDelayText(ms: number): string {
  return ms <= 0 ? 'Tried again at once.' : `Tried again after ${durationText(ms)}.`
}
