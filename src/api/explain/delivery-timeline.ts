// Deliveries in words: every try of every call, and what an unknown outcome means.
import type { DeliveryEvent, DeliveryFacts, Facts } from '../../db/explain.ts'
import { durationText } from '../../lib/duration-text.ts'
import { reasonText } from './reason-texts.ts'
import { type TimelineEntry, timelineEntry } from './timeline-entry.ts'

export function deliveryEntries(delivery: DeliveryFacts, { deliveries }: Facts): readonly TimelineEntry[] {
  const what = outboundCallName(delivery, deliveries)
  const tries = delivery.history
    .filter((event) => event.what !== 'cancelled')
    .map((event, index, events) => deliveryAttemptEntry(event, events.slice(0, index), what))
  return [...tries, ...deliveryStateEntries(delivery, what)]
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
export function outboundCallName(delivery: DeliveryFacts, all: readonly DeliveryFacts[]): string {
  const alike = all.filter((each) => each.turnId === delivery.turnId && each.purpose === delivery.purpose)
  const name = purposeNames[delivery.purpose] ?? `the ${delivery.purpose}`
  return alike.length === 1 ? name : `part ${alike.indexOf(delivery) + 1} of ${alike.length} of ${name}`
}

function deliveryAttemptEntry(event: DeliveryEvent, before: readonly DeliveryEvent[], what: string): TimelineEntry {
  const { at } = event
  const why = reasonText(event.reason ?? event.what)
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
      return unknownOutcomeEntry(event, before, what)
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

function unknownOutcomeEntry(event: DeliveryEvent, before: readonly DeliveryEvent[], what: string): TimelineEntry {
  const why = reasonText(event.reason ?? 'unknown')
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
function deliveryStateEntries(delivery: DeliveryFacts, what: string): readonly TimelineEntry[] {
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
  const text = `${what} was not sent: ${reasonText(reason ?? 'cancelled')}.`
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
