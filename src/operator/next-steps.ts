// What an operator can do about a message now, as commands ready to be typed.

import type { DeliveryFacts, Facts, MessageFacts } from '../db/explain.ts'
import { outboundCallName } from './delivery-lines.ts'
import { admissionSteps, pairingSteps } from './pairing-lines.ts'
import type { MessageOutcome, NextStep } from './story.ts'

const failedStates: ReadonlySet<string> = new Set(['unknown', 'refused', 'dead'])

export function nextSteps(fate: MessageOutcome, { message, deliveries }: Facts): readonly NextStep[] {
  const failed = deliveries.filter((each) => failedStates.has(each.state) && each.settledAt !== null)
  const left = deliveries.filter((each) => each.reason === 'earlier_part_failed')
  return [
    ...failed.map((each) => retryDeliveryStep(each, outboundCallName(each, deliveries))),
    ...left.map((each) => ({
      text: `then ${outboundCallName(each, deliveries)}, which was cancelled with it`,
      command: `parley deliveries retry ${each.id}`,
    })),
    ...failed.map((each) => ({
      text: `or let ${outboundCallName(each, deliveries)} go`,
      command: `parley deliveries drop ${each.id}`,
    })),
    ...(message === null ? [] : messageSteps(fate, message)),
  ]
}

function retryDeliveryStep({ id, state }: DeliveryFacts, name: string): NextStep {
  const text =
    state === 'unknown'
      ? `look whether ${name} is in the conversation; if not, send it again (marked as possibly repeated)`
      : `once the cause is gone, send ${name} again as it is`
  return { text, command: `parley deliveries retry ${id}` }
}

function messageSteps(fate: MessageOutcome, message: MessageFacts): readonly NextStep[] {
  const resubmit = `parley dead resubmit ${message.id}`
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
      return message.kind === 'remains' && message.hasRaw
        ? [{ text: 'after an upgrade that can read it, take it again', command: resubmit }]
        : []
    case 'refused':
      return admissionSteps(message)
    case 'pairing':
      return pairingSteps(message)
    case 'held':
      return [{ text: 'make the conversation active again; nothing is lost until then', command: null }]
    default:
      return []
  }
}
